//! The textbook scheme: K hash functions, the minimum of each (Broder 1997;
//! Mining of Massive Datasets, section 3.3.5).
//!
//! Function `j` is `a_j * lo32(h) + b_j` modulo 2^32 with `a_j` odd, so that it
//! permutes the 32-bit values. The work is K steps per shingle.

use crate::hashes::Passes;
use crate::mix::affine;

/// Elementary steps between two calls of the checkpoint.
const STEPS: usize = 1 << 20;

/// Some of the hash functions, and the minimum of each so far.
#[derive(Default)]
pub(crate) struct Functions {
    multipliers: Vec<u32>,
    summands: Vec<u32>,
    minima: Vec<u32>,
}

impl Functions {
    /// Replaces the functions by those of `slots` and forgets the minima.
    pub(crate) fn set(&mut self, slots: impl Iterator<Item = usize>) {
        self.multipliers.clear();
        self.summands.clear();
        for (multiplier, summand) in slots.map(affine) {
            self.multipliers.push(multiplier);
            self.summands.push(summand);
        }
        self.forget();
    }

    /// Forgets the minima; the functions stay.
    pub(crate) fn forget(&mut self) {
        self.minima.clear();
        self.minima.resize(self.multipliers.len(), u32::MAX);
    }

    pub(crate) fn minima(&self) -> &[u32] {
        &self.minima
    }

    /// Takes the minimum of each function over all hashes of `passes`. Returns
    /// whether there were any.
    pub(crate) fn minimise(&mut self, passes: &mut Passes, checkpoint: &mut dyn FnMut()) -> bool {
        let hashes_per_part = (STEPS / self.multipliers.len().max(1)).max(1);
        let chunks = passes.each(checkpoint, &mut |chunk, checkpoint| {
            for part in chunk.chunks(hashes_per_part) {
                checkpoint();
                affine_min(part, &self.multipliers, &self.summands, &mut self.minima);
            }
        });
        chunks > 0
    }
}

fn affine_min(hashes: &[u64], a: &[u32], b: &[u32], minima: &mut [u32]) {
    for ((minimum, &a), &b) in minima.iter_mut().zip(a).zip(b) {
        for &h in hashes {
            *minimum = (*minimum).min(a.wrapping_mul(h as u32).wrapping_add(b));
        }
    }
}
