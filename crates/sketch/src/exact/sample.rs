//! The truth about a sample of documents, by comparing each with all documents: the measure of
//! what an index finds.

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
}
