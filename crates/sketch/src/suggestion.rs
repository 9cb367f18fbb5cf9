//! Suggests a threshold, a length of shingles, and the origin of a template from a sample of documents.
//!
//! ```
//! use minlsh_sketch::{DEFAULT_THRESHOLD, Histogram, Suggested};
//!
//! let mut found = Histogram::default();
//! // Of a hundred documents forty have an edited copy, and the nearest of the others is hardly similar.
//! (0..40).for_each(|i| found.add_nearest(0.45 + f64::from(i) * 0.002));
//! (0..60).for_each(|i| found.add_nearest(0.05 + f64::from(i) * 0.002));
//! (0..40).for_each(|i| found.add_pair(0.45 + f64::from(i) * 0.002));
//! (0..5000).for_each(|i| found.add_pair(f64::from(i) * 0.00003));
//! // Nothing lies between 0.25 and 0.45, and of random pairs 19 of 20 are no more similar than 0.14.
//! assert_eq!(found.threshold(0.14), (0.35, Suggested::Valley));
//! assert_eq!(Histogram::default().threshold(0.1), (DEFAULT_THRESHOLD, Suggested::Nothing));
//! // Where documents picked at random are as similar as the default, a threshold lies above them.
//! assert_eq!(Histogram::default().threshold(0.82), (0.85, Suggested::AboveRandom));
//! ```

use crate::boilerplate::LEAST;
use crate::signature::estimate_jaccard;
use crate::{DEFAULT_THRESHOLD, Result, memory};

/// Number of bins in a histogram, each 0.05 wide.
const BINS: usize = 20;
/// Number of counts of documents: two in each bin, so that the middle of a run of bins is a boundary.
const HALVES: usize = 2 * BINS;

// The constants of the rule were chosen on 14 public labelled sets: papers, products, people, citations, albums, films,
// licences, plagiarism and others.

/// Minimum distance of a valley from the similarity of random pairs.
const MARGIN: f64 = 0.10;
/// A valley has at most one in `DEPTH` documents of the highest bin above it.
const DEPTH: u64 = 5;
/// Minimum number of documents in the highest bin above a valley.
const PEAK: u64 = 9;
/// A valley has at most one in `PAIRS` of the pairs above it. In large tables a bin with few nearest neighbors still
/// has many pairs of unrelated documents.
const PAIRS: u64 = 2;

/// Similarities in a sample of documents: of each to its nearest neighbor, and of all pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    nearest: [u64; HALVES],
    pairs: [u64; BINS],
}

/// The reason why a threshold was suggested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suggested {
    /// Few documents have their nearest neighbor here, and many have it above.
    Valley,
    /// The counts show no valley: the default.
    Unclear,
    /// No document has a neighbor that is clearly more similar than random pairs: the default.
    Nothing,
    /// Random pairs would reach any lower threshold.
    AboveRandom,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { nearest: [0; HALVES], pairs: [0; BINS] }
    }
}

impl Histogram {
    /// The start of the bin of a similarity. Counts below the bin of random pairs do not matter.
    pub fn bin_start(similarity: f64) -> f64 {
        start(part(similarity, BINS))
    }

    /// Counts a document by the similarity of its nearest neighbor that is not an exact copy.
    pub fn add_nearest(&mut self, similarity: f64) {
        self.nearest[part(similarity, HALVES)] += 1;
    }

    /// Counts a pair of a document in the sample and another document.
    pub fn add_pair(&mut self, similarity: f64) {
        self.pairs[part(similarity, BINS)] += 1;
    }

