//! Exact copies, collapsed before anything is compared.

use super::buckets::HashBuckets;
use super::collection::Corpus;
use crate::memory;

/// Documents grouped by identity: the least of each group stands for it, its leader.
pub struct Identical {
    /// The leader of each document; itself for a leader.
    leaders: Vec<u32>,
    /// The members of a leader other than itself, leader after leader.
    copies: Vec<(u32, u32)>,
}

impl Identical {
    /// Groups the documents of which [`Corpus::similarity`] says that they are the same.
    ///
    /// # Errors
    /// Those of the corpus.
    pub fn group<C: Corpus>(corpus: &mut C) -> Result<Self, C::Error> {
        let mut leaders = memory::collect(0..corpus.documents())?;
        let (mut copies, mut same) = (Vec::new(), Vec::new());
        let column = corpus.probes();
        HashBuckets::default().for_each(corpus, column, &|_| true, &mut |corpus, bucket| {
            same.clear();
            memory::reserve(&mut same, bucket.len())?;
            same.extend(bucket.iter().map(|document| (corpus.same_as(*document), *document)));
            same.sort_unstable();
            // Also documents that differ a little have one signature: there may be several sets, each many times.
            for same in same.chunk_by(|a, b| a.0 == b.0) {
                let (first, own) = (bucket[0], same[0].1);
                let is_first = own == first || corpus.similarity(first, own)? == Some(1.0);
                let leader = if is_first { first } else { own };
                for &(_, document) in same.iter().filter(|(_, document)| *document != leader) {
                    corpus.check_interrupts()?;
                    if corpus.similarity(leader, document)? == Some(1.0) {
                        leaders[document as usize] = leader;
                        memory::push(&mut copies, (leader, document))?;
                    }
                }
            }
            Ok(())
        })?;
        copies.sort_unstable();
        Ok(Self { leaders, copies })
    }

    /// The number of documents.
    #[must_use]
    pub fn documents(&self) -> u32 {
        self.leaders.len() as u32
    }

    /// The document that stands for `document`.
    #[must_use]
    pub fn leader(&self, document: u32) -> u32 {
        self.leaders[document as usize]
    }

    /// True if `document` stands for itself.
    #[must_use]
    pub fn is_leader(&self, document: u32) -> bool {
        self.leader(document) == document
    }

    /// All leaders, ascending.
    pub fn leaders(&self) -> impl Iterator<Item = u32> {
        (0..self.documents()).filter(|document| self.is_leader(*document))
    }

    /// The leaders that have copies, ascending, each with its copies.
    pub fn groups(&self) -> impl Iterator<Item = (u32, impl Iterator<Item = u32> + Clone)> {
        self.copies
            .chunk_by(|a, b| a.0 == b.0)
            .map(|group| (group[0].0, group.iter().map(|(_, document)| *document)))
    }

    /// `leader` and its copies, ascending.
    pub fn members(&self, leader: u32) -> impl Iterator<Item = u32> + Clone {
        let start = self.copies.partition_point(|(first, _)| *first < leader);
        let copies = self.copies[start..].iter().take_while(move |(first, _)| *first == leader);
        std::iter::once(leader).chain(copies.map(|(_, document)| *document))
    }
}
