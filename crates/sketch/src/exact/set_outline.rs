//! Outlines of sets: a few words that show that two sets cannot be similar.
//!
//! If the sets of a group do not fit into memory, comparing two means fetching both, and most pairs turn out to be
//! dissimilar. So an outline keeps the number of elements of a set, and a bit for some of its hashes. Each bit that A
//! has and B lacks represents at least one element that B does not have. This gives an upper bound on the number of
//! shared elements.
//!
//! A large set has a wide outline. Widths are powers of two, and the low bits of a hash select its bit. So a wide
//! outline is compared with a narrow one by folding it.

use crate::hash::count_distinct;
use crate::scheme::Scheme;
use crate::shingle::each_chunk;
use crate::simd::Level;
use crate::{Check, Config, Error, Result, memory};

const BITS: usize = u64::BITS as usize;

/// Maximum number of bits for an element that are worth their memory.
const MOST_BITS: usize = 4;

/// Words between two checks of the bound.
const STRIDE: usize = 64;

/// A number of distinct shingles that `text` has at least, for which it is hashed once and nothing is sorted. Of a text
/// without repeats it is seven eighths of them or more. It takes at most a byte of memory for each byte of `text`.
pub fn fewest_shingles(config: &Config, text: &str, check: Check) -> Result<usize> {
    // Few texts have more shingles than bytes: at least four bits for each of them.
    let words = (4 * text.len()).div_ceil(BITS).next_power_of_two();
    Ok(SetOutline::of_text(config, text, words, check)?.least as usize)
}

/// Sets a bit of `words`, a power of two of them, for each hash. Hashes are uniform, and so are their places.
fn set_bits(words: &mut [u64], hashes: &[u64]) {
    let mask = BITS * words.len() - 1;
    for &hash in hashes {
        let bit = hash as usize & mask;
        words[bit / BITS] |= 1 << (bit % BITS);
    }
}

fn count_bits(words: &[u64]) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}

/// The outline of a set.
///
/// ```
/// use minlsh_sketch::corpus::SetOutline;
///
/// // Hashes of two sets of 500 elements that share 200.
/// let hashes = |ids: std::ops::Range<u64>| -> Vec<u64> {
///     ids.map(|id| (id + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
/// };
/// let a = SetOutline::of(&mut hashes(0..500), 32, &mut || ())?;
/// let b = SetOutline::of(&mut hashes(300..800), 32, &mut || ())?;
/// // Their similarity is 0.25. That it does not reach 0.8 is seen without a look at the sets.
/// assert!(a.may_reach(&b, 0.25) && !a.may_reach(&b, 0.8));
/// # Ok::<(), minlsh_sketch::Error>(())
/// ```
#[derive(Debug)]
pub struct SetOutline {
    words: Vec<u64>,
    /// The number of elements is between these.
    pub(super) least: u32,
    most: u32,
}

impl SetOutline {
    /// Numbers of words for outlines of sets with about this many elements each, in about `memory` bytes for all.
    pub fn widths(elements: &[usize], memory: usize) -> Result<Vec<usize>> {
        let words = |bits: usize| {
            // With `bits` bits for 64 elements.
            elements.iter().map(move |elements| {
                let words = elements.saturating_mul(bits) / BITS / BITS;
                if words < 2 { 1 } else { words.next_power_of_two() / 2 }
            })
        };
        let memory = memory.saturating_sub(size_of::<Self>() * elements.len());
        let mut bits = MOST_BITS * BITS;
        while bits > 1 && words(bits).sum::<usize>() * size_of::<u64>() > memory {
            bits -= bits.div_ceil(4);
        }
        memory::collect(words(bits))
    }

    /// Makes the outline of a set with fewer than 2^32 elements, by their hashes in any order and with any repeats;
    /// their order may change. `words` is a power of two.
    pub fn of(hashes: &mut [u64], words: usize, check: Check) -> Result<Self> {
        let elements = count_distinct(hashes, check)? as u32;
        Ok(Self { least: elements, most: elements, ..Self::about(hashes, words)? })
    }

    /// Makes an outline in a fifth of the time, without counting the elements. Outlines of sets with many repeats
    /// exclude fewer pairs then.
    pub fn about(hashes: &[u64], words: usize) -> Result<Self> {
        let mut words = memory::filled(0, words)?;
        set_bits(&mut words, hashes);
        // Each bit stands for an element at least.
        Ok(Self { least: count_bits(&words) as u32, most: hashes.len() as u32, words })
    }

    /// Like [`Self::about`], of the shingles of a text, in no memory for their hashes.
    pub(crate) fn of_text(config: &Config, text: &str, words: usize, check: Check) -> Result<Self> {
        let (mut words, mut most) = (memory::filled(0, words)?, 0);
        each_chunk(&config.with_scheme(Scheme::Fss), text, check, &mut |hashes| {
            set_bits(&mut words, hashes);
            most += hashes.len();
            Ok::<_, Error>(())
        })?;
        Ok(Self { least: count_bits(&words) as u32, most: u32::try_from(most).unwrap_or(u32::MAX), words })
    }

    /// True if the Jaccard similarity of two sets may be `threshold` or more, according to their outlines.
    pub fn may_reach(&self, other: &Self, threshold: f64) -> bool {
        let (wide, narrow) = if self.words.len() < other.words.len() { (other, self) } else { (self, other) };
        Level::best().compiled(
            #[inline(always)]
            || wide.may_reach_narrow(narrow, threshold),
        )
    }

    #[inline(always)]
    fn may_reach_narrow(&self, narrow: &Self, threshold: f64) -> bool {
        // Bits that only one of the two has.
        let (mut own, mut others) = (0, 0);
        for start in (0..narrow.words.len()).step_by(STRIDE) {
            if !self.allows(narrow, [own, others], threshold) {
                return false;
            }
            let end = narrow.words.len().min(start + STRIDE);
            let mut laid = [0; STRIDE];
            let narrow_words = &narrow.words[start..end];
            for part in self.words.chunks_exact(narrow.words.len()) {
                for ((x, y), laid) in part[start..end].iter().zip(narrow_words).zip(&mut laid) {
                    own += u64::from((x & !y).count_ones());
                    *laid |= x;
                }
            }
            for (laid, y) in laid.iter().zip(narrow_words) {
                others += u64::from((y & !laid).count_ones());
            }
        }
        self.allows(narrow, [own, others], threshold)
    }

    /// True if the similarity may reach the threshold, if at least `own` and `others` elements are in only one of the
    /// sets.
    #[inline(always)]
    fn allows(&self, other: &Self, [own, others]: [u64; 2], threshold: f64) -> bool {
        let common = u64::from(self.most).saturating_sub(own).min(u64::from(other.most).saturating_sub(others));
        let total = u64::from(self.least) + u64::from(other.least);
        let united = total.saturating_sub(common).max(common + own + others);
        // Rounded like the similarity itself.
        common as f64 / united as f64 >= threshold
    }
}
