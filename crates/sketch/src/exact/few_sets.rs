//! Exact similarities of a few documents, without sorting their shingles.
//!
//! Most groups are of two or three documents. To sort a thousand hashes of each takes longer than
//! everything else that is done about them; to number them in a table takes a third of that. Documents
//! that are alike have most of their shingles in the same order. So each hash is first compared with the one
//! that followed where the one before it was found, and most need no table.

use crate::error::Error;
use crate::memory;
use crate::simd::Level;

/// Bits of a word.
const BITS: usize = u64::BITS as usize;

/// Hashes that are compared at a time with those that should come next.
const TOGETHER: usize = 8;

/// The sets of a few documents, as bit sets of all shingles that any of them has. It is filled again and again: what
/// is allocated for one group serves for the next.
pub struct FewSets {
    level: Level,
    numbers: Numbers,
    /// By number, whether a document has it.
    has: Vec<u8>,
    /// Words of a document.
    stride: usize,
    bits: Vec<u64>,
    /// The number of shingles of each.
    counts: Vec<u32>,
}

/// Numbers for hashes, from 0, in the order in which they first come.
#[derive(Default)]
struct Numbers {
    /// At a place found by the hash, its number plus one; or 0. So small that it stays in the
    /// first-level cache.
    table: Vec<u32>,
    shift: u32,
    /// By number, the hash, and where it came first; and room for one more.
    hashes: Vec<u64>,
    firsts: Vec<u32>,
    /// The number of them.
    count: usize,
    /// The number of each hash that was given.
    all: Vec<u32>,
}

impl Numbers {
    /// Forgets all numbers, and makes room for so many hashes.
    fn start(&mut self, most: usize) -> Result<(), Error> {
        self.table.clear();
        self.count = 0;
        if self.all.len() <= most {
            memory::resize(&mut self.hashes, most + 1, 0)?;
            memory::resize(&mut self.firsts, most + 1, 0)?;
            memory::resize(&mut self.all, most + 1, 0)?;
        }
        Ok(())
    }

    /// Makes room in the table for so many more: at least twice as many places as numbers.
    fn reserve(&mut self, more: usize) -> Result<(), Error> {
        let least = 2 * (self.count + more);
        if least <= self.table.len() && !self.table.is_empty() {
            return Ok(());
        }
        // More than that: documents that come later have others.
        let size = (3 * least).next_power_of_two().max(2);
        self.table.clear();
        memory::resize(&mut self.table, size, 0)?;
        self.shift = u64::BITS - size.trailing_zeros();
        for (number, hash) in (1..).zip(&self.hashes[..self.count]) {
            let mut at = (hash >> self.shift) as usize;
            while self.table[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            self.table[at] = number;
        }
        Ok(())
    }

    /// Numbers hashes; `ends` is where those of each document end.
    fn fill(&mut self, hashes: &[u64], ends: &[usize]) -> Result<(), Error> {
        self.start(hashes.len())?;
        let mut start = 0;
        for &end in ends {
            self.reserve(end - start)?;
            self.number(hashes, start, end);
            start = end;
        }
        Ok(())
    }

    /// Numbers the hashes of a document, for which there is room.
    fn number(&mut self, given: &[u64], start: usize, end: usize) {
        let Self { shift, mut count, .. } = *self;
        let Self { table, hashes, firsts, all, .. } = self;
        let (table, hashes, firsts) = (&mut table[..], &mut hashes[..], &mut firsts[..]);
        let (all, last) = (&mut all[..given.len()], table.len() - 1);
        // The place of the hash that is compared, and of the one that should equal it.
        let (mut at, mut next) = (start, usize::MAX);
        while at < end {
            if next < at {
                let same = same(&given[next..at], &given[at..end]);
                all.copy_within(next..next + same, at);
                at += same;
                if at == end {
                    break;
                }
            }
            let hash = given[at];
            // It has the next number, unless another is found: to take that for granted spares a branch that
            // is as good as random.
            hashes[count] = hash;
            firsts[count] = at as u32;
            // Hashes are uniform in their top bits, and the table is at most half full.
            let mut place = (hash >> shift) as usize & last;
            let number = loop {
                let found = table[place] as usize;
                let number = if found == 0 { count } else { found - 1 };
                if hashes[number] == hash {
                    table[place] = number as u32 + 1;
                    count += usize::from(found == 0);
                    break number;
                }
                place = (place + 1) & last;
            };
            all[at] = number as u32;
            at += 1;
            // One that is new is followed by nothing that is known.
            next = firsts[number] as usize + 1;
        }
        self.count = count;
    }
}

impl Default for FewSets {
    fn default() -> Self {
        let (level, numbers) = (Level::best(), Numbers::default());
        let (has, bits, counts) = (Vec::new(), Vec::new(), Vec::new());
        Self { level, numbers, has, stride: 0, bits, counts }
    }
}

impl FewSets {
    /// Replaces the sets by those whose hashes are given one after the other, each in any order and with any
    /// repeats; `ends` is where each ends. Less than 2^31 hashes in all.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn fill(&mut self, hashes: &[u64], ends: &[usize]) -> Result<(), Error> {
        let Self { numbers, has, bits, counts, .. } = self;
        numbers.fill(hashes, ends)?;
        let stride = numbers.count.div_ceil(BITS);
        bits.clear();
        memory::reserve(bits, stride * ends.len())?;
        // To set bits one by one is to wait for the word that was written just before.
        has.clear();
        memory::resize(has, stride * BITS, 0)?;
        let mut start = 0;
        for &end in ends {
            has.fill(0);
            numbers.all[start..end].iter().for_each(|number| has[*number as usize] = 1);
            bits.extend(has.as_chunks().0.iter().map(word));
            start = end;
        }
        self.stride = stride;
        counts.clear();
        memory::reserve(counts, ends.len())?;
        for document in 0..ends.len() {
            let count = self.common(document, document);
            self.counts.push(count);
        }
        Ok(())
    }

