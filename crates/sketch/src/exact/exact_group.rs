//! Exact similarities within a group of documents, each pair a popcount.
//!
//! Near-duplicates are compared in groups: those that share a bucket. Most of what two of them
//! share is shared by many of the group, such as the template of a page. So the shingles that at
//! least two documents of a group have are numbered, and each document becomes a bit set of them:
//! two of them have in common what both bit sets have, and nothing else. A pair of pages with
//! 8,000 shingles is then some hundred words to look at, instead of 16,000 hashes to merge.

use super::shingle_set::ShingleSet;
use crate::error::Error;
use crate::hash::sort;
use crate::memory;
use crate::simd::Level;

/// Bits of a word.
const BITS: usize = u64::BITS as usize;

/// Documents whose pairs are to be compared exactly.
pub struct ExactGroup<'a> {
    sets: &'a [ShingleSet],
    level: Level,
    /// `None` if they take more memory than allowed: then pairs are merged.
    shared: Option<Shared>,
}

/// The numbered shingles of each document.
struct Shared {
    /// Words of a document.
    words: usize,
    bits: Vec<u64>,
    /// The number of set bits of each document.
    counts: Vec<u32>,
}

impl<'a> ExactGroup<'a> {
    /// Numbers the shingles of a group, in at most `memory` bytes; a group for which they do not
    /// suffice is compared by merging sets. `check_interrupts` is called regularly.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(
        sets: &'a [ShingleSet],
        memory: usize,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Self, Error> {
        let shared = Shared::of(sets, memory, check_interrupts)?;
        Ok(Self { sets, level: Level::best(), shared })
    }

    /// True if pairs are compared by their bits, not by merging sets.
    #[must_use]
    pub fn is_numbered(&self) -> bool {
        self.shared.is_some()
    }

    /// The Jaccard similarity of two documents, if it is at least `threshold`: bit for bit that
    /// of [`ShingleSet::jaccard`].
    #[must_use]
    pub fn similarity(&self, a: usize, b: usize, threshold: f64) -> Option<f64> {
        let (left, right) = (&self.sets[a], &self.sets[b]);
        let total = left.len() + right.len();
        let jaccard = |common: usize| common as f64 / (total - common) as f64;
        let reaches = |common| total > common && jaccard(common) >= threshold;
        let least = left.len().min(right.len());
        if !reaches(least) {
            return None;
        }
        let Some(shared) = &self.shared else { return left.jaccard_at_least(right, threshold) };
        // A set equals itself also in what nobody else has.
        if a == b {
            return Some(jaccard(least));
        }
        if !reaches(shared.counts[a].min(shared.counts[b]) as usize) {
            return None;
        }
        let common = self.level.compiled(
            #[inline(always)]
            || common_bits(shared.of_document(a), shared.of_document(b)),
        );
        reaches(common).then(|| jaccard(common))
    }
}

#[inline(always)]
fn common_bits(a: &[u64], b: &[u64]) -> usize {
    a.iter().zip(b).map(|(a, b)| u64::from((a & b).count_ones())).sum::<u64>() as usize
}

