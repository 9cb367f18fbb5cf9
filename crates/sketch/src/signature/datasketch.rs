//! The signatures of the Python library datasketch: its two 32-bit schemes, with the hash functions that it draws from
//! a seed.
//!
//! The functions come from numpy's `RandomState(seed)`, which is the Mersenne Twister MT19937 with a 32-bit seed. Numpy
//! never changes this generator, or how it maps numbers to a range (NEP 19), and datasketch relies on it too.

use rand_mt::Mt;

use super::seeded_hashes::SeededHashes;
use crate::{Check, Result};

/// The modulus of the legacy scheme, a Mersenne prime.
const PRIME: u64 = (1 << 61) - 1;

/// The (odd) multiplier and the summand of each function of `affine32`. All multipliers are drawn before all summands.
pub(crate) fn affine32(seed: u32, num_perm: usize) -> Vec<(u32, u32)> {
    let mut generator = Mt::new(seed);
    // randint(0, 2^31) masks a draw, and every draw is in the range.
    let multipliers = (0..num_perm).map(|_| (generator.next_u32() & 0x7fff_ffff) * 2 + 1);
    let multipliers: Vec<u32> = multipliers.collect();
    multipliers.into_iter().map(|a| (a, generator.next_u32())).collect()
}

/// The multiplier and the summand of each function of the legacy scheme, which are drawn alternately.
pub(crate) fn legacy(seed: u32, num_perm: usize) -> Vec<(u64, u64)> {
    let mut generator = Mt::new(seed);
    let function = |_| (1 + draw(&mut generator, PRIME - 2), draw(&mut generator, PRIME - 1));
    (0..num_perm).map(function).collect()
}

/// Takes the minimum of each function of the legacy scheme over all hashes of `passes`. True if there were any.
pub(crate) fn minimise_legacy(
    functions: &[(u64, u64)],
    passes: &mut SeededHashes,
    minima: &mut [u32],
    check: Check,
) -> Result<bool> {
    minima.fill(u32::MAX);
    passes.each_part(functions.len(), check, &mut |part| {
        for (&(a, b), least) in functions.iter().zip(&mut *minima) {
            let values = part.iter().map(|&h| permuted(a, b, h as u32));
            *least = values.fold(*least, u32::min);
        }
    })
}

/// A number in `0..=most`: numpy masks 64 bits of the generator, and draws again until the result is in the range.
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

/// The product wraps at 2^64 before the modulus is taken, as in numpy.
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
