//! Collapses exact copies before any comparison.

use super::buckets::each_bucket;
use super::collection::Corpus;
use crate::{Result, memory};

/// Documents grouped by equality. The least document of a group represents it, as its leader.
pub struct Identical {
    /// The leader of each document; a leader is its own.
    leaders: Vec<u32>,
    /// The other members of each leader, leader after leader.
    copies: Vec<(u32, u32)>,
}

impl Identical {
    /// Groups the documents that are equal, as [`Corpus::similarity`] shows.
    pub fn group<C: Corpus>(corpus: &mut C) -> Result<Self> {
        let mut leaders = memory::collect(0..corpus.documents())?;
        let (mut copies, mut same, mut firsts) = (Vec::new(), Vec::new(), Vec::new());
        let column = corpus.probes();
        each_bucket(corpus, column, &|_| true, &mut |corpus, bucket| {
            by_set(corpus, bucket, &mut same)?;
            for same in same.chunk_by(|a, b| a.0 == b.0) {
                firsts.clear();
                for &(_, document) in same {
                    match find_same(corpus, &firsts, document)? {
                        Some(leader) => {
                            leaders[document as usize] = leader;
                            memory::push(&mut copies, (leader, document))?;
                        }
                        None => memory::push(&mut firsts, document)?,
                    }
                }
            }
            Ok(())
        })?;
        copies.sort_unstable();
        Ok(Self { leaders, copies })
    }

    /// Number of documents.
    pub fn documents(&self) -> u32 {
        self.leaders.len() as u32
    }

    /// The document that represents `document`.
    pub fn leader(&self, document: u32) -> u32 {
        self.leaders[document as usize]
    }

    /// True if `document` represents itself.
    pub fn is_leader(&self, document: u32) -> bool {
        self.leader(document) == document
    }

    /// All leaders, ascending.
    pub fn leaders(&self) -> impl Iterator<Item = u32> {
        (0..self.documents()).filter(|document| self.is_leader(*document))
    }

    /// The leaders that have copies, ascending, each with its copies.
    pub fn groups(&self) -> impl Iterator<Item = (u32, impl Iterator<Item = u32> + Clone)> {
        self.copies.chunk_by(|a, b| a.0 == b.0).map(|group| (group[0].0, group.iter().map(|(_, document)| *document)))
    }

    /// `leader` and its copies, ascending.
    pub fn members(&self, leader: u32) -> impl Iterator<Item = u32> + Clone {
        let start = self.copies.partition_point(|(first, _)| *first < leader);
        let copies = self.copies[start..].iter().take_while(move |(first, _)| *first == leader);
        std::iter::once(leader).chain(copies.map(|(_, document)| *document))
    }
}

/// Replaces `same` by the documents of a bucket, each after a hash of its set, in order.
fn by_set<C: Corpus>(corpus: &mut C, bucket: &[u32], same: &mut Vec<(u64, u32)>) -> Result<()> {
    same.clear();
    memory::reserve(same, bucket.len())?;
    same.extend(bucket.iter().map(|document| (u64::from(corpus.same_as(*document)), *document)));
    same.sort_unstable();
    // Slightly different documents may have the same signature, so there may be several sets, each in several texts.
    match same.chunk_by(|a, b| a.0 == b.0).count() {
        1 => {}
        // One comparison takes half the time of two hashes, and its result may be used again.
        2 => {
            let (one, other) = (same[0].1, same[same.len() - 1].1);
            if corpus.similarity(one, other)? == Some(1.0) {
                same.iter_mut().for_each(|(own, _)| *own = 0);
            }
        }
        _ => {
            for same in same.chunk_by_mut(|a, b| a.0 == b.0) {
                corpus.check_interrupts();
                let hash = corpus.set_hash(same[0].1)?;
                same.iter_mut().for_each(|(own, _)| *own = hash);
            }
        }
    }
    same.sort_unstable();
    Ok(())
}

/// The first of `leaders` that equals a document. There is one, unless two sets have the same hash.
fn find_same<C: Corpus>(corpus: &mut C, leaders: &[u32], document: u32) -> Result<Option<u32>> {
    for &leader in leaders {
        corpus.check_interrupts();
        if corpus.similarity(leader, document)? == Some(1.0) {
            return Ok(Some(leader));
        }
    }
    Ok(None)
}