    fn of(&self, document: usize) -> &[u64] {
        &self.bits[document * self.stride..][..self.stride]
    }

    /// The number of shingles that two documents share.
    fn common(&self, a: usize, b: usize) -> u32 {
        let (a, b) = (self.of(a), self.of(b));
        self.level.compiled(
            #[inline(always)]
            || a.iter().zip(b).map(|(a, b)| (a & b).count_ones()).sum(),
        )
    }

    /// The Jaccard similarity of two documents, if it is at least `threshold`: bit for bit that of
    /// [`ShingleSet::jaccard`](crate::ShingleSet::jaccard).
    #[must_use]
    pub fn similarity(&self, a: usize, b: usize, threshold: f64) -> Option<f64> {
        let common = self.common(a, b);
        let united = self.counts[a] + self.counts[b] - common;
        let jaccard = f64::from(common) / f64::from(united);
        (united > 0 && jaccard >= threshold).then_some(jaccard)
    }
}

/// The number of hashes at the start of both.
#[inline(always)]
fn same(a: &[u64], b: &[u64]) -> usize {
    let (parts_a, parts_b) = (a.as_chunks::<TOGETHER>().0, b.as_chunks::<TOGETHER>().0);
    let is_same = |(a, b): &(&[u64; TOGETHER], &[u64; TOGETHER])| {
        a.iter().zip(*b).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
    };
    let whole = TOGETHER * parts_a.iter().zip(parts_b).take_while(is_same).count();
    let rest = a[whole..].iter().zip(&b[whole..]);
    whole + rest.take_while(|(a, b)| a == b).count()
}

/// The word whose bits are these bytes, each 0 or 1.
#[inline(always)]
fn word(bytes: &[u8; BITS]) -> u64 {
    /// Brings the lowest bits of eight bytes together in the uppermost byte, the first as the lowest.
    const TOGETHER: u64 = 0x0102_0408_1020_4080;
    let parts = (0..).step_by(8).zip(bytes.as_chunks().0);
    parts.fold(0, |word, (at, part)| {
        word | (u64::from_le_bytes(*part).wrapping_mul(TOGETHER) >> 56) << at
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::exact::tests::{hashes, similarity, thresholds};
    use crate::hash::mix::mix64;

    /// Asserts that the similarities of all pairs are those of sorted sets.
    fn assert_similarities(sets: &[Vec<u64>], threshold: f64) -> Result<(), TestCaseError> {
        let mut ends = Vec::new();
        for set in sets {
            ends.push(ends.last().copied().unwrap_or(0) + set.len());
        }
        let mut few = FewSets::default();
        // What was there before does not matter.
        few.fill(&[1, 2, 3, 1, 2], &[3, 5]).unwrap();
        few.fill(&sets.concat(), &ends).unwrap();
        for (a, left) in sets.iter().enumerate() {
            for (b, right) in sets.iter().enumerate() {
                let expected = similarity(left, right, threshold);
                prop_assert_eq!(few.similarity(a, b, threshold), expected);
            }
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn similarities_are_those_of_sorted_sets(
            sets in hashes(0..6, 200, 150),
            threshold in thresholds(),
        ) {
            assert_similarities(&sets, threshold)?;
        }

        #[test]
        fn so_are_those_of_copies_with_other_parts(
            all in hashes(1..2, 2000, 1500),
            // For each copy: the part that it has of the first one, and how much it has of its own where.
            copies in prop::collection::vec((0..1500_usize, 0..1500_usize, 0..1500_usize, 0..400_u64), 0..5),
            threshold in thresholds(),
        ) {
            let original = all[0].clone();
            let mut sets = vec![original.clone()];
            for (number, (start, len, at, own)) in (1..).zip(copies) {
                let start = start.min(original.len());
                let mut copy = original[start..(start + len).min(original.len())].to_vec();
                let at = at.min(copy.len());
                copy.splice(at..at, (0..own).map(|id| mix64(number * 10_000 + id)));
                sets.push(copy);
            }
            assert_similarities(&sets, threshold)?;
        }
    }
}
