//! The sets of a sample, for comparison with many other sets.

use std::ops::Range;

use super::directory::Directory;
use crate::hash::mix::fmix64;
use crate::hash::sort_by_key;
use crate::{Check, Result, memory};

/// Cost of a binary search, in steps through a list.
const SEARCH: usize = 8;

/// Number of levels of sampling. Each level keeps half of the hashes of the level below; level 0 keeps all.
const LEVELS: usize = 32;

/// The sets of a sample of documents. A pass over the hashes of another set finds its Jaccard similarity to each of
/// them, however low.
///
/// A set of up to [`MOST`](Self::MOST) hashes is kept completely. Of a larger set a part is kept, selected by the
/// hashes, so two sets are compared by the hashes that the coarser level of the two keeps. The similarity is exact if
/// both sets are small, and an unbiased estimate otherwise.
///
/// ```
/// use minlsh_sketch::{SampledSets, SimilarMember};
///
/// let mut sample = SampledSets::default();
/// sample.add(&[1, 2, 3, 4], &mut || ())?;
/// sample.add(&[7, 8, 9], &mut || ())?;
/// sample.finish()?;
/// let found = sample.compare(&[2, 3, 4, 4, 5], 0.1, 0.0, &mut || ())?;
/// assert_eq!(found, [SimilarMember { member: 0, similarity: 3.0 / 5.0, is_exact: true }]);
/// # Ok::<(), minlsh_sketch::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct SampledSets {
    /// The kept hashes with their sets, until all sets are added.
    postings: Vec<(u64, u32)>,
    /// The different hashes, ascending, each with the end of its sets in `holders`.
    hashes: Vec<(u64, u32)>,
    /// The numbers of the sets with a hash, ascending; for each hash in turn.
    holders: Vec<u32>,
    directory: Directory,
    sets: Vec<Outline>,
    /// The highest level of a set.
    top: usize,
    /// Scratch buffers: the kept hashes of the compared set, and their ranges in `holders`.
    kept: Vec<u64>,
    ranges: Vec<Range<u32>>,
    /// Scratch buffers: the number of hashes shared with each set of the sample, the sets that share one, the result.
    common: Vec<u32>,
    sharing: Vec<u32>,
    found: Vec<SimilarMember>,
}

/// A set of the sample that is similar to another set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimilarMember {
    /// Number of the set, in the order of addition.
    pub member: usize,
    /// Their Jaccard similarity.
    pub similarity: f64,
    /// False if it is an estimate.
    pub is_exact: bool,
}

/// The level of a set, with the number of its kept hashes at each level; zero below its own.
#[derive(Clone, Debug, Default)]
struct Outline {
    level: usize,
    sizes: [u32; LEVELS],
}

impl SampledSets {
    /// Number of hashes up to which a set is kept completely. At most about twice as many are kept of a larger set.
    pub const MOST: usize = 128;
    /// Approximate bytes of a set for each kept hash.
    pub const BYTES: usize = 32;
    /// Maximum error of an estimate: three standard errors.
    pub const ERROR: f64 = 0.15;

    /// Adds a set by its hashes, in any order and with any repeats.
    pub fn add(&mut self, hashes: &[u64], check: Check) -> Result<()> {
        let member = self.sets.len() as u32;
        let outline = Outline::of(hashes, &mut self.kept, check)?;
        memory::reserve(&mut self.postings, self.kept.len())?;
        self.postings.extend(self.kept.iter().map(|hash| (*hash, member)));
        self.top = self.top.max(outline.level);
        memory::push(&mut self.sets, outline)
    }

    /// Prepares the comparisons, after all sets were added.
    pub fn finish(&mut self) -> Result<()> {
        let mut postings = std::mem::take(&mut self.postings);
        postings.sort_unstable();
        self.holders = memory::collect(postings.iter().map(|(_, member)| *member))?;
        for same in postings.chunk_by(|a, b| a.0 == b.0) {
            let before = self.hashes.last().map_or(0, |(_, end)| *end);
            memory::push(&mut self.hashes, (same[0].0, before + same.len() as u32))?;
        }
        self.directory = Directory::of(self.hashes.iter().map(|(hash, _)| *hash))?;
        self.common = memory::filled(0, self.sets.len())?;
        Ok(())
    }

