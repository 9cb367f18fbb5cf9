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
    stride: usize,
    /// Those that any document has bits in: the first ones.
    words: usize,
    bits: Vec<u64>,
    /// The number of shingles of each.
    counts: Vec<u32>,
}

/// Numbers for hashes, from 0, in the order in which they first come.
struct Numbers {
    /// At a place found by the hash, its number plus one; or 0. So small that it stays in the
    /// first-level cache.
    table: Vec<u32>,
    shift: u32,
    /// By number.
    hashes: Vec<u64>,
}

impl Numbers {
    fn new(most: usize) -> Result<Self, Error> {
        let size = (2 * most).next_power_of_two().max(2);
        Ok(Self {
            table: memory::filled(0, size)?,
            shift: u64::BITS - size.trailing_zeros(),
            hashes: memory::with_capacity(most)?,
        })
    }

    #[inline(always)]
    fn of(&mut self, hash: u64) -> usize {
        // Hashes are uniform in their top bits, and the table is at most half full.
        let mut at = (hash >> self.shift) as usize;
        loop {
            match self.table[at] {
                0 => {
                    self.hashes.push(hash);
                    self.table[at] = self.hashes.len() as u32;
                    return self.hashes.len() - 1;
                }
                number if self.hashes[number as usize - 1] == hash => return number as usize - 1,
                _ => at = (at + 1) & (self.table.len() - 1),
            }
        }
    }
}

impl FewSets {
    /// The sets whose hashes are given one after the other, each in any order and with any
    /// repeats; `ends` is where each ends. Less than 2^31 hashes in all.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(hashes: &[u64], ends: &[usize]) -> Result<Self, Error> {
        let mut numbers = Numbers::new(hashes.len())?;
        let stride = hashes.len().div_ceil(BITS);
        let mut bits = memory::filled(0_u64, stride * ends.len())?;
        let mut start = 0;
        for (document, &end) in ends.iter().enumerate() {
            let own = &mut bits[document * stride..][..stride];
            // Documents that are alike have their shingles in the same order: most bits are of the
            // same word as the one before.
            let (mut place, mut word) = (0, 0);
            for &hash in &hashes[start..end] {
                let number = numbers.of(hash);
                if number / BITS != place {
                    own[place] |= std::mem::take(&mut word);
                    place = number / BITS;
                }
                word |= 1 << (number % BITS);
            }
            if start < end {
                own[place] |= word;
            }
            start = end;
        }
        let words = numbers.hashes.len().div_ceil(BITS);
        let mut few = Self { stride, words, bits, counts: Vec::new() };
        let count = |document| few.of(document).iter().map(|word| word.count_ones()).sum();
        few.counts = memory::collect((0..ends.len()).map(count))?;
        Ok(few)
    }

    fn of(&self, document: usize) -> &[u64] {
        &self.bits[document * self.stride..][..self.words]
    }

    /// The Jaccard similarity of two documents, if it is at least `threshold`: bit for bit that of
    /// [`ShingleSet::jaccard`](crate::ShingleSet::jaccard).
    #[must_use]
    pub fn similarity(&self, a: usize, b: usize, threshold: f64) -> Option<f64> {
        let words = self.of(a).iter().zip(self.of(b));
        let common: u32 = words.map(|(a, b)| (a & b).count_ones()).sum();
        let united = self.counts[a] + self.counts[b] - common;
        let jaccard = f64::from(common) / f64::from(united);
        (united > 0 && jaccard >= threshold).then_some(jaccard)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::exact::tests::{hashes, similarity, thresholds};

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn similarities_are_those_of_sorted_sets(
            sets in hashes(0..6, 200, 150),
            threshold in thresholds(),
        ) {
            let mut ends = Vec::new();
            for set in &sets {
                ends.push(ends.last().copied().unwrap_or(0) + set.len());
            }
            let few = FewSets::new(&sets.concat(), &ends).unwrap();
            for (a, left) in sets.iter().enumerate() {
                for (b, right) in sets.iter().enumerate() {
                    let expected = similarity(left, right, threshold);
                    prop_assert_eq!(few.similarity(a, b, threshold), expected);
                }
            }
        }
    }
}
