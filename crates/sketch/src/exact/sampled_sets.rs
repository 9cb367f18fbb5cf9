//! The sets of a sample, for comparison with many other sets.

use super::directory::Directory;
use crate::hash::mix::fmix64;
use crate::hash::sort_by_key;
use crate::{Check, Result, memory};

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
/// use sketch::{SampledSets, SimilarMember};
///
/// let mut sample = SampledSets::default();
/// sample.add(&[1, 2, 3, 4], &mut || ())?;
/// sample.add(&[7, 8, 9], &mut || ())?;
/// sample.finish()?;
/// let found = sample.compare(&[2, 3, 4, 4, 5], 0.1, &mut || ())?;
/// assert_eq!(found, [SimilarMember { member: 0, similarity: 3.0 / 5.0, is_exact: true }]);
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct SampledSets {
    /// The kept hashes with their sets, ascending.
    postings: Vec<(u64, u32)>,
    directory: Directory,
    sets: Vec<Outline>,
    /// Scratch buffers: the kept hashes of the compared set, the number shared with each set of the sample, and the
    /// result.
    kept: Vec<u64>,
    common: Vec<u32>,
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
    pub const BYTES: usize = 24;

    /// Adds a set by its hashes, in any order and with any repeats.
    pub fn add(&mut self, hashes: &[u64], check: Check) -> Result<()> {
        let member = self.sets.len() as u32;
        let outline = Outline::of(hashes, &mut self.kept, check)?;
        memory::reserve(&mut self.postings, self.kept.len())?;
        self.postings.extend(self.kept.iter().map(|hash| (*hash, member)));
        memory::push(&mut self.sets, outline)
    }

    /// Prepares the comparisons, after all sets were added.
    pub fn finish(&mut self) -> Result<()> {
        self.postings.sort_unstable();
        self.directory = Directory::of(self.postings.iter().map(|(hash, _)| *hash))?;
        self.common = memory::filled(0, self.sets.len())?;
        Ok(())
    }

    /// Lists the sets of the sample that share a kept hash with a set of `hashes` and have a similarity of at least
    /// `least`, in the order of their numbers.
    pub fn compare(&mut self, hashes: &[u64], least: f64, check: Check) -> Result<&[SimilarMember]> {
        let Self { postings, directory, sets, kept, common, found } = self;
        let outline = Outline::of(hashes, kept, check)?;
        found.clear();
        common.fill(0);
        for hash in kept.iter() {
            let from = postings[directory.range(*hash)].iter().skip_while(|(of, _)| of < hash);
            for (_, member) in from.take_while(|(of, _)| of == hash) {
                common[*member as usize] += 1;
            }
        }
        // A / B >= least, without a division for each of many dissimilar sets.
        let least = least as f32 * (1.0 - f32::EPSILON);
        for (member, (common, set)) in common.iter().zip(sets.iter()).enumerate() {
            let level = outline.level.max(set.level);
            let united = outline.sizes[level] + set.sizes[level] - common;
            if *common == 0 || (*common as f32) < least * united as f32 {
                continue;
            }
            let similarity = f64::from(*common) / f64::from(united);
            memory::push(found, SimilarMember { member, similarity, is_exact: level == 0 })?;
        }
        Ok(found)
    }
}

impl Outline {
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
