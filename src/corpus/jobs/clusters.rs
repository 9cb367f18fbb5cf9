//! `near_duplicate_clusters()`: clusters of verified pairs. `near_duplicate_plan()`: the documents to remove so that no
//! near-duplicates remain. `near_duplicate_bridges()`: the pairs without which a cluster would fall into two.

use sketch::dedup::{Cluster, Emit, Group, Linkage, NamedBridge, Ranks, bridges, leader_clusters, single_linkage};

use crate::corpus::host::each_group;
use crate::corpus::jobs::Work;
use crate::corpus::source::arguments::{Arguments, raw_text};
use crate::corpus::source::members::Members;
use crate::prelude::*;

set_function!(minlsh_near_duplicate_clusters, near_duplicate_clusters);
set_function!(minlsh_near_duplicate_plan, near_duplicate_plan);
set_function!(minlsh_near_duplicate_bridges, near_duplicate_bridges);

/// Minimum number of documents for reporting a template.
const TEMPLATE_LEAST: u32 = 1000;
/// A cluster with more than one in `TEMPLATE_SHARE` of the documents may be a template.
const TEMPLATE_SHARE: u64 = 100;

/// `near_duplicate_clusters(source, threshold, verify, linkage, body, ...) →
/// (doc_id, cluster_id, similarity, size, weakest_link, least_similar, least_is_exact)`
fn near_duplicate_clusters(call: &Call, result: &ResultRows) -> Result<()> {
    let arguments = Arguments::of(call);
    let linkage = linkage(&arguments)?;
    let work = Work::of(&arguments, &["source"], None)?;
    let ranks = Ranks::of(&work.rows.members.sorted()?)?;
    each(work, linkage, &ranks, &mut |cluster, members| write(cluster, members, result))
}

/// Receives a cluster, and the keys of its members.
type VisitCluster<'a> = dyn FnMut(&Cluster, &Members) -> Result<()> + 'a;

/// Calls `visit` with the clusters of all groups; within a group they are in the order of their representatives. A
/// NOTICE reports a cluster that is so large that its documents may share only a template.
fn each(work: Work, linkage: Linkage, ranks: &Ranks, visit: &mut VisitCluster) -> Result<()> {
    let Work { rows, mut groups, read, .. } = work;
    let members = &rows.members;
    let mut largest = (0, None);
    let judge = |group: &mut Group, emit: &mut Emit<Cluster>| {
        let mut clusters = Vec::new();
        let left_out = linkage(group, ranks, &mut |cluster| memory::push(&mut clusters, cluster))?;
        clusters.sort_unstable_by_key(|cluster| ranks.rank(cluster.representative));
        clusters.into_iter().try_for_each(emit)?;
        Ok(left_out)
    };
    each_group(&mut groups, &rows, &judge, &mut |cluster: Cluster| {
        if cluster.distinct > largest.0 {
            largest = (cluster.distinct, Some(cluster.representative));
        }
        visit(&cluster, members)
    })?;
    if let (distinct, Some(representative)) = largest
        && read >= TEMPLATE_LEAST
        && distinct as u64 * TEMPLATE_SHARE > u64::from(read)
    {
        let message = format!(
            "{distinct} documents that are not equal are in the cluster of the document of key {}",
            members.shown(representative)
        );
        notice(message)
            .set_detail(format!(
                "{read} documents were compared. Documents of one template are similar whatever they say."
            ))
            .set_hint(
                "Look at some of them. Pass boilerplate => the column that says where a document comes from, or use a \
                 higher threshold.",
            )
            .report();
    }
    Ok(())
}

fn linkage(arguments: &Arguments) -> Result<Linkage> {
    match arguments.text("linkage")? {
        None | Some("single") => Ok(single_linkage),
        Some("leader") => Ok(leader_clusters),
        Some(other) => Err(invalid_parameter(format!("unknown value for linkage: \"{}\"", shortened(other))).set_hint(
            "Use \"single\" (connected components) or \"leader\" (every member is similar to the representative of the \
             cluster).",
        )),
    }
}

fn write(cluster: &Cluster, members: &Members, result: &ResultRows) -> Result<()> {
    let representative = cluster.representative;
    let size = cluster.members.len() as i64 + 1;
    [(representative, 1.0)].iter().chain(&cluster.members).try_for_each(|&(document, similarity)| {
        result.add(|| {
            Ok([
                Some(members.key(document)),
                Some(members.key(representative)),
                Some(float8_datum(similarity)),
                Some(Datum::from(size)),
                Some(float8_datum(cluster.weakest_link)),
                Some(float8_datum(cluster.least_similar)),
                Some(Datum::from(cluster.least_is_exact)),
            ])
        })
    })
}

/// `near_duplicate_plan(source, threshold, keep, verify, body, ...) → (doc_id, kept_id, similarity)`
///
/// The source is read in the order of `keep`, so that the caller's query evaluates `keep` once, over all its columns.
fn near_duplicate_plan(call: &Call, result: &ResultRows) -> Result<()> {
    let arguments = Arguments::of(call);
    let keep = arguments.raw("keep").map(raw_text).transpose()?;
    if keep.as_ref().is_some_and(|keep| keep.to_bytes().trim_ascii().is_empty()) {
        return Err(invalid_parameter("keep must not be empty").set_hint(
            "Pass an ORDER BY list, such as 'published_at DESC, length(body) DESC', or NULL to keep the lowest key.",
        ));
    }
    let work = Work::of(&arguments, &["source"], keep.as_deref())?;
    // Names are in the order of reading.
    let members = &work.rows.members;
    let ranks = if keep.is_some() { memory::collect(0..members.len())? } else { members.sorted()? };
    let ranks = Ranks::of(&ranks)?;
    each(work, leader_clusters, &ranks, &mut |cluster, members| {
        cluster.members.iter().try_for_each(|&(document, similarity)| {
            result.add(|| {
                let [removed, kept] = [document, cluster.representative].map(|name| members.key(name));
                Ok([removed, kept, float8_datum(similarity)].map(Some))
            })
        })
    })
}

/// `near_duplicate_bridges(source, threshold, verify, body, ...) →
/// (cluster_id, doc_a, doc_b, similarity, size_a, size_b)`
fn near_duplicate_bridges(call: &Call, result: &ResultRows) -> Result<()> {
    let Work { rows, mut groups, .. } = Work::of(&Arguments::of(call), &["source"], None)?;
    let members = &rows.members;
    // In the order of keys.
    let ranks = Ranks::of(&members.sorted()?)?;
    each_group(
        &mut groups,
        &rows,
        &|group: &mut Group, emit: &mut Emit<NamedBridge>| bridges(group, &ranks, emit),
        &mut |NamedBridge { cluster, ends, similarity, sizes }: NamedBridge| {
            result.add(|| {
                let [cluster, a, b] = [cluster, ends[0], ends[1]].map(|name| members.key(name));
                let [size_a, size_b] = sizes.map(|size| Datum::from(size as i64));
                Ok([cluster, a, b, float8_datum(similarity), size_a, size_b].map(Some))
            })
        },
    )
}
