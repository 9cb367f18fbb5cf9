//! Whole-corpus jobs: all candidate pairs of a collection, its clusters, and what to keep.
//!
//! Documents are numbered from 0. Where their records are (in memory, in a file) and how a pair
//! is verified is the business of a [`Corpus`]; here is how to ask it as little as possible:
//!
//! 1. [`Identical`] collapses documents that are exact copies: a boilerplate of 50,000 copies
//!    is one document from there on, and never costs the square of its size.
//! 2. Bands are taken one after the other. Sorting brings the documents of a bucket together, in
//!    as many passes as the memory allowed for it needs.
//! 3. [`pairs()`] verifies each pair that shares a bucket, in the first band in which the two
//!    meet. [`connect()`] asks only what connectivity needs. [`leaders()`] compares a document
//!    with those that stand for others.
//!
//! Clusters are made of *verified* pairs: components of unverified band hits merge what has
//! nothing in common. Where many documents share a bucket without being similar, a document is
//! compared in vain with no more than a limited number of them; what that leaves out is counted.
//!
//! What a cluster is worth shows in its [`weakest_link`], its [`least_similar`] pair and its
//! [`Bridge`]s. [`ExactGroup`] compares the texts of a bucket.
//!
//! Source: Leskovec, Rajaraman, Ullman, *Mining of Massive Datasets*, section 3.4.

mod bridges;
mod buckets;
mod components;
mod connect;
mod exact;
mod few;
mod groups;
mod identical;
mod leaders;
mod least_similar;
mod pairs;
mod records;
mod threads;
mod weakest_link;

#[cfg(test)]
mod tests;

pub use bridges::{Bridge, Links};
pub use components::Components;
pub use connect::{Connected, connect};
pub use exact::ExactGroup;
pub use few::FewSets;
pub use groups::groups;
pub use identical::Identical;
pub use leaders::leaders;
pub use least_similar::{LeastSimilar, least_similar};
pub use pairs::{Pair, Side, VisitPair, pairs};
pub use records::{Layout, Record, Records};
pub use threads::{InMemory, Interruption, Threads, connect_in_threads, pairs_in_threads};
pub use weakest_link::weakest_link;

/// The hashes of the documents of a collection.
pub trait Hashes {
    /// Why an answer could not be had: an input error, or the wish to stop.
    type Error;

    /// What the engine's own error becomes: there is no memory.
    fn refused(cause: crate::Error) -> Self::Error;

    /// How many documents there are.
    fn documents(&self) -> u32;

    /// How many bands of each document are looked at.
    fn probes(&self) -> usize;

    /// Bytes that may be used for sorting; what is too much for them is done in several passes.
    fn sort_memory(&self) -> usize;

    /// Calls `visit(document, hash)` for each document, ascending, with its hash of band `column`
    /// below [`Self::probes`]; `column` [`Self::probes`] is a hash of the whole signature.
    ///
    /// # Errors
    /// What the storage says.
    fn hashes(&mut self, column: usize, visit: &mut dyn FnMut(u32, u64))
    -> Result<(), Self::Error>;

    /// Called often in every long loop.
    ///
    /// # Errors
    /// The wish to stop.
    fn checkpoint(&mut self) -> Result<(), Self::Error>;
}

/// The documents of a collection, and how two of them are compared.
pub trait Corpus: Hashes {
    /// The hashes of a document's bands, [`Self::probes`] of them.
    ///
    /// # Errors
    /// What the storage says.
    fn bands(&mut self, document: u32) -> Result<Vec<u64>, Self::Error>;

    /// Whether two documents share one of the first `bands` bands.
    ///
    /// # Errors
    /// What the storage says.
    fn share_band(&mut self, bands: usize, a: u32, b: u32) -> Result<bool, Self::Error>;

    /// The similarity of two documents, `None` if it does not reach the threshold.
    ///
    /// # Errors
    /// What the storage says.
    fn similarity(&mut self, a: u32, b: u32) -> Result<Option<f64>, Self::Error>;
}

/// What a limit has left undone. In a bucket of `n` documents that are not similar there would be
/// `n²` comparisons: each document makes `limit` of them in vain, and no more.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LeftOut {
    /// Pairs that share a bucket and were not compared there.
    pub comparisons: u64,
    /// Documents that reached the limit, each once for every bucket in which it did.
    pub documents: u64,
}

impl LeftOut {
    fn add(&mut self, comparisons: usize) {
        if comparisons > 0 {
            self.comparisons += comparisons as u64;
            self.documents += 1;
        }
    }
}

impl std::ops::AddAssign for LeftOut {
    fn add_assign(&mut self, other: Self) {
        self.comparisons += other.comparisons;
        self.documents += other.documents;
    }
}
