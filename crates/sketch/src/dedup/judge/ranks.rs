//! The order of documents.

use crate::{Result, memory};

/// The rank of each document by name, in an order of the host: the first one represents others.
pub struct Ranks(Vec<u32>);

impl Ranks {
    /// The ranks of documents that `sorted` has in order: each name once.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn of(sorted: &[u32]) -> Result<Self> {
        let mut ranks = memory::filled(u32::MAX, sorted.len())?;
        for (rank, &document) in (0..).zip(sorted) {
            ranks[document as usize] = rank;
        }
        Ok(Self(ranks))
    }

    /// The rank of a document.
    pub fn rank(&self, name: u32) -> u32 {
        self.0[name as usize]
    }

    /// The first of two documents by rank.
    pub fn first(&self, a: u32, b: u32) -> u32 {
        if self.rank(a) <= self.rank(b) { a } else { b }
    }
}
