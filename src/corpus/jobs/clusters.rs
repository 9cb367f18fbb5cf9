//! `near_duplicate_clusters()`: clusters of verified pairs. `near_duplicate_plan()`: the documents to remove so that no
//! near-duplicates remain. `near_duplicate_bridges()`: the pairs without which a cluster would fall into two.

use sketch::Error;
use sketch::corpus::{
    ClusterLinks, Components, Connected, Hashes, Identical, LeftOut, PairSide, connect, leaders, least_similar, pairs,
    weakest_link,
};

use crate::corpus::groups::Emit;
use crate::corpus::groups::group::Group;
use crate::corpus::jobs::{Ranks, Work};
use crate::corpus::reading::columns::Members;
use crate::corpus::source::arguments::{Arguments, raw_text};
use crate::error::shortened;
use crate::prelude::*;

set_function!(minlsh_near_duplicate_clusters, near_duplicate_clusters);
set_function!(minlsh_near_duplicate_plan, near_duplicate_plan);
set_function!(minlsh_near_duplicate_bridges, near_duplicate_bridges);

/// Minimum number of documents for reporting a template.
const TEMPLATE_LEAST: u32 = 1000;
/// A cluster with more than one in `TEMPLATE_SHARE` of the documents may be a template.
const TEMPLATE_SHARE: u64 = 100;

/// Maximum number of distinct documents of a cluster for which all pairs, half a million, are compared to find its
/// weakest link.
const COMPARE_ALL: usize = 1000;

/// Maximum number of pairs that are compared to find the least similar one in a cluster: all pairs of 200 documents.
const COMPARE_PAIRS: u64 = 20_000;

/// `near_duplicate_clusters(source, threshold, verify, linkage, body, ...) →
/// (doc_id, cluster_id, similarity, size, weakest_link, least_similar, least_is_exact)`
fn near_duplicate_clusters(call: &Call, result: &ResultRows) -> Result<()> {
    let arguments = Arguments::of(call);
    let linkage = linkage(&arguments)?;
    let work = Work::of(&arguments, &["source"], None)?;
    let ranks = Ranks::of(&work.members.sorted()?)?;
    each(work, linkage, &ranks, &mut |cluster, members| write(cluster, members, result))
}