impl Shared {
    fn of(
        sets: &[ShingleSet],
        limit: usize,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Option<Self>, Error> {
        let numbered = match numbered(sets, limit / 2, check_interrupts)? {
            Some(numbered) => numbered,
            None => return Ok(None),
        };
        let words = numbered.len().div_ceil(BITS);
        if sets.len().saturating_mul(8 * words + 4) > limit / 2 {
            return Ok(None);
        }
        let mut bits = memory::filled(0_u64, sets.len() * words)?;
        let mut counts = memory::with_capacity(sets.len())?;
        for (document, set) in sets.iter().enumerate() {
            check_interrupts();
            let own = &mut bits[document * words..][..words];
            let mut count = 0;
            for number in common_places(&numbered, set.hashes()) {
                own[number / BITS] |= 1 << (number % BITS);
                count += 1;
            }
            counts.push(count);
        }
        Ok(Some(Self { words, bits, counts }))
    }

    fn of_document(&self, document: usize) -> &[u64] {
        &self.bits[document * self.words..][..self.words]
    }
}

/// The hashes that at least two sets have, ascending: a shingle's number is its place. In parts
/// of the range of hashes, so that it takes no more than about `limit` bytes; `None` if the
/// result alone takes more.
fn numbered(
    sets: &[ShingleSet],
    limit: usize,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Option<Vec<u64>>, Error> {
    let total: usize = sets.iter().map(ShingleSet::len).sum();
    // Half of the memory for the hashes of a part, half for what comes of them.
    let parts = (total * size_of::<u64>()).div_ceil((limit / 2).max(1)).clamp(1, 1 << 16) as u64;
    let width = (u64::MAX / parts).saturating_add(1);
    let mut shared: Vec<u64> = Vec::new();
    let mut gathered: Vec<u64> = Vec::new();
    for part in 0..parts {
        gathered.clear();
        for set in sets {
            check_interrupts();
            memory::extend(&mut gathered, within(set.hashes(), part, parts, width))?;
        }
        sort(&mut gathered, check_interrupts);
        for run in gathered.chunk_by(|a, b| a == b) {
            if run.len() > 1 {
                memory::push(&mut shared, run[0])?;
            }
        }
        if shared.len() * size_of::<u64>() > limit / 2 {
            return Ok(None);
        }
    }
    Ok(Some(shared))
}

/// The hashes of a set in a part of their range.
fn within(hashes: &[u64], part: u64, parts: u64, width: u64) -> &[u64] {
    if parts == 1 {
        return hashes;
    }
    let start = hashes.partition_point(|hash| hash / width < part);
    let end = hashes.partition_point(|hash| hash / width <= part);
    &hashes[start..end]
}

/// The places in `numbered` of those of `hashes` that are there; both ascend.
fn common_places(numbered: &[u64], hashes: &[u64]) -> impl Iterator<Item = usize> {
    let (mut i, mut j) = (0, 0);
    std::iter::from_fn(move || {
        while let (Some(a), Some(b)) = (numbered.get(i), hashes.get(j)) {
            let (found, place) = (a == b, i);
            i += usize::from(a <= b);
            j += usize::from(b <= a);
            if found {
                return Some(place);
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hash::mix::mix64;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn similarities_are_those_of_the_sets_whatever_memory(
            sets in prop::collection::vec(prop::collection::vec(0_u64..300, 0..250), 0..12),
            threshold in prop_oneof![0.01_f64..=1.0, Just(0.5), Just(1.0)],
            memory in prop_oneof![Just(usize::MAX), 0..100_000_usize, 0..3000_usize],
        ) {
            let set = |ids: &Vec<u64>| {
                ShingleSet::from_hashes(ids.iter().map(|id| mix64(*id)).collect(), &mut || ())
            };
            let sets: Vec<ShingleSet> = sets.iter().map(set).collect();
            let group = ExactGroup::new(&sets, memory, &mut || ()).unwrap();
            prop_assert!(memory < usize::MAX || group.is_numbered());
            for (a, left) in sets.iter().enumerate() {
                for (b, right) in sets.iter().enumerate() {
                    let exact = left.jaccard(right).filter(|jaccard| *jaccard >= threshold);
                    prop_assert_eq!(group.similarity(a, b, threshold), exact);
                }
            }
        }
    }

    #[test]
    fn memory_stays_within_its_limit() {
        // A template of 5000 shingles, and 500 of each document's own.
        let set = |document: u64| {
            let own = (0..500).map(|i| mix64(1 << 40 | document << 20 | i));
            ShingleSet::from_hashes((0..5000).map(mix64).chain(own).collect(), &mut || ())
        };
        let sets: Vec<ShingleSet> = (0..40).map(set).collect();
        let group = ExactGroup::new(&sets, 1 << 20, &mut || ()).unwrap();
        let shared = group.shared.as_ref().expect("a megabyte is enough");
        // Only what two documents have is numbered.
        assert_eq!(shared.words, 5000_usize.div_ceil(BITS));
        assert_eq!(group.similarity(3, 7, 0.8), Some(5000.0 / 6000.0));
        assert!(!ExactGroup::new(&sets, 10_000, &mut || ()).unwrap().is_numbered());
    }
}
