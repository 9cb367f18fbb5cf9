//! The operations in plain Rust: the reference for the vector forms, and what
//! runs on other CPUs, where the compiler vectorises what the target allows.

use crate::mix::mix64;

use super::SLOT_LANES;

/// A slot of fss without a value; every value is smaller.
pub(crate) const EMPTY: u32 = u32::MAX;

/// Draws that are scattered before the greatest slot is looked up again.
pub(super) const BLOCK: usize = 512;

/// Room for what is left of a block, and for one vector stored at its end.
pub(super) type Survivors = [u64; BLOCK + 8];

/// The greatest slot below which filtering pays: three quarters of the range
/// of a draw.
pub(super) const WORTH_FILTERING: u32 = (1 << 28) / 4 * 3;

#[inline(always)]
pub(super) fn mix(hashes: &mut [u64], offset: u64) {
    for h in hashes {
        *h = mix64(h.wrapping_add(offset));
    }
}

#[inline(always)]
pub(super) fn greatest(slots: &[u32]) -> u32 {
    slots.iter().fold(0, |greatest, &slot| greatest.max(slot))
}

#[inline(always)]
pub(super) fn below(draws: &[u64], limit: u32, survivors: &mut Survivors) -> usize {
    let mut count = 0;
    for &draw in draws {
        survivors[count] = draw;
        count += usize::from((draw as u32) < limit);
    }
    count
}

pub(super) fn scatter_min(draws: &[u64], round: u32, slots: &mut [u32]) {
    let count = slots.len() as u64;
    for &draw in draws {
        let slot = ((draw >> 32) * count) >> 32;
        let value = round << 28 | draw as u32 >> 4;
        // SAFETY: draw >> 32 is below 2^32, so its product with the count of
        // slots, shifted right by 32, is below the count.
        let slot = unsafe { slots.get_unchecked_mut(slot as usize) };
        // A branch would be mispredicted every third time.
        *slot = std::hint::select_unpredictable(value < *slot, value, *slot);
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
