//! The links that alone hold a cluster together.

use super::pairs::Pair;
use crate::error::Error;
use crate::memory;

/// The links without which the documents would fall into more clusters than with them, in
/// ascending order: the bridges of the graph (Tarjan 1974). A chain of pages, of which the first
/// and the last have little in common, is nothing but bridges.
///
/// `links` are verified pairs, in any order; a pair that is there twice counts once. The time is
/// that of sorting them.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn bridges(links: &[Pair]) -> Result<Vec<Pair>, Error> {
    let mut links = memory::copied(links)?;
    links.sort_unstable_by_key(|link| (link.a, link.b));
    links.dedup_by_key(|link| (link.a, link.b));
    let graph = Graph::of(&links)?;
    let mut is_bridge = memory::filled(false, links.len())?;
    graph.search(&mut is_bridge)?;
    memory::collect(links.into_iter().zip(is_bridge).filter(|(_, is)| *is).map(|(link, _)| link))
}

/// The links of each document.
struct Graph {
    /// Where the links of document `i` start among `ends`; one more than documents.
    starts: Vec<u32>,
    /// The other end of a link, and the link's number.
    ends: Vec<(u32, u32)>,
}

impl Graph {
    fn of(links: &[Pair]) -> Result<Self, Error> {
        let mut documents = memory::collect(links.iter().flat_map(|link| [link.a, link.b]))?;
        documents.sort_unstable();
        documents.dedup();
        // Every document of a link is among them.
        let place = |document: u32| documents.partition_point(|other| *other < document) as u32;
        let mut directed = memory::with_capacity(2 * links.len())?;
        for (number, link) in (0..).zip(links) {
            let (a, b) = (place(link.a), place(link.b));
            directed.push((a, b, number));
            directed.push((b, a, number));
        }
        directed.sort_unstable();
        let mut starts = memory::filled(0, documents.len() + 1)?;
        for (from, ..) in &directed {
            starts[*from as usize + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let ends = memory::collect(directed.into_iter().map(|(_, to, link)| (to, link)))?;
        Ok(Self { starts, ends })
    }

    /// Depth first, without recursion: a chain may be long.
    fn search(&self, is_bridge: &mut [bool]) -> Result<(), Error> {
        let documents = self.starts.len() - 1;
        // When each document was reached, from 1; and the earliest that its descendants reach.
        let mut reached = memory::filled(0_u32, documents)?;
        let mut earliest = memory::filled(0_u32, documents)?;
        let mut next = memory::copied(&self.starts)?;
        // Documents on the way here, each with the link that led to it.
        let mut way: Vec<(u32, Option<u32>)> = Vec::new();
        let mut clock = 0;
        for root in 0..documents as u32 {
            if reached[root as usize] != 0 {
                continue;
            }
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
                is_bridge[link as usize] = earliest[here] > reached[parent];
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::corpus::Components;

    fn pair((a, b): (u32, u32)) -> Pair {
        Pair { a: a.min(b), b: a.max(b), similarity: 0.9 }
    }

    fn components(links: &[Pair]) -> usize {
        let mut components = Components::new(20).unwrap();
        links.iter().for_each(|link| components.union(link.a, link.b));
        (0..20).filter(|document| components.find(*document) == *document).count()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

        #[test]
        fn a_bridge_is_what_splits_a_cluster(
            links in prop::collection::vec((0_u32..20, 0_u32..20), 0..40),
        ) {
            let mut links: Vec<Pair> = links.into_iter().filter(|(a, b)| a != b).map(pair).collect();
            let found = bridges(&links).unwrap();
            links.sort_unstable_by_key(|link| (link.a, link.b));
            links.dedup();
            let expected: Vec<Pair> = (0..links.len())
                .filter(|i| {
                    let mut others = links.clone();
                    others.remove(*i);
                    components(&others) > components(&links)
                })
                .map(|i| links[i])
                .collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_long_chain_is_all_bridges() {
        let mut links: Vec<Pair> = (0..200_000).map(|i| pair((i, i + 1))).collect();
        assert_eq!(bridges(&links).unwrap(), links);
        // A link from end to end makes a ring, which has none.
        links.push(pair((0, 200_000)));
        assert_eq!(bridges(&links).unwrap(), []);
    }
}
