//! Judges the bridges of a group: the pairs without which a cluster would fall into two.

use super::ranks::Ranks;
use crate::corpus::{ClusterLinks, Hashes, Identical, LeftOut, PairSide, pairs};
use crate::dedup::{Emit, Group};
use crate::{Result, memory};

/// A bridge, by names.
pub struct NamedBridge {
    /// The first document of its cluster.
    pub cluster: u32,
    /// Its ends; the first in order comes first.
    pub ends: [u32; 2],
    /// The similarity of its ends.
    pub similarity: f64,
    /// The number of documents on the side of each end.
    pub sizes: [u64; 2],
}

/// The bridges of a group. Copies count as one document; the first copy is shown.
///
/// # Errors
/// As [`all_pairs`](super::pairs::all_pairs).
pub fn bridges(group: &mut Group, ranks: &Ranks, emit: &mut Emit<NamedBridge>) -> Result<LeftOut> {
    let identical = Identical::group(group)?;
    let limit = group.limit();
    let mut links = ClusterLinks::new(identical.documents())?;
    let left_out = pairs(group, &identical, &|_| PairSide::Both, limit, &mut |_, pair| links.push(pair))?;
    let (found, mut clusters) = links.bridges(&|leader| identical.members(leader).count() as u64)?;
    if found.is_empty() {
        return Ok(left_out);
    }
    let least = |a: u32, b: u32| ranks.first(a, b);
    // The least key of each cluster, at the position of its root.
    let all = (0..identical.documents()).map(|document| group.name(document));
    let mut names = memory::collect(all)?;
    for document in 0..identical.documents() {
        group.check_interrupts();
        let root = clusters.find(identical.leader(document)) as usize;
        names[root] = least(names[root], group.name(document));
    }
    for bridge in found {
        group.check_interrupts();
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
