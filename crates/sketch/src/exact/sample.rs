//! Measures an index by a sample of documents: each is compared exactly with all documents, and a figure of the sample
//! gets a confidence interval.

use super::shingle_set::ShingleSet;
use crate::error::Error;
use crate::memory;

/// A sample of documents, to be compared exactly with every document there is.
#[derive(Default)]
pub struct ExactSample {
    /// The sets and their numbers, by ascending length once `sorted`.
    sets: Vec<(ShingleSet, u32)>,
    sorted: bool,
    shingles: usize,
}

impl ExactSample {
    /// Adds a document; they are numbered from 0.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn push(&mut self, set: ShingleSet) -> Result<(), Error> {
        self.shingles += set.len();
        let document = self.sets.len() as u32;
        memory::push(&mut self.sets, (set, document))?;
        self.sorted = false;
        Ok(())
    }

    /// About how many bytes the sample takes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.shingles * size_of::<u64>()
    }

    /// Calls `visit(document, similarity)` with each document of the sample whose exact Jaccard
    /// similarity with `set` is at least `threshold`, which is above 0.
    pub fn similar_to(
        &mut self,
        set: &ShingleSet,
        threshold: f64,
        mut visit: impl FnMut(u32, f64),
    ) {
        if !self.sorted {
            self.sets.sort_unstable_by_key(|(set, document)| (set.len(), *document));
            self.sorted = true;
        }
        // The smaller of two sets has at least `threshold` times the shingles of the larger.
        let least = threshold * set.len() as f64;
        let start = self.sets.partition_point(|(other, _)| (other.len() as f64) < least);
        for (other, document) in &self.sets[start..] {
            if threshold * other.len() as f64 > set.len() as f64 {
                break;
            }
            if let Some(similarity) = set.jaccard_at_least(other, threshold) {
                visit(*document, similarity);
            }
        }
    }
}

/// The 95 % confidence interval of a ratio of sums over all documents, such as the recall: the share of all pairs that
/// was found. `sample` has, for each document of a simple random sample, the number of its pairs that count, and of all
/// its pairs. `population` is the number of documents. `None` if the sample has no pair.
///
/// Documents are sampled, not pairs, and the pairs of a document tend to be found or missed together. So the variance
/// is that of a ratio (Cochran, *Sampling Techniques*, 1977, section 6.4). It gives the number of independent pairs
/// that the sample is worth, for which the interval is Wilson's, with Student's quantile (Korn, Graubard 1998). If all
/// pairs of the sample count, or none, there is no variance, and the pairs of a document are taken for one event.
#[must_use]
pub fn ratio_interval(sample: &[(u64, u64)], population: u64) -> Option<(f64, f64)> {
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        sample.iter().map(|&(counted, pairs)| of(counted as f64, pairs as f64)).sum()
    };
    let (counted, pairs) = (sum(&|counted, _| counted), sum(&|_, pairs| pairs));
    if pairs == 0.0 {
        return None;
    }
    let ratio = counted / pairs;
    let documents = sample.len() as f64;
    let with_pairs = sample.iter().filter(|(_, pairs)| *pairs > 0).count() as f64;
    // A sample of all documents has no error.
    let unseen = (1.0 - documents / (population as f64).max(documents)).max(0.0);
    if unseen == 0.0 {
        return Some((ratio, ratio));
    }
    let squares = sum(&|counted, pairs| (counted - ratio * pairs).powi(2));
    let variance = unseen * documents / (documents - 1.0).max(1.0) * squares / pairs.powi(2);
    let independent = pairs.powi(2) / sum(&|_, pairs| pairs.powi(2));
    let effective = if ratio * (1.0 - ratio) > 0.0 && variance > 0.0 {
        (ratio * (1.0 - ratio) / variance).min(pairs / unseen)
    } else {
        independent / unseen
    };
    Some(wilson(ratio, effective, student(with_pairs - 1.0)))
}

