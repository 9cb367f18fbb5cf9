//! Exact copies, collapsed before anything is compared.

use super::buckets::Buckets;

/// Documents grouped by identity: the least of each group stands for it, its leader.
pub struct Identical {
    /// The leader of each document; itself for a leader.
    leaders: Vec<u32>,
    /// The members of a leader other than itself, leader after leader.
    copies: Vec<(u32, u32)>,
}

impl Identical {
    /// Groups documents by the hash of their content. The hash should be a good one of 64 bits
    /// (two of a million documents collide with probability 3e-8); `same(a, b)` confirms.
    pub fn group(hashes: &[u64], same: &mut dyn FnMut(u32, u32) -> bool) -> Self {
        let mut leaders: Vec<u32> = (0..hashes.len() as u32).collect();
        let mut copies = Vec::new();
        let documents = (0..).zip(hashes.iter().copied());
        Buckets::default().for_each(documents, &mut |bucket| {
            let leader = bucket[0];
            for &document in bucket[1..].iter().filter(|&&document| same(leader, document)) {
                leaders[document as usize] = leader;
                copies.push((leader, document));
            }
        });
        copies.sort_unstable();
        Self { leaders, copies }
    }

    /// How many documents there are.
    pub fn documents(&self) -> u32 {
        self.leaders.len() as u32
    }

    /// The document that stands for `document`.
    pub fn leader(&self, document: u32) -> u32 {
        self.leaders[document as usize]
    }

    /// All leaders, ascending.
    pub fn leaders(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.leaders).filter(|(document, leader)| document == *leader).map(|(d, _)| d)
    }

    /// The copies of `leader`, without itself, ascending.
    pub fn copies(&self, leader: u32) -> impl Iterator<Item = u32> + Clone {
        let start = self.copies.partition_point(|(first, _)| *first < leader);
        self.copies[start..].iter().take_while(move |(first, _)| *first == leader).map(|(_, d)| *d)
    }

    /// `leader` and its copies, ascending.
    pub fn members(&self, leader: u32) -> impl Iterator<Item = u32> + Clone {
        std::iter::once(leader).chain(self.copies(leader))
    }
}

#[cfg(test)]
mod tests {
    use super::Identical;

    #[test]
    fn the_least_of_the_copies_leads_them() {
        let groups = Identical::group(&[9, 4, 9, 7, 4, 9], &mut |_, _| true);
        assert_eq!(groups.leaders().collect::<Vec<_>>(), [0, 1, 3]);
        assert_eq!(groups.members(0).collect::<Vec<_>>(), [0, 2, 5]);
        assert_eq!(groups.copies(1).collect::<Vec<_>>(), [4]);
        assert_eq!(groups.copies(3).count(), 0);
        assert_eq!(groups.leader(5), 0);
    }

    #[test]
    fn documents_whose_hashes_collide_are_not_collapsed() {
        let groups = Identical::group(&[9, 9, 9], &mut |_, document| document != 1);
        assert_eq!(groups.leaders().collect::<Vec<_>>(), [0, 1]);
        assert_eq!(groups.members(0).collect::<Vec<_>>(), [0, 2]);
    }
}
