//! Similarities of all pairs of sets that memory does not hold at once.
//!
//! The sets are made once for each part of the hashes, and what two sets share is summed up over the parts. So the sets
//! of one part are in memory at a time, and a set is never made for one pair.

use super::numbered_sets::NumberedSets;
use super::overlap::Overlap;
use crate::{Check, Result, memory};

/// The numbers of elements of some sets, and of those that each two of them share.
pub struct SharedCounts {
    /// By set.
    elements: Vec<u32>,
    /// By pair: a set's counts with the sets before it follow each other.
    shared: Vec<u32>,
}

impl SharedCounts {
    /// Bytes that the counts of `sets` sets take.
    #[must_use]
    pub fn bytes(sets: usize) -> usize {
        (sets + Self::place(sets, 0)) * size_of::<u32>()
    }

    /// No parts yet of `sets` sets.
    pub fn new(sets: usize) -> Result<Self> {
        let shared = memory::filled(0, Self::place(sets, 0))?;
        Ok(Self { elements: memory::filled(0, sets)?, shared })
    }

    /// The counts of two sets.
    pub fn of_two(Overlap { a, b, shared }: Overlap) -> Result<Self> {
        let of = |counts: &[usize]| memory::collect(counts.iter().map(|count| *count as u32));
        Ok(Self { elements: of(&[a, b])?, shared: of(&[shared])? })
    }

    /// The place of the pair of `b` and `a`, which is less.
    fn place(b: usize, a: usize) -> usize {
        b * b.saturating_sub(1) / 2 + a
    }

    /// Adds a part of all sets: `part` has them by their numbers.
    pub fn add(&mut self, part: &NumberedSets, check: Check) {
        for b in 0..self.elements.len() {
            check();
            self.elements[b] += part.elements(b as u32);
            let start = Self::place(b, 0);
            for (a, shared) in (0..).zip(&mut self.shared[start..start + b]) {
                *shared += part.shared(a, b as u32);
            }
        }
    }

    /// The Jaccard similarity of two sets once all parts are added, if it is at least `threshold`. It equals
    /// [`ShingleSet::jaccard`](crate::ShingleSet::jaccard) bit for bit.
    #[must_use]
    pub fn similarity(&self, a: u32, b: u32, threshold: f64) -> Option<f64> {
        let (a, b) = (a.min(b) as usize, a.max(b) as usize);
        let shared = if a == b { self.elements[a] } else { self.shared[Self::place(b, a)] };
        let united = self.elements[a] + self.elements[b] - shared;
        let jaccard = f64::from(shared) / f64::from(united);
        (united > 0 && jaccard >= threshold).then_some(jaccard)
    }
}
