//! The signatures of datasketch, a Python library: its two 32-bit schemes,
//! with the hash functions that it draws from a seed.
//!
//! The functions come from numpy's `RandomState(seed)`, which is the Mersenne Twister MT19937 seeded with 32 bits.
//! Numpy keeps that generator and the way it cuts numbers to a range as they are, for ever (NEP 19), which is what
//! datasketch relies on as well.

use std::ops::ControlFlow;

use rand_mt::Mt;

use super::permutations::STEPS;
use super::seeded_hashes::SeededHashes;
use crate::{Check, Result};

/// The modulus of the legacy scheme, a Mersenne prime.
const PRIME: u64 = (1 << 61) - 1;

/// The multiplier (odd) and the summand of each function of `affine32`: all multipliers are drawn before all summands.
pub(crate) fn affine32(seed: u32, num_perm: usize) -> Vec<(u32, u32)> {
    let mut generator = Mt::new(seed);
    // randint(0, 2^31) masks a draw, and no draw is outside the range.
    let multipliers = (0..num_perm).map(|_| (generator.next_u32() & 0x7fff_ffff) * 2 + 1);
    let multipliers: Vec<u32> = multipliers.collect();
    multipliers.into_iter().map(|a| (a, generator.next_u32())).collect()
}

/// Replaces each hash by `fmix32` of its low half, the finalizer of
/// MurmurHash3: a bijection in which every bit depends on every bit.
pub(crate) fn fmix32(hashes: &mut [u64]) {
    for hash in hashes {
        let mut h = *hash as u32;
        h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
        h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
        *hash = (h ^ (h >> 16)).into();
    }
}

/// The functions of the legacy scheme, and the minimum of each so far.
#[derive(Default)]
pub(crate) struct Legacy {
    functions: Vec<(u64, u64)>,
    minima: Vec<u32>,
}

impl Legacy {
    /// The functions of a seed: multiplier and summand are drawn in turn.
    pub(crate) fn new(seed: u32, num_perm: usize) -> Self {
        let mut generator = Mt::new(seed);
        let function = |_| (1 + draw(&mut generator, PRIME - 2), draw(&mut generator, PRIME - 1));
        Self { functions: (0..num_perm).map(function).collect(), minima: Vec::new() }
    }

    /// The minimum of each function over all hashes of `passes`; `None` if there are none.
    pub(crate) fn minimise(
        &mut self,
        passes: &mut SeededHashes,
        check: Check,
    ) -> Result<Option<&[u32]>> {
        let Self { functions, minima } = self;
        minima.clear();
        minima.resize(functions.len(), u32::MAX);
        let hashes_per_part = (STEPS / functions.len().max(1)).max(1);
        let chunks = passes.each(check, &mut |chunk, check| {
            for part in chunk.chunks(hashes_per_part) {
                check();
                for (&(a, b), least) in functions.iter().zip(&mut *minima) {
                    let values = part.iter().map(|&h| permuted(a, b, h as u32));
                    *least = values.fold(*least, u32::min);
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok((chunks > 0).then_some(&self.minima))
    }
}

/// A number in `0..=most`: numpy masks 64 bits of the generator and draws again until they are in the range.
fn draw(generator: &mut Mt, most: u64) -> u64 {
    let mask = u64::MAX >> most.leading_zeros();
    loop {
        let high = u64::from(generator.next_u32());
        let drawn = (high << 32 | u64::from(generator.next_u32())) & mask;
        if drawn <= most {
            return drawn;
        }
    }
}

/// The product wraps at 2^64 before the modulus is taken, as numpy's does.
#[inline(always)]
fn permuted(a: u64, b: u64, h: u32) -> u32 {
    let x = a.wrapping_mul(h.into()).wrapping_add(b);
    // 2^61 is 1 modulo the prime.
    let folded = (x & PRIME) + (x >> 61);
    (if folded >= PRIME { folded - PRIME } else { folded }) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fold_is_the_modulus() {
        let edges = [0, 1, PRIME - 1, PRIME, PRIME + 1, 2 * PRIME, u64::MAX - 1, u64::MAX];
        for x in edges {
            assert_eq!(permuted(0, x, 7), (x % PRIME) as u32);
        }
    }
}