/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// The 97.5 % quantile of Student's distribution, for not too few degrees of freedom (Abramowitz, Stegun 26.7.5).
fn student(degrees: f64) -> f64 {
    let n = degrees.max(1.0);
    let z = Z;
    z + (z.powi(3) + z) / (4.0 * n)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
        + (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / (384.0 * n.powi(3))
}

/// The interval of a proportion `p` of `n` trials, at `z` standard errors (Wilson 1927): unlike the textbook's it stays
/// within `[0, 1]`, and says something when all, or none, succeeded.
fn wilson(p: f64, n: f64, z: f64) -> (f64, f64) {
    let shrink = 1.0 + z * z / n;
    let centre = (p + z * z / (2.0 * n)) / shrink;
    let spread = z / shrink * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    let low = if p == 0.0 { 0.0 } else { (centre - spread).max(0.0) };
    let high = if p == 1.0 { 1.0 } else { (centre + spread).min(1.0) };
    (low, high)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hash::mix::{GOLDEN, mix64};

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn similarities_are_those_of_the_pairs(
            sets in prop::collection::vec(prop::collection::vec(0_u64..30, 0..20), 1..12),
            threshold in prop_oneof![0.01_f64..=1.0, Just(0.5), Just(1.0), Just(0.9)],
        ) {
            let set = |hashes: &Vec<u64>| ShingleSet::from_hashes(hashes.clone(), &mut || ());
            let mut sample = ExactSample::default();
            sets.iter().for_each(|hashes| sample.push(set(hashes)).unwrap());
            let sets: Vec<ShingleSet> = sets.iter().map(set).collect();
            for set in &sets {
                let mut found = Vec::new();
                sample.similar_to(set, threshold, |document, similarity| {
                    found.push((document, similarity));
                });
                found.sort_by_key(|(document, _)| *document);
                let expected: Vec<(u32, f64)> = (0..)
                    .zip(&sets)
                    .filter_map(|(document, other)| Some((document, set.jaccard(other)?)))
                    .filter(|(_, similarity)| *similarity >= threshold)
                    .collect();
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn intervals_are_those_of_the_literature() {
        // Newcombe 1998, table I: 81 of 263, and 0 of 20.
        let (low, high) = wilson(81.0 / 263.0, 263.0, Z);
        assert!((low - 0.2553).abs() < 5e-5 && (high - 0.3662).abs() < 5e-5);
        let (low, high) = wilson(0.0, 20.0, Z);
        assert!(low == 0.0 && (high - 0.1611).abs() < 5e-5);
        assert_eq!(wilson(1.0, 170.0, Z).1, 1.0);
    }

    /// Random numbers below 1.
    fn random(seed: u64) -> impl FnMut() -> f64 {
        let mut state = mix64(seed);
        move || {
            state = state.wrapping_add(GOLDEN);
            (mix64(state) >> 11) as f64 / (1_u64 << 53) as f64
        }
    }

    /// The pairs of each document of a corpus: (pairs counted, pairs). Half of the documents are
    /// alone, the others in clusters of up to `largest`; the pairs of a cluster are counted with
    /// a chance of its own, from `worst` to 1, as near-duplicates of a template are found or lost.
    fn corpus(seed: u64, largest: f64, worst: f64) -> Vec<(u64, u64)> {
        let mut random = random(seed);
        let mut documents = vec![(0, 0); 3000];
        while documents.len() < 6000 {
            let start = documents.len();
            // Few are large.
            let size = (2.0 + (largest - 1.0) * random().powi(4)) as usize;
            let chance = worst + (1.0 - worst) * random();
            documents.resize(start + size, (0, 0));
            for a in start..start + size {
                for b in start..a {
                    let counted = u64::from(random() < chance);
                    for document in [a, b] {
                        documents[document].0 += counted;
                        documents[document].1 += 1;
                    }
                }
            }
        }
        documents
    }

    fn coverage(documents: &[(u64, u64)], size: usize) -> usize {
        let (counted, pairs) = documents.iter().fold((0, 0), |sum, d| (sum.0 + d.0, sum.1 + d.1));
        let truth = counted as f64 / pairs as f64;
        let covers = |seed: &u64| {
            let mut random = random(seed ^ 1 << 50);
            let mut all = documents.to_vec();
            for i in 0..size {
                let other = i + (random() * (all.len() - i) as f64) as usize;
                all.swap(i, other);
            }
            let interval = ratio_interval(&all[..size], all.len() as u64).unwrap();
            interval.0 <= truth && truth <= interval.1
        };
        (0..200).filter(covers).count()
    }

    #[test]
    fn intervals_of_ratios_cover_the_truth() {
        // Recall and precision like those of filters by estimate, some near 1.
        for (largest, worst) in [(4.0, 0.3), (12.0, 0.7), (12.0, 0.2), (30.0, 0.5), (6.0, 0.9)] {
            for size in [100, 300, 1000] {
                let covered = coverage(&corpus(7, largest, worst), size);
                println!("clusters up to {largest}, from {worst}, sample {size}: {covered} of 200");
                assert!((180..=198).contains(&covered), "{largest} {worst} {size}: {covered}");
            }
        }
    }

    #[test]
    fn ratios_at_the_ends_are_not_certain() {
        let sample = [(3, 3), (0, 0), (1, 1), (2, 2)];
        let (low, high) = ratio_interval(&sample, 1000).unwrap();
        assert!(low > 0.1 && low < 0.6 && high == 1.0, "{low}");
        assert_eq!(ratio_interval(&sample, 4), Some((1.0, 1.0)));
        assert_eq!(ratio_interval(&[(0, 0), (0, 0)], 10), None);
        assert_eq!(ratio_interval(&[], 10), None);
        assert_eq!(ratio_interval(&[(0, 5)], 100).unwrap().0, 0.0);
        assert!((student(10.0) - 2.228).abs() < 1e-3 && (student(1000.0) - 1.962).abs() < 1e-3);
    }
}
