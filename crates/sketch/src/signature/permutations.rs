//! The textbook scheme: K hash functions, the minimum of each (Broder 1997;
//! Mining of Massive Datasets, section 3.3.5).
//!
//! Function `j` is `a_j * lo32(h) + b_j` modulo 2^32 with `a_j` odd, so that it
//! permutes the 32-bit values. The work is K steps per shingle.

use std::ops::ControlFlow;

use super::seeded_hashes::SeededHashes;
use crate::error::Error;
use crate::hash::mix::affine;
use crate::limits::Check;
use crate::simd::{Level, SLOT_LANES};

/// Elementary steps between two calls of the check.
pub(crate) const STEPS: usize = 1 << 20;

/// Some of the hash functions, and the minimum of each so far. The arrays are
/// padded to whole vectors.
#[derive(Default)]
pub(crate) struct Functions {
    count: usize,
    multipliers: Vec<u32>,
    summands: Vec<u32>,
    minima: Vec<u32>,
}

impl Functions {
    /// Replaces the functions by those of `slots` and forgets the minima.
    pub(crate) fn set(&mut self, slots: impl Iterator<Item = usize>) {
        self.set_functions(slots.map(affine));
    }

    /// Replaces the functions by those of the given multipliers and summands
    /// and forgets the minima.
    pub(crate) fn set_functions(&mut self, functions: impl Iterator<Item = (u32, u32)>) {
        self.multipliers.clear();
        self.summands.clear();
        for (multiplier, summand) in functions {
            self.multipliers.push(multiplier);
            self.summands.push(summand);
        }
        self.count = self.multipliers.len();
        let padded = self.count.next_multiple_of(SLOT_LANES);
        self.multipliers.resize(padded, 0);
        self.summands.resize(padded, 0);
        self.forget();
    }

    /// Forgets the minima; the functions stay.
    pub(crate) fn forget(&mut self) {
        self.minima.clear();
        self.minima.resize(self.multipliers.len(), u32::MAX);
    }

    /// The minimum of each function.
    pub(crate) fn minima(&self) -> &[u32] {
        &self.minima[..self.count]
    }

    /// Takes the minimum of each function over all hashes of `passes`, after
    /// `prepare` has changed them. Returns whether there were any.
    pub(crate) fn minimise(
        &mut self,
        level: Level,
        passes: &mut SeededHashes,
        prepare: fn(&mut [u64]),
        check: Check,
    ) -> Result<bool, Error> {
        let hashes_per_part = (STEPS / self.multipliers.len().max(1)).max(1);
        let chunks = passes.each(check, &mut |chunk, check| {
            prepare(chunk);
            for part in chunk.chunks(hashes_per_part) {
                check();
                level.affine_min(part, &self.multipliers, &self.summands, &mut self.minima);
            }
            ControlFlow::Continue(())
        })?;
        Ok(chunks > 0)
    }
}
