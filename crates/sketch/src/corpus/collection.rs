//! The questions of a job to a collection of documents.

use crate::error::Error;
use crate::hash::mix::mix64;

/// The hashes of the documents of a collection.
pub trait Hashes {
    /// The reason why there is no answer: an input error, or the wish to stop.
    type Error: From<Error>;

    /// The number of documents.
    fn documents(&self) -> u32;

    /// The number of bands of each document that are looked at.
    fn probes(&self) -> usize;

    /// Bytes that may be used for sorting; what is too much for them is done in several passes.
    fn sort_memory(&self) -> usize;

    /// Calls `visit(document, hash)` for each document, ascending, with its hash of band `column`
    /// below [`Self::probes`]; `column` [`Self::probes`] is a hash of the whole signature.
    fn hashes(&mut self, column: usize, visit: &mut dyn FnMut(u32, u64)) -> Result<(), Self::Error>;

    /// Called often in every long loop. It fails with the wish to stop.
    fn check_interrupts(&mut self) -> Result<(), Self::Error>;
}

/// The documents of a collection, and how two of them are compared.
pub trait Corpus: Hashes {
    /// The hashes of a document's bands, [`Hashes::probes`] of them.
    fn bands(&mut self, document: u32) -> Result<Vec<u64>, Self::Error>;

    /// A number that documents have in common if it is known that they are the same.
    fn same_as(&self, _document: u32) -> u32 {
        0
    }

    /// A hash of what is compared of a document: those that are the same have the same one. It is asked where one
    /// signature has documents that [`Self::same_as`] keeps apart.
    fn set_hash(&mut self, _document: u32) -> Result<u64, Self::Error> {
        Ok(0)
    }

    /// True if two documents share one of the first `bands` bands.
    fn share_band(&mut self, bands: usize, a: u32, b: u32) -> Result<bool, Self::Error>;

    /// The similarity of two documents, `None` if it does not reach the threshold.
    fn similarity(&mut self, a: u32, b: u32) -> Result<Option<f64>, Self::Error>;
}

/// The comparisons that a limit has left out. In a bucket of `n` documents that are not similar there would be
/// `n²` comparisons: each document makes `limit` of them without success, one more with a random one of the others,
/// which shows how similar these are, and no more.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LeftOut {
    /// Pairs that share a bucket and were not compared there.
    pub comparisons: u64,
    /// Documents that reached the limit, each once for every bucket in which it did: as many random pairs were
    /// compared.
    pub documents: u64,
    /// The random pairs that were similar.
    pub similar: u64,
    /// About how many of `comparisons` are similar, by these random pairs.
    pub missing: u64,
}

impl LeftOut {
    /// Counts the `others` of a bucket with one of which, picked at random, a document was compared.
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

/// The place of a random one of `count` others, the same each time; it does not depend on how documents are numbered.
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