/// Calls `visit` with the clusters of all groups; within a group they are in the order of their representatives. A
/// NOTICE reports a cluster that is so large that its documents may share only a template.
fn each(work: Work, linkage: Linkage, ranks: &Ranks, visit: &mut dyn FnMut(&Cluster, &Members)) -> Result<()> {
    let Work { members, mut batches, read, .. } = work;
    let mut largest = (0, None);
    let judge = |group: &mut Group, emit: &mut Emit<Cluster>| {
        let mut clusters = Vec::new();
        let left_out = linkage(group, ranks, &mut |cluster| memory::push(&mut clusters, cluster))?;
        clusters.sort_unstable_by_key(|cluster| ranks.rank(cluster.representative));
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
        Some(other) => Err(invalid_parameter(format!("unknown value for linkage: \"{}\"", shortened(other))).set_hint(
            "Use \"single\" (connected components) or \"leader\" (every member is similar to the representative of the \
             cluster).",
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
    let all = 0..work.members.len();
    let ranks = if keep.is_some() { memory::collect(all)? } else { work.members.sorted()? };
    let ranks = Ranks::of(&ranks)?;
    each(work, leader_clusters, &ranks, &mut |cluster, members| {
        for &(document, similarity) in &cluster.members {
            check_interrupts();
            let [removed, kept] = [document, cluster.representative].map(|name| members.key(name));
            result.push(&[removed, kept, float8_datum(similarity)].map(Some));
        }
    })
}

/// `near_duplicate_bridges(source, threshold, verify, body, ...) →
/// (cluster_id, doc_a, doc_b, similarity, size_a, size_b)`
fn near_duplicate_bridges(call: &Call, result: &ResultRows) -> Result<()> {
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
    )
}

struct NamedBridge {
    cluster: u32,
    ends: [u32; 2],
    similarity: f64,
    sizes: [u64; 2],
}

/// The bridges of a group. Copies count as one document; the first copy is shown.
fn bridges_of(group: &mut Group, ranks: &Ranks, emit: &mut Emit<NamedBridge>) -> Result<LeftOut, Error> {
    let identical = Identical::group(group)?;
    let limit = group.limit();
    let mut links = ClusterLinks::new(identical.documents())?;
    let left_out = pairs(group, &identical, &|_| PairSide::Both, limit, &mut |_, pair| links.push(pair))?;
    let (bridges, mut clusters) = links.bridges(&|leader| identical.members(leader).count() as u64)?;
    if bridges.is_empty() {
        return Ok(left_out);
    }
    let least = |a: u32, b: u32| ranks.first(a, b);
    // The least key of each cluster, at the position of its root.
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
        let (ends, sizes) = if least(a, b) == a { ([a, b], [size_a, size_b]) } else { ([b, a], [size_b, size_a]) };
        emit(NamedBridge { cluster, ends, similarity: bridge.link.similarity, sizes })?;
    }
    Ok(left_out)
}

/// Documents that form a cluster, by name.
struct Cluster {
    /// The document that represents them: the first one.
    representative: u32,
    /// The other documents, with their similarity to the representative, in order.
    members: Vec<(u32, f64)>,
    /// Number of documents without copies.
    distinct: usize,
    weakest_link: f64,
    /// The similarity of the two least similar documents.
    least_similar: f64,
    /// True if all pairs were compared for it; otherwise there may be a lower one.
    least_is_exact: bool,
}

impl Cluster {
    /// The cluster of some documents, given with the distinct ones among them.
    fn of(
        group: &mut Group,
        representative: u32,
        members: Vec<(u32, f64)>,
        weakest_link: f64,
        distinct: &[u32],
    ) -> Result<Self, Error> {
        let found = least_similar(distinct, COMPARE_PAIRS, |a, b| {
            group.check_interrupts()?;
            group.measure(a, b)
        })?;
        // With one distinct document all are copies.
        let (least_similar, least_is_exact) =
            found.map_or((1.0, true), |least| (least.pair.similarity, least.is_exact));
        let distinct = distinct.len();
        Ok(Self { representative, members, distinct, weakest_link, least_similar, least_is_exact })
    }
}

/// A function that makes clusters of verified pairs.
type Linkage = fn(&mut Group, &Ranks, &mut Emit<Cluster>) -> Result<LeftOut, Error>;

/// The connected components of two or more documents (single linkage).
fn single_linkage(group: &mut Group, ranks: &Ranks, emit: &mut Emit<Cluster>) -> Result<LeftOut, Error> {
    let identical = Identical::group(group)?;
    let connected = connect(group, &identical, group.limit())?;
    let Connected { mut components, links, left_out } = connected;
    let all = components_of(&identical, &mut components)?;
    let describe = |group: &mut Group, documents: &[u32]| {
        let leaders = documents.iter().copied().filter(|document| identical.is_leader(*document));
        let distinct = memory::collect(leaders)?;
        let weakest_link = if distinct.len() > COMPARE_ALL {
            // They ascend.
            let tree = links.iter().filter(|link| distinct.binary_search(&link.a).is_ok());
            tree.map(|link| link.similarity).fold(1.0, f64::min)
        } else {
            weakest_link(group, &distinct)?
        };
        let mut documents = memory::copied(documents)?;
        documents.sort_unstable_by_key(|document| ranks.rank(group.name(*document)));
        let first = documents[0];
        let mut members = memory::with_capacity(documents.len() - 1)?;
        for &document in &documents[1..] {
            group.check_interrupts()?;
            members.push((group.name(document), group.measure(first, document)?));
        }
        let representative = group.name(first);
        Cluster::of(group, representative, members, weakest_link, &distinct)
    };
    group.each(&all, &describe, emit)?;
    Ok(left_out)
}

/// Clusters in which every document is similar to the first one, the leader. In order, each document joins the first
/// leader to which it is similar.
fn leader_clusters(group: &mut Group, ranks: &Ranks, emit: &mut Emit<Cluster>) -> Result<LeftOut, Error> {
    let identical = Identical::group(group)?;
    let rank = |document| ranks.rank(group.name(document));
    let first = |leader| identical.members(leader).map(rank).min();
    let mut ranked = memory::collect(identical.leaders().map(|leader| (first(leader), leader)))?;
    ranked.sort_unstable();
    let distinct = memory::collect(ranked.into_iter().map(|(_, leader)| leader))?;
    // (leader, member, similarity); a leader is its own member.
    let mut belongs: Vec<(u32, u32, f64)> = Vec::new();
    let mut outcome = Ok(());
    let limit = group.limit();
    let left_out = leaders(group, &distinct, limit, &mut |leader, member, similarity| {
        if outcome.is_ok() {
            outcome = memory::push(&mut belongs, (leader, member, similarity));
        }
    })?;
    outcome?;
    let mut leads = memory::filled(true, group.len())?;
    belongs.iter().for_each(|(_, member, _)| leads[*member as usize] = false);
    for leader in distinct.into_iter().filter(|leader| leads[*leader as usize]) {
        memory::push(&mut belongs, (leader, leader, 1.0))?;
    }
    belongs.sort_unstable_by_key(|(leader, member, _)| (*leader, *member));
    for cluster in belongs.chunk_by(|a, b| a.0 == b.0) {
        group.check_interrupts()?;
        let documents = cluster
            .iter()
            .flat_map(|&(_, member, similarity)| identical.members(member).map(move |document| (document, similarity)));
        let documents = documents.map(|(document, similarity)| (group.name(document), similarity));
        let mut members = memory::collect(documents)?;
        members.sort_unstable_by_key(|(name, _)| ranks.rank(*name));
        let weakest_link = members.iter().map(|(_, similarity)| *similarity).fold(1.0, f64::min);
        let representative = members.remove(0).0;
        if !members.is_empty() {
            let distinct = memory::collect(cluster.iter().map(|(_, member, _)| *member))?;
            emit(Cluster::of(group, representative, members, weakest_link, &distinct)?)?;
        }
    }
    Ok(left_out)
}

/// The documents of each component of two or more.
pub fn components_of(identical: &Identical, components: &mut Components) -> Result<Vec<Vec<u32>>, Error> {
    let all = 0..identical.documents();
    let by_root = all.map(|document| (components.find(identical.leader(document)), document));
    let mut by_root = memory::collect(by_root)?;
    by_root.sort_unstable();
    let mut components = Vec::new();
    for component in by_root.chunk_by(|a, b| a.0 == b.0).filter(|component| component.len() > 1) {
        let documents = memory::collect(component.iter().map(|(_, document)| *document));
        memory::push(&mut components, documents?)?;
    }
    Ok(components)
}
