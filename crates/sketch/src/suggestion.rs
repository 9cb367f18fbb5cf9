//! A threshold and a length of shingles, suggested by a sample of documents.
//!
//! ```
//! use sketch::{DEFAULT_THRESHOLD, Histogram, Suggested};
//!
//! let mut nearest = Histogram::default();
//! // Twenty documents have an edited copy, thirty share a template with some other document.
//! (0..20).for_each(|i| nearest.add(0.90 + f64::from(i) * 0.004));
//! (0..30).for_each(|i| nearest.add(0.50 + f64::from(i) * 0.005));
//! assert_eq!(nearest.threshold(0.1), (0.75, Suggested::Valley));
//! assert_eq!(Histogram::default().threshold(0.1), (DEFAULT_THRESHOLD, Suggested::Nothing));
//! // Where documents picked at random are as similar as that, a threshold lies above them.
//! assert_eq!(Histogram::default().threshold(0.82), (0.85, Suggested::AboveRandom));
//! ```

use crate::limits::DEFAULT_THRESHOLD;

/// The number of bins; twice as many of that width would make up all similarities.
const BINS: usize = 10;
const WHOLE: usize = 20;
/// A valley lies below as many documents on both of its sides.
const SIDES: u64 = 3;

/// A histogram of the similarities of documents to their nearest neighbour, from 0.5 up to 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: [u64; BINS],
}

/// The reason why a threshold was suggested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suggested {
    /// Few documents are as similar as this, and more are on both sides of it.
    Valley,
    /// There is nothing below, so any threshold up to here finds the same.
    Gap,
    /// The counts show no valley. It is the default.
    Steady,
    /// There is nothing to choose by. It is the default.
    Nothing,
    /// Anything lower would be reached by documents picked at random.
    AboveRandom,
}

impl Histogram {
    /// The least similarity that counts.
    pub const LEAST: f64 = 0.5;

    /// Counts a document whose nearest neighbour is as similar. One below [`Self::LEAST`] is left out.
    pub fn add(&mut self, similarity: f64) {
        let first = WHOLE - BINS;
        // A similarity is a ratio of integers: one at the edge of a bin must not fall below it by rounding.
        let bin = (similarity * WHOLE as f64 + 1e-9).floor();
        if bin >= first as f64 {
            self.counts[(bin as usize - first).min(BINS - 1)] += 1;
        }
    }

    /// The beginning, the end and the number of documents of each bin, from the most similar down.
    pub fn bins(&self) -> impl Iterator<Item = (f64, f64, u64)> + '_ {
        (0..BINS).rev().map(|bin| (start(bin), start(bin + 1), self.counts[bin]))
    }

    /// The number of documents in bins from `threshold` up, which is the start of one.
    #[must_use]
    pub fn from(&self, threshold: f64) -> u64 {
        self.bins().filter(|(start, ..)| *start > threshold - 1e-9).map(|(.., count)| count).sum()
    }

    /// The threshold that the counts suggest, and why. It is above `random`, the similarity of documents picked at
    /// random; 1 if no bin is.
    #[must_use]
    pub fn threshold(&self, random: f64) -> (f64, Suggested) {
        let is_above = |threshold: f64| threshold > random + 1e-9;
        let depth = |bin: usize| {
            if !is_above(start(bin)) {
                return 0;
            }
            let sides = [&self.counts[..bin], &self.counts[bin + 1..]];
            let side = |counts: &[u64]| counts.iter().copied().max().unwrap_or(0);
            let lower = side(sides[0]).min(side(sides[1]));
            let is_valley = lower >= SIDES && 2 * self.counts[bin] <= lower;
            if is_valley { lower - self.counts[bin] } else { 0 }
        };
        let deepest = (0..BINS).map(depth).max().unwrap_or(0);
        let lowest = self.counts.iter().position(|count| *count > 0);
        match lowest {
            _ if deepest > 0 => {
                let first = (0..BINS).find(|bin| depth(*bin) == deepest).unwrap_or(0);
                let wide = (first..BINS).take_while(|bin| depth(*bin) == deepest).count();
                (start(first + wide / 2), Suggested::Valley)
            }
            _ if !is_above(DEFAULT_THRESHOLD) => {
                let lowest = (0..BINS).map(start).find(|start| is_above(*start));
                (lowest.unwrap_or(1.0), Suggested::AboveRandom)
            }
            None => (DEFAULT_THRESHOLD, Suggested::Nothing),
            Some(bin) if start(bin) >= DEFAULT_THRESHOLD => (DEFAULT_THRESHOLD, Suggested::Gap),
            Some(_) => (DEFAULT_THRESHOLD, Suggested::Steady),
        }
    }
}