    /// The start, end and number of documents of each bin, from the most similar down to the bin of `least`.
    pub fn bins(&self, least: f64) -> impl Iterator<Item = (f64, f64, u64)> + '_ {
        let bins = (part(least, BINS)..BINS).rev();
        bins.map(|bin| (start(bin), start(bin + 1), self.documents(bin)))
    }

    /// Number of documents whose nearest neighbor has a similarity of at least `threshold`, a multiple of 0.025.
    pub fn near(&self, threshold: f64) -> u64 {
        self.nearest[part(threshold, HALVES)..].iter().sum()
    }

    /// The threshold that the counts suggest, with the reason. It is above `random`, the similarity that 19 of 20
    /// random pairs do not exceed, or 1 if no bin is.
    pub fn threshold(&self, random: f64) -> (f64, Suggested) {
        let fewest = (0..BINS).filter(|bin| self.is_valley(*bin, random));
        if let Some(fewest) = fewest.map(|bin| self.documents(bin)).min() {
            let is_lowest = |bin: &usize| self.is_valley(*bin, random) && self.documents(*bin) == fewest;
            let first = (0..BINS).find(is_lowest).unwrap_or(0);
            let wide = (first..BINS).take_while(is_lowest).count();
            return ((2 * first + wide) as f64 / HALVES as f64, Suggested::Valley);
        }
        if random + EDGE >= DEFAULT_THRESHOLD {
            let lowest = (0..BINS).map(start).find(|start| *start > random + EDGE);
            return (lowest.unwrap_or(1.0), Suggested::AboveRandom);
        }
        let is_similar = (0..BINS).any(|bin| self.documents(bin) > 0 && is_clear(bin, random));
        let why = if is_similar { Suggested::Unclear } else { Suggested::Nothing };
        (DEFAULT_THRESHOLD, why)
    }

    fn is_valley(&self, bin: usize, random: f64) -> bool {
        let highest = (bin + 1..BINS).map(|bin| self.documents(bin)).max().unwrap_or(0);
        let pairs: u64 = self.pairs[bin + 1..].iter().sum();
        is_clear(bin, random)
            && highest >= PEAK
            && DEPTH * self.documents(bin) <= highest
            && PAIRS * self.pairs[bin] <= pairs
    }

    fn documents(&self, bin: usize) -> u64 {
        self.nearest[2 * bin] + self.nearest[2 * bin + 1]
    }
}

/// Keeps a similarity on the edge of a bin, a ratio of integers, from falling below it by rounding.
const EDGE: f64 = 1e-9;

/// The interval of a similarity, if 0 to 1 is divided into `parts` intervals.
fn part(similarity: f64, parts: usize) -> usize {
    ((similarity * parts as f64 + EDGE) as usize).min(parts - 1)
}

fn start(bin: usize) -> f64 {
    bin as f64 / BINS as f64
}

/// True if a bin is clearly above the similarity of random pairs.
fn is_clear(bin: usize, random: f64) -> bool {
    start(bin) + EDGE >= random + MARGIN
}

/// The similarity of random pairs of documents within one origin, such as a site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WithinOrigin {
    /// The median of the similarities.
    pub median: f64,
    /// The share of the pairs that share about a fifth of their text.
    pub share: f64,
}

impl WithinOrigin {
    /// Similarity of two documents that share a fifth of their text.
    const A_FIFTH: f64 = 0.1;
    /// Number of pairs below which there is no result.
    const FEW: usize = 30;

    /// Computes it from the origins and signatures of a sample, in random order, out of `documents` documents. `None`
    /// if the sample has too few documents of one origin, or if an origin has too few for
    /// [boilerplate](crate::boilerplate).
    ///
    /// # Errors
    /// [`LengthMismatch`](crate::Error::LengthMismatch); [`EmptySignature`](crate::Error::EmptySignature).
    pub fn of(mut sample: Vec<(u32, &[i32])>, documents: u64) -> Result<Option<Self>> {
        // A stable sort takes as much memory again.
        memory::spare(size_of_val(&*sample))?;
        sample.sort_by_key(|(origin, _)| *origin);
        let (count, mut same, mut similarities) = (sample.len(), 0, Vec::new());
        for of_one in sample.chunk_by(|(a, _), (b, _)| a == b) {
            same += of_one.len() * (of_one.len() - 1);
            for pair in of_one.windows(2) {
                memory::push(&mut similarities, estimate_jaccard(pair[0].1, pair[1].1)?)?;
            }
        }
        // The number of documents of its origin that a sampled document meets, scaled to all documents.
        let others = same as f64 * documents as f64 / (count * count).max(1) as f64;
        if similarities.len() < Self::FEW || others < LEAST as f64 {
            return Ok(None);
        }
        similarities.sort_unstable_by(f64::total_cmp);
        let alike = similarities.iter().filter(|similarity| **similarity >= Self::A_FIFTH).count();
        let share = alike as f64 / similarities.len() as f64;
        Ok(Some(Self { median: similarities[similarities.len() / 2], share }))
    }

    /// True if documents of one origin share so much more than documents of `other` that it must be a template.
    pub fn explains_more_than(&self, other: &Self) -> bool {
        self.median >= other.median + Self::A_FIFTH
    }
}

/// Number of shingles from which a text stays as similar as `threshold` after one change, which removes `shingle_size`
/// of them and adds as many.
pub fn robust_from(shingle_size: usize, threshold: f64) -> usize {
    let (size, rest) = (shingle_size as f64, (1.0 - threshold).max(f64::EPSILON));
    (size * (1.0 + threshold) / rest - 1e-9).ceil() as usize
}
