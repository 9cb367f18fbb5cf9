//! Exact similarities of a few documents, without sorting their shingles.
//!
//! Most groups are of two or three documents. To sort a thousand hashes of each takes longer than
//! everything else that is done about them; to number them in a table takes a third of that.

use crate::error::Error;
use crate::memory;

/// Bits of a word.
const BITS: usize = u64::BITS as usize;

/// The sets of a few documents, as bit sets of all shingles that any of them has.
pub struct FewSets {
    /// Words of a document.
    words: usize,
    bits: Vec<u64>,
    /// How many shingles each has.
    counts: Vec<u32>,
}

/// A place in the table of hashes: a hash and its number from 1, or nothing.
#[derive(Clone, Copy, Default)]
struct Place {
    hash: u64,
    number: u32,
}

impl FewSets {
    /// The sets whose hashes are given one after the other, each in any order and with any
    /// repeats; `ends` is where each ends. Less than 2^31 hashes in all.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(hashes: &[u64], ends: &[usize]) -> Result<Self, Error> {
        let size = (2 * hashes.len()).next_power_of_two().max(2);
        let shift = u64::BITS - size.trailing_zeros();
        let mut table = memory::filled(Place::default(), size)?;
        let mut numbers = memory::with_capacity(hashes.len())?;
        let mut distinct = 0;
        for &hash in hashes {
            // Hashes are uniform in their top bits, and the table is at most half full.
            let mut at = (hash >> shift) as usize;
            while table[at].number != 0 && table[at].hash != hash {
                at = (at + 1) & (size - 1);
            }
            if table[at].number == 0 {
                distinct += 1;
                table[at] = Place { hash, number: distinct };
            }
            numbers.push(table[at].number - 1);
        }
        let words = (distinct as usize).div_ceil(BITS);
        let mut bits = memory::filled(0_u64, words * ends.len())?;
        let mut counts = memory::with_capacity(ends.len())?;
        let mut start = 0;
        for (document, &end) in ends.iter().enumerate() {
            let own = &mut bits[document * words..][..words];
            for &number in &numbers[start..end] {
                own[number as usize / BITS] |= 1 << (number as usize % BITS);
            }
            counts.push(own.iter().map(|word| word.count_ones()).sum());
            start = end;
        }
        Ok(Self { words, bits, counts })
    }

    /// The Jaccard similarity of two documents, if it is at least `threshold`: bit for bit that of
    /// [`ShingleSet::jaccard`](crate::ShingleSet::jaccard).
    #[must_use]
    pub fn similarity(&self, a: usize, b: usize, threshold: f64) -> Option<f64> {
        let of = |document: usize| &self.bits[document * self.words..][..self.words];
        let common: u32 = of(a).iter().zip(of(b)).map(|(a, b)| (a & b).count_ones()).sum();
        let united = self.counts[a] + self.counts[b] - common;
        let jaccard = f64::from(common) / f64::from(united);
        (united > 0 && jaccard >= threshold).then_some(jaccard)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ShingleSet;
    use crate::hash::mix::mix64;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn similarities_are_those_of_sorted_sets(
            sets in prop::collection::vec(prop::collection::vec(0_u64..200, 0..150), 0..6),
            threshold in prop_oneof![0.0_f64..=1.0, Just(0.5), Just(1.0)],
        ) {
            // mix64(0) is 0: also the hash 0 is a hash.
            let hashes: Vec<Vec<u64>> =
                sets.iter().map(|set| set.iter().map(|id| mix64(*id)).collect()).collect();
            let mut ends = Vec::new();
            for set in &hashes {
                ends.push(ends.last().copied().unwrap_or(0) + set.len());
            }
            let few = FewSets::new(&hashes.concat(), &ends).unwrap();
            let sorted: Vec<ShingleSet> = hashes
                .into_iter()
                .map(|hashes| ShingleSet::from_hashes(hashes, &mut || ()))
                .collect();
            for (a, left) in sorted.iter().enumerate() {
                for (b, right) in sorted.iter().enumerate() {
                    let expected = left.jaccard(right).filter(|jaccard| *jaccard >= threshold);
                    prop_assert_eq!(few.similarity(a, b, threshold), expected);
                }
            }
        }
    }
}
