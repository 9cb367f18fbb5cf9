//! The interface of a job to a collection of documents.

use crate::Result;
use crate::hash::mix::mix64;

/// The hashes of the documents of a collection.
pub trait Hashes {
    /// Number of documents.
    fn documents(&self) -> u32;

    /// Number of bands of each document that are used.
    fn probes(&self) -> usize;

    /// Bytes for sorting; more is done in several passes.
    fn sort_memory(&self) -> usize;

    /// Calls `visit(document, hash)` for each document, ascending, with its hash of band `column`, below
    /// [`Self::probes`]. Column [`Self::probes`] is a hash of the whole signature.
    fn hashes(&mut self, column: usize, visit: &mut dyn FnMut(u32, u64)) -> Result<()>;

    /// Called often in every long loop; may unwind.
    fn check_interrupts(&mut self);
}

/// The documents of a collection, with comparisons of two of them.
pub trait Corpus: Hashes {
    /// The hashes of a document's bands, [`Hashes::probes`] of them.
    fn bands(&mut self, document: u32) -> Result<Vec<u64>>;

    /// A number that documents share if they are known to be equal.
    fn same_as(&self, _document: u32) -> u32 {
        0
    }

    /// A hash of the compared part of a document, which is equal for equal documents. It is used when documents that
    /// [`Self::same_as`] distinguishes have the same signature.
    fn set_hash(&mut self, _document: u32) -> Result<u64> {
        Ok(0)
    }

    /// True if two documents share one of the first `bands` bands.
    fn share_band(&mut self, bands: usize, a: u32, b: u32) -> Result<bool>;

    /// The similarity of two documents; `None` if it is below the threshold.
    fn similarity(&mut self, a: u32, b: u32) -> Result<Option<f64>>;
}

/// The comparisons that a limit has left out. A bucket of `n` dissimilar documents would need `n²` comparisons. Each
/// document makes `limit` comparisons without success, and then one with a random other document, which estimates how
/// similar the rest is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LeftOut {
    /// Pairs that share a bucket and were not compared there.
    pub comparisons: u64,
    /// Documents that reached the limit, once for each bucket. This is also the number of random pairs.
    pub documents: u64,
    /// Random pairs that were similar.
    pub similar: u64,
    /// Estimated number of similar pairs among `comparisons`, from the random pairs.
    pub missing: u64,
}

impl LeftOut {
    /// Counts a comparison with a random one of the `others` in a bucket.
    pub(super) fn add(&mut self, others: usize, is_similar: bool) {
        let comparisons = others.saturating_sub(1) as u64;
        if comparisons > 0 {
            self.comparisons += comparisons;
            self.documents += 1;
            self.similar += u64::from(is_similar);
            self.missing += if is_similar { comparisons } else { 0 };
        }
    }
}

/// The position of a random one of `count` others. It is the same each time, and does not depend on the numbers of
/// documents.
pub(super) fn picked(count: usize) -> usize {
    (mix64(count as u64) % count.max(1) as u64) as usize
}

impl std::ops::AddAssign for LeftOut {
    fn add_assign(&mut self, other: Self) {
        self.comparisons += other.comparisons;
        self.documents += other.documents;
        self.similar += other.similar;
        self.missing += other.missing;
    }
}
