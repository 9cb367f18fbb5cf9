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
use crate::pipeline::Crew;
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
    /// suffice is compared by merging sets. The same whoever is in the crew.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(sets: &'a [ShingleSet], memory: usize, crew: &mut Crew) -> Result<Self, Error> {
        let shared = Shared::of(sets, memory, crew)?;
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
    fn of(sets: &[ShingleSet], limit: usize, crew: &mut Crew) -> Result<Option<Self>, Error> {
        let numbered = match numbered(sets, limit / 2, crew)? {
            Some(numbered) => numbered,
            None => return Ok(None),
        };
        let words = numbered.len().div_ceil(BITS);
        if sets.len().saturating_mul(8 * words + 4) > limit / 2 {
            return Ok(None);
        }
        let mut bits = memory::filled(0_u64, sets.len() * words)?;
        let mut counts = memory::filled(0, sets.len())?;
        // Documents one after the other, each with the place of its bits.
        let mut rest = (sets, &mut bits[..], &mut counts[..]);
        let mut next = || {
            let (sets, bits, counts) = std::mem::take(&mut rest);
            if sets.is_empty() {
                return Ok(None);
            }
            let count = portion(sets);
            let ((sets, others), (bits, more)) =
                (sets.split_at(count), bits.split_at_mut(count * words));
            let (counts, others_counts) = counts.split_at_mut(count);
            rest = (others, more, others_counts);
            Ok(Some(((sets, bits, counts), 0)))
        };
        let number = |(sets, bits, counts): &mut (&[ShingleSet], &mut [u64], &mut [u32]),
                      check: &mut dyn FnMut()| {
            for (document, (set, count)) in sets.iter().zip(&mut **counts).enumerate() {
                check();
                let own = &mut bits[document * words..][..words];
                *count = 0;
                for number in common_places(&numbered, set.hashes()) {
                    own[number / BITS] |= 1 << (number % BITS);
                    *count += 1;
                }
            }
            Ok(())
        };
        crew.each(&mut next, &number, |cause| cause, &mut Ok)?;
        Ok(Some(Self { words, bits, counts }))
    }

    fn of_document(&self, document: usize) -> &[u64] {
        &self.bits[document * self.words..][..self.words]
    }
}

/// The number of sets that are numbered at a time: one at least.
fn portion(sets: &[ShingleSet]) -> usize {
    const HASHES: usize = 1 << 16;
    let mut hashes = 0;
    let within = sets.iter().take_while(|set| {
        let before = hashes;
        hashes += set.len();
        before < HASHES
    });
    within.count()
}

/// The hashes that at least two sets have, ascending: a shingle's number is its place. In parts
/// of the range of hashes, so that it takes no more than about `limit` bytes; `None` if the
/// result alone takes more.
fn numbered(sets: &[ShingleSet], limit: usize, crew: &mut Crew) -> Result<Option<Vec<u64>>, Error> {
    let bytes = sets.iter().map(ShingleSet::len).sum::<usize>() * size_of::<u64>();
    // Half of the memory for the hashes of the parts at hand, half for what comes of them.
    let least = bytes.saturating_mul(crew.size()).div_ceil((limit / 2).max(1));
    // Where several share them, some for each.
    let most = if crew.size() > 1 { (bytes / PART).min(4 * crew.size()) } else { 1 };
    let parts = least.max(most).clamp(1, 1 << 16) as u64;
    let width = (u64::MAX / parts).saturating_add(1);
    let mut part = 0;
    let mut next = || {
        part += 1;
        Ok((part <= parts).then_some((part - 1, 0)))
    };
    let gather = |part: &mut u64, check: &mut dyn FnMut()| {
        let mut gathered: Vec<u64> = Vec::new();
        let (first, last) = (*part * width, (*part * width).saturating_add(width - 1));
        for set in sets {
            check();
            let hashes = if parts == 1 { set.hashes() } else { within(set.hashes(), first, last) };
            memory::extend(&mut gathered, hashes)?;
        }
        sort(&mut gathered, check);
        keep_repeated(&mut gathered);
        memory::copied(&gathered)
    };
    let mut shared: Vec<u64> = Vec::new();
    let numbered = crew.each(&mut next, &gather, Refused::Failed, &mut |found| {
        memory::extend(&mut shared, &found).map_err(Refused::Failed)?;
        if shared.len() * size_of::<u64>() > limit / 2 { Err(Refused::TooMany) } else { Ok(()) }
    });
    match numbered {
        Ok(()) => Ok(Some(shared)),
        Err(Refused::TooMany) => Ok(None),
        Err(Refused::Failed(cause)) => Err(cause),
    }
}

