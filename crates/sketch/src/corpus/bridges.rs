//! Bridges: links that alone hold a cluster together.

use super::groups::Components;
use super::pairs::Pair;
use crate::{Result, memory};

/// A link without which its cluster would fall into two parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bridge {
    /// The link.
    pub link: Pair,
    /// The size of the part with `link.a`, and the size of the part with `link.b`.
    pub sizes: [u64; 2],
}

/// Verified pairs of a collection, reduced to those that determine its bridges: fewer than two for each document.
///
/// A link that joins two parts of the first forest is kept there. Otherwise, if it joins two parts of the second
/// forest, it is kept there. Any other link would close a cycle in both, so it is not a bridge, and does not affect
/// whether another link is one (Nagamochi, Ibaraki 1992).
pub struct ClusterLinks {
    first: Components,
    second: Components,
    links: Vec<Pair>,
}

impl ClusterLinks {
    /// No links yet between `documents` documents.
    pub fn new(documents: u32) -> Result<Self> {
        let (first, second) = (Components::new(documents)?, Components::new(documents)?);
        Ok(Self { first, second, links: Vec::new() })
    }

    /// Adds a link, each only once.
    pub fn push(&mut self, link: Pair) -> Result<()> {
        for forest in [&mut self.first, &mut self.second] {
            if forest.find(link.a) != forest.find(link.b) {
                forest.union(link.a, link.b);
                return memory::push(&mut self.links, link);
            }
        }
        Ok(())
    }

    /// The bridges, ascending, and the clusters. A bridge is a link without which the documents would form more
    /// clusters (Tarjan 1974). In a chain of pages whose ends have little in common, every link is a bridge. `size`
    /// returns the number of documents that a document represents.
    ///
    /// # Complexity
    ///
    /// A sort of the links.
    pub fn bridges(mut self, size: &dyn Fn(u32) -> u64) -> Result<(Vec<Bridge>, Components)> {
        self.links.sort_unstable_by_key(|link| (link.a, link.b));
        let mut bridges = Graph::of(&self.links)?.search(&self.links, size)?;
        bridges.sort_unstable_by_key(|bridge| (bridge.link.a, bridge.link.b));
        Ok((bridges, self.first))
    }
}

/// The links of each document.
struct Graph {
    /// For each document, the start of its links in `ends`; one more entry than documents.
    starts: Vec<u32>,
    /// The other end of a link, and the link's number.
    ends: Vec<(u32, u32)>,
}

impl Graph {
    fn of(links: &[Pair]) -> Result<Self> {
        let documents = links.iter().map(|link| link.b as usize + 1).max().unwrap_or(0);
        let mut directed = memory::with_capacity(2 * links.len())?;
        for (number, link) in (0..).zip(links) {
            directed.push((link.a, link.b, number));
            directed.push((link.b, link.a, number));
        }
        directed.sort_unstable();
        let mut starts = memory::filled(0, documents + 1)?;
        for (from, ..) in &directed {
            starts[*from as usize + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let ends = memory::collect(directed.into_iter().map(|(_, to, link)| (to, link)))?;
        Ok(Self { starts, ends })
    }

    /// Finds the bridges by a depth-first search, without recursion: a chain may be long.
    fn search(&self, links: &[Pair], size: &dyn Fn(u32) -> u64) -> Result<Vec<Bridge>> {
        let documents = self.starts.len() as u32 - 1;
        // When each document was reached, from 1, and the earliest that its descendants reach.
        let mut reached = memory::filled(0_u32, documents as usize)?;
        let mut earliest = memory::filled(0_u32, documents as usize)?;
        // The sizes of each document and its descendants.
        let mut below = memory::collect((0..documents).map(size))?;
        let mut next = memory::copied(&self.starts)?;
        // Documents on the current path, each with the link that led to it.
        let mut way: Vec<(u32, Option<u32>)> = Vec::new();
        let mut bridges: Vec<Bridge> = Vec::new();
        let mut clock = 0;
        for root in 0..documents {
            if reached[root as usize] != 0 {
                continue;
            }
            let first = bridges.len();
            memory::push(&mut way, (root, None))?;
            while let Some(&(document, came_by)) = way.last() {
                let here = document as usize;
                if reached[here] == 0 {
                    clock += 1;
                    (reached[here], earliest[here]) = (clock, clock);
                }
                if next[here] < self.starts[here + 1] {
                    let (other, link) = self.ends[next[here] as usize];
                    next[here] += 1;
                    if came_by == Some(link) {
                        continue;
                    }
                    match reached[other as usize] {
                        0 => memory::push(&mut way, (other, Some(link)))?,
                        time => earliest[here] = earliest[here].min(time),
                    }
                    continue;
                }
                way.pop();
                let (Some(link), Some(&(parent, _))) = (came_by, way.last()) else { continue };
                let parent = parent as usize;
                earliest[parent] = earliest[parent].min(earliest[here]);
                below[parent] += below[here];
                if earliest[here] > reached[parent] {
                    let link = links[link as usize];
                    let is_a = link.a == document;
                    let sizes = if is_a { [below[here], 0] } else { [0, below[here]] };
                    memory::push(&mut bridges, Bridge { link, sizes })?;
                }
            }
            // The other part of each bridge has the rest of the cluster.
            for bridge in &mut bridges[first..] {
                let [a, b] = bridge.sizes;
                let other = below[root as usize] - a - b;
                bridge.sizes = if a == 0 { [other, b] } else { [a, other] };
            }
        }
        Ok(bridges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_than_two_links_are_kept_for_each_document() {
        let mut links = ClusterLinks::new(20).unwrap();
        for b in 0..20 {
            (0..b).for_each(|a| links.push(Pair { a, b, similarity: 0.9 }).unwrap());
        }
        assert!(links.links.len() < 40);
    }
}
