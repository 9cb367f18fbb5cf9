//! Similarities of all pairs of sets that memory does not hold at once.
//!
//! The hashes of all sets lie in a file by their upper bits. The sets of one part are in memory at a time, and what two
//! sets share is summed up over the parts. So a set is never made for one pair.

use super::hash_parts::HashParts;
use super::numbered_sets::NumberedSets;
use crate::{Check, Error, Result, memory};

/// The most bits of a hash by which sets are counted in parts.
const MOST_BITS: u32 = 16;

/// The numbers of elements of some sets, and of those that each two of them share.
pub struct SharedCounts {
    /// By set.
    elements: Vec<u32>,
    /// By pair: a set's counts with the sets before it follow each other.
    shared: Vec<u32>,
}

/// The hashes whose upper bits, of this number, are this.
type Slice = (u32, u64);

impl SharedCounts {
    /// Bytes that the counts of `sets` sets take.
    #[must_use]
    pub fn bytes(sets: usize) -> usize {
        (sets + Self::place(sets, 0)) * size_of::<u32>()
    }

    /// Counts what each two of `sets` sets share, whose hashes `parts` has. `room` is for the sets of a part, or of as
    /// much of it as fits. `None` if the sets of a 65,536th of all hashes do not fit.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), or an error of the file.
    pub fn of_parts(parts: &mut HashParts, sets: usize, room: &mut NumberedSets, check: Check) -> Result<Option<Self>> {
        let shared = memory::filled(0, Self::place(sets, 0))?;
        let mut counts = Self { elements: memory::filled(0, sets)?, shared };
        let bits = parts.parts().ilog2();
        let mut left = memory::collect((0..1 << bits).rev().map(|part| (bits, part)))?;
        while let Some(slice) = left.pop() {
            match slice {
                _ if fill(slice, parts, room, check)? => counts.add(room, check),
                (MOST_BITS, _) => return Ok(None),
                (bits, part) => memory::extend(&mut left, &[(bits + 1, 2 * part + 1), (bits + 1, 2 * part)])?,
            }
        }
        room.forget();
        Ok(Some(counts))
    }

    /// The place of the pair of `b` and `a`, which is less.
    fn place(b: usize, a: usize) -> usize {
        b * b.saturating_sub(1) / 2 + a
    }

    /// Adds a part of all sets: `part` has them by their numbers.
    fn add(&mut self, part: &NumberedSets, check: Check) {
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

/// Replaces the sets in `room` by the sets of a slice. False if they do not fit.
fn fill((bits, part): Slice, parts: &mut HashParts, room: &mut NumberedSets, check: Check) -> Result<bool> {
    room.forget();
    let stored = part >> (bits - parts.parts().ilog2());
    let (mut own, mut current, mut fits) = (Vec::new(), 0, true);
    let mut add = |text: u32, own: &mut Vec<u64>| {
        fits = room.has_room(own.len());
        if !fits {
            // Only stops the reading.
            return Err(Error::Stopped);
        }
        room.add(text, own)?;
        own.clear();
        Ok(())
    };
    let read = parts.each(stored as usize, &mut |text, hashes| {
        check();
        if text != current {
            add(std::mem::replace(&mut current, text), &mut own)?;
        }
        let within = hashes.iter().filter(|hash| **hash >> (u64::BITS - bits) == part);
        within.copied().try_for_each(|hash| memory::push(&mut own, hash))
    });
    let outcome = read.and_then(|()| add(current, &mut own));
    if fits { outcome.map(|()| true) } else { Ok(false) }
}
