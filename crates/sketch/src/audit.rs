//! What is true of a sample of documents, by comparing each with all documents: the measure of
//! what an index finds.

use crate::error::Error;
use crate::memory;
use crate::set::ShingleSet;

/// A sample of documents, to be compared exactly with every document there is.
#[derive(Default)]
pub struct Sample {
    /// The sets and their numbers, by ascending length once `sorted`.
    sets: Vec<(ShingleSet, u32)>,
    sorted: bool,
    shingles: usize,
}

impl Sample {
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

/// The 95 % confidence interval of a proportion of which `successes` in `trials` were seen
/// (Wilson 1927): unlike the textbook's it stays within `[0, 1]` and says something when all, or
/// none, succeeded. `None` without trials.
#[must_use]
pub fn wilson_interval(successes: u64, trials: u64) -> Option<(f64, f64)> {
    /// The 97.5 % quantile of the normal distribution.
    const Z: f64 = 1.959_963_984_540_054;
    if trials == 0 {
        return None;
    }
    let n = trials as f64;
    let p = successes as f64 / n;
    let shrink = 1.0 + Z * Z / n;
    let centre = (p + Z * Z / (2.0 * n)) / shrink;
    let spread = Z / shrink * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let low = if successes == 0 { 0.0 } else { (centre - spread).max(0.0) };
    let high = if successes == trials { 1.0 } else { (centre + spread).min(1.0) };
    Some((low, high))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn intervals_are_those_of_the_literature() {
        // Newcombe 1998, table I: 81 of 263, and 0 of 20.
        let (low, high) = wilson_interval(81, 263).unwrap();
        assert!((low - 0.2553).abs() < 5e-5 && (high - 0.3662).abs() < 5e-5);
        let (low, high) = wilson_interval(0, 20).unwrap();
        assert!(low == 0.0 && (high - 0.1611).abs() < 5e-5);
        assert_eq!(wilson_interval(0, 0), None);
        assert_eq!(wilson_interval(170, 170).unwrap().1, 1.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn similarities_are_those_of_the_pairs(
            sets in prop::collection::vec(prop::collection::vec(0_u64..30, 0..20), 1..12),
            threshold in prop_oneof![0.01_f64..=1.0, Just(0.5), Just(1.0), Just(0.9)],
        ) {
            let sets: Vec<ShingleSet> = sets.into_iter().map(|set| ShingleSet::from_hashes(set, &mut || ())).collect();
            let mut sample = Sample::default();
            sets.iter().for_each(|set| sample.push(set.try_clone().unwrap()).unwrap());
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
}
