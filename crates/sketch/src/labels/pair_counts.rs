//! Answers, and the numbers of pairs by similarity.

/// Number of bins for similarities from 0 to 1, of equal width.
pub(super) const BINS: usize = 200;

/// A person's answer about a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Label {
    /// The similarity of the two documents, from 0 to 1.
    pub similarity: f64,
    /// True if they are the same thing.
    pub is_same: bool,
}

/// The numbers of pairs of a source by similarity, in 200 bins. A pair of a sample counts as all pairs that it
/// represents.
#[derive(Clone, Debug, PartialEq)]
pub struct PairCounts([f64; BINS]);

impl Default for PairCounts {
    fn default() -> Self {
        Self([0.0; BINS])
    }
}

impl PairCounts {
    /// Adds `pairs` pairs with this similarity.
    pub fn add(&mut self, similarity: f64, pairs: f64) {
        self.0[bin_of(similarity)] += pairs;
    }

    /// Total number of pairs.
    pub fn total(&self) -> f64 {
        self.0.iter().sum()
    }

    /// The number of pairs in each bin, from the least similar.
    pub(super) fn bins(&self) -> &[f64; BINS] {
        &self.0
    }
}

/// The bin of a similarity from 0 to 1.
pub(super) fn bin_of(similarity: f64) -> usize {
    // Keeps a similarity on the edge of a bin, a ratio of integers, from falling below it by rounding.
    ((similarity * BINS as f64 + 1e-9).floor() as usize).min(BINS - 1)
}

/// The least similarity of a bin.
pub(super) fn start(bin: usize) -> f64 {
    bin as f64 / BINS as f64
}

/// The similarity in the middle of a bin, which represents all of its pairs.
pub(super) fn middle(bin: usize) -> f64 {
    (bin as f64 + 0.5) / BINS as f64
}