/// The number of shingles from which on a text is still as similar as `threshold` after one change: it takes
/// away `shingle_size` of them, and brings as many.
#[must_use]
pub fn robust_from(shingle_size: usize, threshold: f64) -> usize {
    let (size, rest) = (shingle_size as f64, (1.0 - threshold).max(f64::EPSILON));
    (size * (1.0 + threshold) / rest - 1e-9).ceil() as usize
}

fn start(bin: usize) -> f64 {
    (WHOLE - BINS + bin) as f64 / WHOLE as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(counts: [u64; BINS]) -> Histogram {
        Histogram { counts }
    }

    #[test]
    fn similarities_are_counted_in_their_bins() {
        let mut found = Histogram::default();
        [0.49, 0.5, 0.55, 0.8, 0.85 - 1e-6, 0.999, 1.0].iter().for_each(|j| found.add(*j));
        assert_eq!(found, histogram([1, 1, 0, 0, 0, 0, 2, 0, 0, 2]));
        let bins: Vec<_> = found.bins().collect();
        assert_eq!((bins[0], bins[9]), ((0.95, 1.0, 2), (0.5, 0.55, 1)));
        assert_eq!([0.5, 0.55, 0.8, 0.95].map(|from| found.from(from)), [6, 5, 4, 2]);
    }

    #[test]
    fn the_threshold_is_the_middle_of_the_deepest_valley() {
        let valley = |counts, from| {
            assert_eq!(histogram(counts).threshold(0.0), (from, Suggested::Valley), "{counts:?}");
        };
        valley([50, 20, 9, 3, 1, 4, 8, 15, 30, 40], 0.7);
        valley([50, 0, 0, 0, 0, 0, 0, 0, 0, 40], 0.75);
        valley([3, 0, 0, 0, 0, 0, 0, 0, 0, 3], 0.75);
        valley([9, 4, 9, 9, 9, 0, 9, 9, 9, 9], 0.75);
    }

    #[test]
    fn without_a_valley_it_is_the_default() {
        let other = |counts, why| {
            assert_eq!(histogram(counts).threshold(0.7), (DEFAULT_THRESHOLD, why), "{counts:?}");
        };
        other([0; BINS], Suggested::Nothing);
        other([0, 0, 0, 0, 0, 0, 1, 0, 0, 9], Suggested::Gap);
        other([0, 0, 0, 0, 0, 0, 0, 0, 0, 9], Suggested::Gap);
        other([90, 80, 70, 60, 50, 40, 30, 20, 10, 5], Suggested::Steady);
        other([0, 5, 9, 20, 30, 40, 50, 60, 70, 80], Suggested::Steady);
        other([2, 0, 0, 0, 0, 0, 0, 0, 0, 2], Suggested::Steady);
        other([9, 9, 9, 9, 5, 9, 9, 9, 9, 9], Suggested::Steady);
    }

    #[test]
    fn no_threshold_is_reached_by_documents_picked_at_random() {
        let above = |counts, random| histogram(counts).threshold(random);
        let valley = [50, 20, 9, 3, 1, 4, 8, 15, 30, 40];
        assert_eq!(above(valley, 0.69), (0.7, Suggested::Valley));
        assert_eq!(above(valley, 0.7), (0.75, Suggested::Valley));
        assert_eq!(above(valley, 0.95), (1.0, Suggested::AboveRandom));
        let steady = [9, 9, 9, 9, 5, 9, 9, 9, 9, 9];
        assert_eq!(above(steady, 0.79), (DEFAULT_THRESHOLD, Suggested::Steady));
        assert_eq!(above(steady, 0.8), (0.85, Suggested::AboveRandom));
        assert_eq!(above([0; BINS], 0.86), (0.9, Suggested::AboveRandom));
    }

    #[test]
    fn one_change_leaves_a_robust_text_similar() {
        for (size, threshold, from) in [(5, 0.8, 45), (3, 0.8, 27), (1, 0.5, 3), (2, 0.9, 38)] {
            assert_eq!(robust_from(size, threshold), from);
            let similar = |n: usize| (n - size) as f64 / (n + size) as f64 >= threshold - 1e-9;
            assert!(similar(from) && !similar(from - 1), "{size} {threshold}");
        }
    }
}
