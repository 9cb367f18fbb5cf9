//! `near_duplicate_clusters()`: verified pairs, put together. `near_duplicate_plan()`: which documents to remove so
//! that no near-duplicates remain. `near_duplicate_bridges()`: the pairs without which a cluster would fall in two.

use sketch::Error;
use sketch::corpus::{ClusterLinks, Hashes, Identical, LeftOut, PairSide, pairs};

use crate::corpus::groups::Emit;
use crate::corpus::groups::group::Group;
use crate::corpus::jobs::Work;
use crate::corpus::jobs::linkage::{Cluster, Linkage, Ranks, leader_clusters, single_linkage};
use crate::corpus::reading::keys::Members;
use crate::corpus::source::arguments::{Arguments, raw_text};
use crate::error::shortened;
use crate::prelude::*;

sql_function!(minlsh_near_duplicate_clusters, near_duplicate_clusters);
sql_function!(minlsh_near_duplicate_plan, near_duplicate_plan);
sql_function!(minlsh_near_duplicate_bridges, near_duplicate_bridges);

/// Of fewer documents none is said to share a template.
const TEMPLATE_LEAST: u32 = 1000;
/// A cluster of more than one in so many documents may be a template.
const TEMPLATE_SHARE: u64 = 100;

/// `near_duplicate_clusters(source, threshold, verify, linkage, body, ...) →
/// (doc_id, cluster_id, similarity, size, weakest_link, least_similar, least_is_exact)`
fn near_duplicate_clusters(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call);
    let arguments = Arguments::of(call);
    let linkage = linkage(&arguments)?;
    let work = Work::of(&arguments, &["source"], None)?;
    let ranks = Ranks::of(&work.members.sorted()?)?;
    each(work, linkage, &ranks, &mut |cluster, members| write(cluster, members, &result))
        .map(|()| None)
}

/// Calls `visit` with the clusters of all groups, those of a group in order. A NOTICE names one that is so large that
/// its documents may share no more than a template.
fn each(
    work: Work,
    linkage: Linkage,
    ranks: &Ranks,
    visit: &mut dyn FnMut(&Cluster, &Members),
) -> Result<()> {
    let Work { members, mut batches, read } = work;
    let mut largest = (0, None);
    let judge = |group: &mut Group, emit: &mut Emit<Cluster>| {
        let mut clusters = Vec::new();
        let left_out = linkage(group, ranks, &mut |cluster| memory::push(&mut clusters, cluster))?;
        ranks.sort(&mut clusters);
        clusters.into_iter().try_for_each(emit)?;
        Ok(left_out)
    };
    batches.each(&judge, &mut |cluster: Cluster| {
        if cluster.distinct > largest.0 {
            largest = (cluster.distinct, Some(cluster.representative));
        }
        visit(&cluster, &members);
        Ok(())
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
            .report(PgLogLevel::NOTICE);
    }
    Ok(())
}

fn linkage(arguments: &Arguments) -> Result<Linkage> {
    match arguments.text("linkage")? {
        None | Some("single") => Ok(single_linkage),
        Some("leader") => Ok(leader_clusters),
        Some(other) => Err(invalid_parameter(format!(
            "unknown value for linkage: \"{}\"",
            shortened(other)
        ))
        .set_hint(
            "Use \"single\" (connected components) or \"leader\" (every member is similar to the \
                 representative of the cluster).",
        )),
    }
}

fn write(cluster: &Cluster, members: &Members, result: &ResultRows) {
    let representative = cluster.representative;
    let size = cluster.members.len() as i64 + 1;
    for &(document, similarity) in [(representative, 1.0)].iter().chain(&cluster.members) {
        check_interrupts();
        result.push(&[
            Some(members.key(document)),
            Some(members.key(representative)),
            Some(float8_datum(similarity)),
            Some(Datum::from(size)),
            Some(float8_datum(cluster.weakest_link)),
            Some(float8_datum(cluster.least_similar)),
            Some(Datum::from(cluster.least_is_exact)),
        ]);
    }
}

/// `near_duplicate_plan(source, threshold, keep, verify, body, ...) → (doc_id, kept_id, similarity)`
///
/// The source is read in the order of `keep`, so that it is evaluated once, by the caller, over
/// whatever columns there are.
fn near_duplicate_plan(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call);
    let arguments = Arguments::of(call);
    let keep = arguments.raw("keep").map(raw_text).transpose()?;
    if keep.as_ref().is_some_and(|keep| keep.to_bytes().trim_ascii().is_empty()) {
        return Err(invalid_parameter("keep must not be empty").set_hint(
            "Pass an ORDER BY list, such as 'published_at DESC, length(body) DESC', or NULL to keep the \
             lowest key.",
        ));
    }
    let work = Work::of(&arguments, &["source"], keep.as_deref())?;
    // By name they are as they were read.
    let all = 0..work.members.len();
    let ranks = if keep.is_some() { memory::collect(all)? } else { work.members.sorted()? };
    let ranks = Ranks::of(&ranks)?;
    each(work, leader_clusters, &ranks, &mut |cluster, members| {
        for &(document, similarity) in &cluster.members {
            check_interrupts();
            let [removed, kept] = [document, cluster.representative].map(|name| members.key(name));
            result.push(&[removed, kept, float8_datum(similarity)].map(Some));
        }
    })?;
    Ok(None)
}

