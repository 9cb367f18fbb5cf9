//! Answers, and the numbers of pairs by their similarity.

/// The bins of all similarities from 0 to 1, of equal width.
pub(super) const BINS: usize = 200;

/// The answer of a person about one pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Label {
    /// The similarity of the two documents, from 0 to 1.
    pub similarity: f64,
    /// True if they are the same thing.
    pub is_same: bool,
}

/// The number of pairs of a source by their similarity, in 200 bins. Pairs of a sample count with the number of pairs
/// that they stand for.
#[derive(Clone, Debug, PartialEq)]
pub struct PairCounts([f64; BINS]);

impl Default for PairCounts {
    fn default() -> Self {
        Self([0.0; BINS])
    }
}

impl PairCounts {
    /// Counts `pairs` pairs of that similarity.
    pub fn add(&mut self, similarity: f64, pairs: f64) {
        self.0[bin_of(similarity)] += pairs;
    }

    /// The number of all pairs.
    pub fn total(&self) -> f64 {
        self.0.iter().sum()
    }

    /// The number of pairs of each bin, from the least similar up.
    pub(super) fn bins(&self) -> &[f64; BINS] {
        &self.0
    }
}

/// The bin of a similarity, which lies from 0 to 1.
pub(super) fn bin_of(similarity: f64) -> usize {
    // A similarity is a ratio of integers: one at the edge of a bin must not fall below it by rounding.
    ((similarity * BINS as f64 + 1e-9).floor() as usize).min(BINS - 1)
}

/// The least similarity of a bin.
pub(super) fn start(bin: usize) -> f64 {
    bin as f64 / BINS as f64
}

/// The similarity in the middle of a bin, which stands for all of its pairs.
pub(super) fn middle(bin: usize) -> f64 {
    (bin as f64 + 0.5) / BINS as f64
}
