//! The operations in plain Rust: the reference for the vector forms, and what
//! runs on other CPUs, where the compiler vectorises what the target allows.

use crate::hash::mix::mix64;

/// Slots that [`affine_min`] and its vector forms want their arrays to be a multiple of.
pub(crate) const SLOT_LANES: usize = 16;

#[inline(always)]
pub(super) fn mix(hashes: &mut [u64], offset: u64) {
    for h in hashes {
        *h = mix64(h.wrapping_add(offset));
    }
}

pub(super) fn affine_min(hashes: &[u64], a: &[u32], b: &[u32], minima: &mut [u32]) {
    let (a, _) = a.as_chunks::<SLOT_LANES>();
    let (b, _) = b.as_chunks::<SLOT_LANES>();
    let (minima, _) = minima.as_chunks_mut::<SLOT_LANES>();
    for ((a, b), minima) in a.iter().zip(b).zip(minima) {
        let mut least = *minima;
        for &h in hashes {
            for i in 0..SLOT_LANES {
                let value = a[i].wrapping_mul(h as u32).wrapping_add(b[i]);
                least[i] = least[i].min(value);
            }
        }
        *minima = least;
    }
}