    /// Lists the sets of the sample that share a kept hash with a set of `hashes` and have a similarity of at least
    /// `least`, in any order. Estimates may be lower by `slack`.
    pub fn compare(&mut self, hashes: &[u64], least: f64, slack: f64, check: Check) -> Result<&[SimilarMember]> {
        let outline = Outline::of(hashes, &mut self.kept, check)?;
        self.look_up()?;
        let least = [least, least - slack].map(|least| least.max(0.0) * (1.0 - f64::from(f32::EPSILON)));
        let Self { sets, top, holders, ranges, common, sharing, found, .. } = self;
        found.clear();
        sharing.clear();
        let lowest = least[usize::from(outline.level.max(*top) > 0)];
        let needed = outline.least_common(lowest, *top);
        // A similar set has one of the rare hashes: there are fewer frequent ones than it shares.
        let rare = (ranges.len() + 1).saturating_sub(needed);
        let holders_of = |range: &Range<u32>| &holders[range.start as usize..range.end as usize];
        for member in ranges[..rare].iter().flat_map(holders_of) {
            let common = &mut common[*member as usize];
            if *common == 0 {
                memory::push(sharing, *member)?;
            }
            *common += 1;
        }
        for (place, range) in ranges.iter().enumerate().skip(rare) {
            let left = ranges.len() - place;
            sharing.retain(|member| {
                let common = &mut common[*member as usize];
                let may_suffice = *common as usize + left >= needed;
                *common *= u32::from(may_suffice);
                may_suffice
            });
            let frequent = holders_of(range);
            if sharing.len() * SEARCH < frequent.len() {
                let shares = |member: &&u32| frequent.binary_search(member).is_ok();
                sharing.iter().filter(shares).for_each(|member| common[*member as usize] += 1);
            } else {
                for member in frequent {
                    let common = &mut common[*member as usize];
                    *common += u32::from(*common > 0);
                }
            }
        }
        for member in sharing.iter().map(|member| *member as usize) {
            let (common, set) = (std::mem::take(&mut common[member]), &sets[member]);
            let level = outline.level.max(set.level);
            let united = outline.sizes[level] + set.sizes[level] - common;
            let is_exact = level == 0;
            // A / B >= least, without a division for each of many dissimilar sets.
            if f64::from(common) >= least[usize::from(!is_exact)] * f64::from(united) {
                let similarity = f64::from(common) / f64::from(united);
                memory::push(found, SimilarMember { member, similarity, is_exact })?;
            }
        }
        Ok(found)
    }

    /// Writes the ranges of the kept hashes that sets of the sample have, the rare ones first.
    fn look_up(&mut self) -> Result<()> {
        self.ranges.clear();
        for hash in &self.kept {
            let near = self.directory.range(*hash);
            let place = near.start + self.hashes[near].iter().take_while(|(of, _)| of < hash).count();
            if let Some((of, end)) = self.hashes.get(place)
                && of == hash
            {
                let start = place.checked_sub(1).map_or(0, |before| self.hashes[before].1);
                memory::push(&mut self.ranges, start..*end)?;
            }
        }
        self.ranges.sort_unstable_by_key(|range| (range.len(), range.start));
        Ok(())
    }
}

impl Outline {
    /// Minimum number of kept hashes shared with a set of a level up to `top` whose similarity is at least `least`.
    fn least_common(&self, least: f64, top: usize) -> usize {
        // A set of a higher level keeps at least half of `MOST` hashes, so it is dissimilar to a set with few.
        let few = least * (SampledSets::MOST / 2) as f64;
        let sizes = self.sizes[self.level..=top.max(self.level)].iter().map(|size| f64::from(*size));
        let size = sizes.clone().take_while(|size| *size >= few).last().or(sizes.clone().next());
        (least * size.unwrap_or(0.0)).ceil().max(1.0) as usize
    }

    /// Writes the kept hashes of a set to `kept`, mixed and ascending.
    fn of(hashes: &[u64], kept: &mut Vec<u64>, check: Check) -> Result<Self> {
        let mut level = 0;
        while hashes.len() >> level > SampledSets::MOST && level < LEVELS - 1 {
            level += 1;
        }
        loop {
            check();
            kept.clear();
            for hash in hashes.iter().map(|hash| fmix64(*hash)) {
                if hash.trailing_zeros() as usize >= level {
                    memory::push(kept, hash)?;
                }
            }
            sort_by_key(kept, check);
            kept.dedup();
            // A text with many repeats has fewer hashes than shingles.
            if level == 0 || kept.len() >= SampledSets::MOST / 2 {
                break;
            }
            level -= 1;
        }
        let mut sizes = [0; LEVELS];
        for hash in kept.iter() {
            sizes[(hash.trailing_zeros() as usize).min(LEVELS - 1)] += 1;
        }
        for level in (0..LEVELS - 1).rev() {
            sizes[level] += sizes[level + 1];
        }
        Ok(Self { level, sizes })
    }
}
