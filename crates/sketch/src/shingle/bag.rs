//! Bags: sets in which a repeat is an element of its own.
//!
//! The first occurrence of a shingle keeps its hash, the one after `i` others
//! gets `mix64(h + i * G)`. Two texts then share `min(m, n)` of the elements
//! that a shingle gives which occurs `m` and `n` times, and the Jaccard
//! similarity of the sets is the weighted one of the bags, the sum of the
//! minima over the sum of the maxima.

use super::as_hashes::append_hashes;
use crate::config::Config;
use crate::error::Error;
use crate::hash::mix::{GOLDEN, mix64};
use crate::hash::sort;
use crate::simd::Level;

/// Appends the elements of the bag of a normalised text to `out`, those of a
/// shingle after each other.
///
/// Counting takes all hashes at once: eight bytes for each of the shingles.
pub(crate) fn append_elements(
    config: &Config,
    level: Level,
    text: &str,
    out: &mut Vec<u64>,
    check_interrupts: &mut dyn FnMut(),
) -> Result<(), Error> {
    let start = out.len();
    append_hashes(config, level, text, out, check_interrupts)?;
    let hashes = &mut out[start..];
    sort(hashes, check_interrupts);
    let mut run = Run { hash: 0, repeats: 0 };
    for part in hashes.chunks_mut(64 * 1024) {
        check_interrupts();
        part.iter_mut().for_each(|hash| *hash = run.next(*hash));
    }
    Ok(())
}

/// Equal hashes after each other.
struct Run {
    hash: u64,
    repeats: u64,
}

impl Run {
    /// The element that the next hash is.
    fn next(&mut self, hash: u64) -> u64 {
        if hash != self.hash {
            *self = Self { hash, repeats: 0 };
        }
        let repeat = self.repeats;
        self.repeats += 1;
        match repeat {
            0 => hash,
            i => mix64(hash.wrapping_add(i.wrapping_mul(GOLDEN))),
        }
    }
}
