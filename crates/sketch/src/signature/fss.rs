//! Fast Similarity Sketching (Dahlgaard, Knudsen, Thorup, FOCS 2017).
//!
//! In each round every shingle draws a slot and a value, and a slot keeps the least value drawn for it. The round
//! number is in the top bits, so that later rounds never displace earlier ones. Rounds continue until no slot is empty.
//! With n shingles and K slots that is O(n + K log K) work instead of the textbook's n * K, and the estimate is
//! unbiased with a smaller error.
//!
//! With few shingles many slots would need many rounds. After [`ROUNDS`] rounds, each empty slot takes the minimum of
//! its own textbook hash function, which always fills it.

use std::ops::ControlFlow;

use super::permutations::Functions;
use super::seeded_hashes::SeededHashes;
use crate::hash::mix::affine;
use crate::simd::{EMPTY, Level, NOTHING_PACKED};
use crate::{Check, Result};

/// Number of bucket rounds. Round numbers, with this one for the remaining slots, take three bits.
pub(crate) const ROUNDS: u32 = 7;

/// Bits of the value in a slot, below the round.
pub(crate) const VALUE_BITS: u32 = 28;

/// Sketches the hashes of `passes` into `slots`, whose number is K. True if there were any; otherwise `slots` are
/// meaningless.
pub(crate) fn sketch(
    level: Level,
    passes: &mut SeededHashes,
    slots: &mut [u32],
    rest: &mut Functions,
    check: Check,
) -> Result<bool> {
    slots.fill(EMPTY);
    let mut packed = NOTHING_PACKED;
    for round in 0..ROUNDS {
        let any = passes.each(check, &mut |chunk, _| {
            level.scatter_min(chunk, round, slots, &mut packed);
            ControlFlow::Continue(())
        })?;
        if !any {
            return Ok(false);
        }
        if !slots.contains(&EMPTY) {
            return Ok(true);
        }
    }
    let empty = slots.iter().enumerate().filter(|(_, slot)| **slot == EMPTY);
    rest.set(empty.map(|(slot, _)| affine(slot)));
    rest.minimise(level, passes, check)?;
    let empty = slots.iter_mut().filter(|slot| **slot == EMPTY);
    for (slot, minimum) in empty.zip(&rest.minima) {
        *slot = (ROUNDS << VALUE_BITS) | (minimum >> 4);
    }
    Ok(true)
}