/// Bytes of hashes that are worth a part of their own.
const PART: usize = 512 << 10;

/// The reason why the shingles of a group are not numbered.
enum Refused {
    TooMany,
    Failed(Error),
}

/// Keeps one of each run of two or more, in place.
fn keep_repeated(sorted: &mut Vec<u64>) {
    let (mut kept, mut start) = (0, 0);
    while start < sorted.len() {
        let hash = sorted[start];
        let run = sorted[start..].iter().take_while(|other| **other == hash).count();
        if run > 1 {
            sorted[kept] = hash;
            kept += 1;
        }
        start += run;
    }
    sorted.truncate(kept);
}

/// The hashes of a set from `first` to `last`.
fn within(hashes: &[u64], first: u64, last: u64) -> &[u64] {
    let start = hashes.partition_point(|hash| *hash < first);
    let count = hashes[start..].partition_point(|hash| *hash <= last);
    &hashes[start..start + count]
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
    use crate::pipeline::Setting;

    const SETTING: Setting = Setting {
        around_spawn: |spawn| spawn(),
        at_start: || (),
        check_interrupts: || (),
        memory: 1 << 20,
    };

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
            let group = ExactGroup::new(&sets, memory, &mut Crew::Alone(&mut || ())).unwrap();
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
    fn a_group_is_the_same_whoever_numbers_it() {
        // So many hashes that there are several parts, and some documents that share nothing.
        let set = |document: u64| {
            let own = (0..1000 * (document % 7)).map(|i| mix64(document << 32 | i));
            let of_some = (0..9000).map(|i| mix64((document / 5) << 48 | i));
            ShingleSet::from_hashes(of_some.chain(own).collect(), &mut || ())
        };
        let sets: Vec<ShingleSet> = (0..43).map(set).collect();
        for memory in [usize::MAX, 4 << 20, 1 << 20] {
            let alone = ExactGroup::new(&sets, memory, &mut Crew::Alone(&mut || ())).unwrap();
            for threads in [0, 1, 2, 4] {
                let group = ExactGroup::new(&sets, memory, &mut Crew::With(SETTING, threads));
                let group = group.unwrap();
                assert_eq!(group.is_numbered(), alone.is_numbered());
                if let (Some(group), Some(alone)) = (&group.shared, &alone.shared) {
                    assert_eq!((&group.bits, &group.counts), (&alone.bits, &alone.counts));
                }
            }
        }
        let most = ExactGroup::new(&sets, usize::MAX, &mut Crew::With(SETTING, 3)).unwrap();
        assert!(most.is_numbered());
    }

    #[test]
    fn memory_stays_within_its_limit() {
        // A template of 5000 shingles, and 500 of each document's own.
        let set = |document: u64| {
            let own = (0..500).map(|i| mix64(1 << 40 | document << 20 | i));
            ShingleSet::from_hashes((0..5000).map(mix64).chain(own).collect(), &mut || ())
        };
        let sets: Vec<ShingleSet> = (0..40).map(set).collect();
        let group = ExactGroup::new(&sets, 1 << 20, &mut Crew::Alone(&mut || ())).unwrap();
        let shared = group.shared.as_ref().expect("a megabyte is enough");
        // Only what two documents have is numbered.
        assert_eq!(shared.words, 5000_usize.div_ceil(BITS));
        assert_eq!(group.similarity(3, 7, 0.8), Some(5000.0 / 6000.0));
        assert!(
            !ExactGroup::new(&sets, 10_000, &mut Crew::Alone(&mut || ())).unwrap().is_numbered()
        );
    }
}