/// `near_duplicate_bridges(source, threshold, verify, body, ...) →
/// (cluster_id, doc_a, doc_b, similarity, size_a, size_b)`
fn near_duplicate_bridges(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call);
    let Work { members, mut batches, .. } = Work::of(&Arguments::of(call), &["source"], None)?;
    // In the order of keys.
    let ranks = Ranks::of(&members.sorted()?)?;
    batches.each(
        &|group: &mut Group, emit: &mut Emit<NamedBridge>| bridges_of(group, &ranks, emit),
        &mut |NamedBridge { cluster, ends, similarity, sizes }: NamedBridge| {
            let [cluster, a, b] = [cluster, ends[0], ends[1]].map(|name| members.key(name));
            let [size_a, size_b] = sizes.map(|size| Datum::from(size as i64));
            let similarity = float8_datum(similarity);
            result.push(&[cluster, a, b, similarity, size_a, size_b].map(Some));
            Ok(())
        },
    )?;
    Ok(None)
}

struct NamedBridge {
    cluster: u32,
    ends: [u32; 2],
    similarity: f64,
    sizes: [u64; 2],
}

/// The bridges of a group. Copies count as one document, of which the first is shown.
fn bridges_of(
    group: &mut Group,
    ranks: &Ranks,
    emit: &mut Emit<NamedBridge>,
) -> Result<LeftOut, Error> {
    let identical = Identical::group(group)?;
    let limit = group.limit();
    let mut links = ClusterLinks::new(identical.documents())?;
    let left_out =
        pairs(group, &identical, &|_| PairSide::Both, limit, &mut |_, pair| links.push(pair))?;
    let (bridges, mut clusters) =
        links.bridges(&|leader| identical.members(leader).count() as u64)?;
    if bridges.is_empty() {
        return Ok(left_out);
    }
    let least = |a: u32, b: u32| if ranks.rank(a) <= ranks.rank(b) { a } else { b };
    // The least key of each cluster, at the place of its root.
    let all = (0..identical.documents()).map(|document| group.name(document));
    let mut names = memory::collect(all)?;
    for document in 0..identical.documents() {
        group.check_interrupts()?;
        let root = clusters.find(identical.leader(document)) as usize;
        names[root] = least(names[root], group.name(document));
    }
    for bridge in bridges {
        group.check_interrupts()?;
        let cluster = names[clusters.find(bridge.link.a) as usize];
        let name = |leader| {
            let copies = identical.members(leader).map(|copy| group.name(copy));
            copies.reduce(least).unwrap_or(cluster)
        };
        let (a, b) = (name(bridge.link.a), name(bridge.link.b));
        let [size_a, size_b] = bridge.sizes;
        let (ends, sizes) =
            if least(a, b) == a { ([a, b], [size_a, size_b]) } else { ([b, a], [size_b, size_a]) };
        emit(NamedBridge { cluster, ends, similarity: bridge.link.similarity, sizes })?;
    }
    Ok(left_out)
}
