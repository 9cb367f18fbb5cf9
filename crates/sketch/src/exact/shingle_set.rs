//! Exact similarity of sets of shingles, which signatures estimate.

use super::overlap::Overlap;
use crate::hash::mix::{GOLDEN, mix64};
use crate::hash::sort_by_key;
use crate::scheme::Scheme;
use crate::shingle::shingle_hashes;
use crate::{Check, Config, Result};

/// The distinct shingles of a text, as 64-bit hashes in ascending order.
///
/// Two of n distinct shingles share a hash with probability n^2 / 2^65: for a million shingles, once in 37 million
/// texts.
///
/// ```
/// use minlsh_sketch::{Config, ShingleSet};
///
/// let set = |text| ShingleSet::from_text(&Config::default(), text, &mut || ());
/// let (a, b) = (set("abcdefgh")?, set("abcdefghi")?);
/// assert_eq!(a.jaccard(&b), Some(4.0 / 5.0));
/// assert_eq!(a.overlap(&b, &mut || ()).containment(), Some(1.0));
/// # Ok::<(), minlsh_sketch::Error>(())
/// ```
#[derive(Debug, Default, Eq, PartialEq)]
pub struct ShingleSet(Vec<u64>);

impl ShingleSet {
    /// The shingles of a text; see [`shingle_hashes`]. Their hashes have 64 bits even if the scheme of `config` hashes
    /// to 32.
    pub fn from_text(config: &Config, text: &str, check: Check) -> Result<Self> {
        let mut hashes = Vec::new();
        shingle_hashes(&config.with_scheme(Scheme::Fss), text, &mut hashes, check)?;
        Ok(Self::from_hashes(hashes, check))
    }

    /// The set of the given hashes, in any order and with any repeats. They are sorted in place.
    pub fn from_hashes(mut hashes: Vec<u64>, check: Check) -> Self {
        sort_by_key(&mut hashes, check);
        hashes.dedup();
        Self(hashes)
    }

    /// Number of distinct shingles.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if it has no shingles.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The hashes, ascending.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.0.iter().copied()
    }

    /// The hashes, ascending.
    pub fn into_hashes(self) -> Vec<u64> {
        self.0
    }

    /// A hash of the set: equal for equal sets, and almost never for others.
    pub fn hash(&self) -> u64 {
        self.0.iter().fold(0, |sum, hash| add_to_hash(sum, *hash))
    }

    /// True if the set has the shingle with this hash.
    pub fn contains(&self, hash: u64) -> bool {
        self.0.binary_search(&hash).is_ok()
    }

    /// The Jaccard similarity |A ∩ B| / |A ∪ B|; `None` if both are empty.
    ///
    /// # Complexity
    ///
    /// Linear in the elements of both.
    pub fn jaccard(&self, other: &Self) -> Option<f64> {
        self.overlap(other, &mut || ()).jaccard()
    }

    /// The Jaccard similarity if it is at least `threshold`. It stops as soon as the sets differ in too many shingles,
    /// which for most pairs is after a few.
    pub fn jaccard_at_least(&self, other: &Self, threshold: f64) -> Option<f64> {
        /// Steps between two checks of the difference.
        const STRIDE: usize = 64;
        let (lesser, greater) = (self.len().min(other.len()), self.len().max(other.len()));
        // An upper bound on the similarity of sets with these sizes.
        if (lesser as f64 / greater as f64) < threshold {
            return None;
        }
        let total = lesser + greater;
        // |A ∪ B| - |A ∩ B| = total (1 - J) / (1 + J); one more is harmless, while rounding may not be.
        let tolerated = (total as f64 * (1.0 - threshold) / (1.0 + threshold)) as usize + 1;
        let (mut i, mut j, mut common) = (0, 0, 0);
        while i < self.len() && j < other.len() {
            for _ in 0..STRIDE {
                let (Some(a), Some(b)) = (self.0.get(i), other.0.get(j)) else { break };
                common += usize::from(a == b);
                i += usize::from(a <= b);
                j += usize::from(b <= a);
            }
            if i + j - 2 * common > tolerated {
                return None;
            }
        }
        let united = total - common;
        let jaccard = common as f64 / united as f64;
        (united > 0 && jaccard >= threshold).then_some(jaccard)
    }

    /// Counts the shingles of both sets and the shared ones. `check` is called often.
    pub fn overlap(&self, other: &Self, check: Check) -> Overlap {
        /// Shingles of the first set between two calls of `check`.
        const RUN: usize = 1 << 16;
        let (mut shared, mut rest) = (0, &other.0[..]);
        for part in self.0.chunks(RUN) {
            check();
            let last = part[part.len() - 1];
            let (here, behind) = rest.split_at(rest.partition_point(|hash| *hash <= last));
            shared += common(part, here);
            rest = behind;
        }
        Overlap { a: self.len(), b: other.len(), shared }
    }
}

/// The hash of a set with one more element, which does not depend on the order of elements.
#[inline(always)]
pub(super) fn add_to_hash(set: u64, element: u64) -> u64 {
    set.wrapping_add(mix64(element ^ GOLDEN))
}

/// Number of values that two ascending lists share.
fn common(a: &[u64], b: &[u64]) -> usize {
    let (mut i, mut j, mut common) = (0, 0, 0);
    while let (Some(a), Some(b)) = (a.get(i), b.get(j)) {
        // Without a branch on the order of a and b, which would be unpredictable.
        common += usize::from(a == b);
        i += usize::from(a <= b);
        j += usize::from(b <= a);
    }
    common
}
