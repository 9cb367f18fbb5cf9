//! A threshold, a length of shingles, and the origin of a template, suggested by a sample of documents.
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

use crate::boilerplate::LEAST;
use crate::signature::estimate_jaccard;
use crate::{DEFAULT_THRESHOLD, Result, memory};

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
    pub fn from(&self, threshold: f64) -> u64 {
        self.bins().filter(|(start, ..)| *start > threshold - 1e-9).map(|(.., count)| count).sum()
    }

    /// The threshold that the counts suggest, and why. It is above `random`, the similarity of documents picked at
    /// random; 1 if no bin is.
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

/// The similarity of documents of one origin, such as a site, by pairs of them picked at random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WithinOrigin {
    /// The median of the similarities.
    pub median: f64,
    /// The share of the pairs that have about a fifth of their text in common.
    pub share: f64,
}

impl WithinOrigin {
    /// Two documents of which a fifth is the same, and the rest is not, are as similar as this.
    const A_FIFTH: f64 = 0.1;
    /// Of fewer pairs nothing is said.
    const FEW: usize = 30;

    /// Of the origins and signatures of a sample of `documents`, in random order. `None` if the sample has too few
    /// documents of one origin, or if an origin has too few for [boilerplate](crate::boilerplate).
    ///
    /// # Errors
    /// [`LengthMismatch`](crate::Error::LengthMismatch); [`EmptySignature`](crate::Error::EmptySignature).
    pub fn of(mut sample: Vec<(u32, &[i32])>, documents: u64) -> Result<Option<Self>> {
        // A sort that keeps the order of equals takes as much again.
        memory::spare(size_of_val(&*sample))?;
        sample.sort_by_key(|(origin, _)| *origin);
        let (count, mut same, mut similarities) = (sample.len(), 0, Vec::new());
        for of_one in sample.chunk_by(|(a, _), (b, _)| a == b) {
            same += of_one.len() * (of_one.len() - 1);
            for pair in of_one.windows(2) {
                memory::push(&mut similarities, estimate_jaccard(pair[0].1, pair[1].1)?)?;
            }
        }
        // As many of one origin as a document of the sample meets there, a document meets among all.
        let others = same as f64 * documents as f64 / (count * count).max(1) as f64;
        if similarities.len() < Self::FEW || others < LEAST as f64 {
            return Ok(None);
        }
        similarities.sort_unstable_by(f64::total_cmp);
        let alike = similarities.iter().filter(|similarity| **similarity >= Self::A_FIFTH).count();
        let share = alike as f64 / similarities.len() as f64;
        Ok(Some(Self { median: similarities[similarities.len() / 2], share }))
    }

    /// True if documents of one origin have more in common than those of `other`, so much that it is a template.
    pub fn explains_more_than(&self, other: &Self) -> bool {
        self.median >= other.median + Self::A_FIFTH
    }
}

/// The number of shingles from which on a text is still as similar as `threshold` after one change: it takes
/// away `shingle_size` of them, and brings as many.
pub fn robust_from(shingle_size: usize, threshold: f64) -> usize {
    let (size, rest) = (shingle_size as f64, (1.0 - threshold).max(f64::EPSILON));
    (size * (1.0 + threshold) / rest - 1e-9).ceil() as usize
}

fn start(bin: usize) -> f64 {
    (WHOLE - BINS + bin) as f64 / WHOLE as f64
}
