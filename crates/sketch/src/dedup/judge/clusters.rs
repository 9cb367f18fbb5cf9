//! Judges the clusters of a group.

use super::ranks::Ranks;
use crate::corpus::{
    Components, Connected, Hashes, Identical, LeftOut, by_root, connect, leaders, least_similar, weakest_link,
};
use crate::dedup::{Emit, Group};
use crate::{Result, memory};

/// Maximum number of distinct documents of a cluster for which all pairs, half a million, are compared to find its
/// weakest link.
const COMPARE_ALL: usize = 1000;

/// Maximum number of pairs that are compared to find the least similar one in a cluster: all pairs of 200 documents.
const COMPARE_PAIRS: u64 = 20_000;

/// Documents that form a cluster, by name.
pub struct Cluster {
    /// The document that represents them: the first one.
    pub representative: u32,
    /// The other documents, with their similarity to the representative, in order.
    pub members: Vec<(u32, f64)>,
    /// Number of documents without copies.
    pub distinct: usize,
    /// The least similarity without which the cluster would fall apart.
    pub weakest_link: f64,
    /// The similarity of the two least similar documents.
    pub least_similar: f64,
    /// True if all pairs were compared for it; otherwise there may be a lower one.
    pub least_is_exact: bool,
}

impl Cluster {
    /// The cluster of some documents, given with the distinct ones among them.
    fn of(
        group: &mut Group,
        representative: u32,
        members: Vec<(u32, f64)>,
        weakest_link: f64,
        distinct: &[u32],
    ) -> Result<Self> {
        let found = least_similar(distinct, COMPARE_PAIRS, |a, b| {
            group.check_interrupts();
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
pub type Linkage = fn(&mut Group, &Ranks, &mut Emit<Cluster>) -> Result<LeftOut>;

/// The connected components of two or more documents (single linkage).
///
/// # Errors
/// As [`all_pairs`](super::pairs::all_pairs).
pub fn single_linkage(group: &mut Group, ranks: &Ranks, emit: &mut Emit<Cluster>) -> Result<LeftOut> {
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
            group.check_interrupts();
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
///
/// # Errors
/// As [`all_pairs`](super::pairs::all_pairs).
pub fn leader_clusters(group: &mut Group, ranks: &Ranks, emit: &mut Emit<Cluster>) -> Result<LeftOut> {
    let identical = Identical::group(group)?;
    let rank = |document| ranks.rank(group.name(document));
    let first = |leader| identical.members(leader).map(rank).min();
    let mut ranked = memory::collect(identical.leaders().map(|leader| (first(leader), leader)))?;
    ranked.sort_unstable();
    let distinct = memory::collect(ranked.into_iter().map(|(_, leader)| leader))?;
    // (leader, member, similarity); a leader is its own member.
    let mut belongs: Vec<(u32, u32, f64)> = Vec::new();
    let limit = group.limit();
    let left_out = leaders(group, &distinct, limit, &mut |leader, member, similarity| {
        memory::push(&mut belongs, (leader, member, similarity))
    })?;
    let mut leads = memory::filled(true, group.len())?;
    belongs.iter().for_each(|(_, member, _)| leads[*member as usize] = false);
    for leader in distinct.into_iter().filter(|leader| leads[*leader as usize]) {
        memory::push(&mut belongs, (leader, leader, 1.0))?;
    }
    belongs.sort_unstable_by_key(|(leader, member, _)| (*leader, *member));
    for cluster in belongs.chunk_by(|a, b| a.0 == b.0) {
        group.check_interrupts();
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
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
pub fn components_of(identical: &Identical, components: &mut Components) -> Result<Vec<Vec<u32>>> {
    let all = 0..identical.documents();
    by_root(all.map(|document| (components.find(identical.leader(document)), document)), 2)
}
