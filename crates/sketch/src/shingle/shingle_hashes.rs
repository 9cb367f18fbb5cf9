//! The hashes of the shingles of a text, or of the elements of its bag.

use std::ops::ControlFlow;

use super::as_hashes::{append_hashes, text_hashes};
use super::as_texts::{has_any, normalize_text};
use super::hash_buffer::CHUNK;
use crate::hash::mix::{GOLDEN, mix64};
use crate::hash::sort_by_key;
use crate::limits::checked;
use crate::simd::Level;
use crate::{Check, Config, Error, Result, memory};

/// Appends the hash of each shingle of `text` to `out`, in order and with repeats. The seed of `config` is not used.
///
/// A window of characters is hashed by XXH3_64 (seed 0) of its UTF-8 bytes. For a window of words `1..=w`, `H =
/// XXH3(w1)`, then `H = H * G + XXH3(wi)` modulo 2^64 for each further word, and finally `mix64(H)`; a window of one
/// word has the hash `XXH3(w1)`. The schemes of datasketch hash each shingle of
/// [`for_each_shingle`](crate::for_each_shingle) by their [`ElementHash`](crate::ElementHash). `check` is called as by
/// [`Sketcher::sketch`](crate::Sketcher::sketch).
///
/// For a bag ([`Config::with_bag`]) these are the hashes of its elements, ordered by their shingles' hashes `h`: `h`,
/// then `mix64(h + i * G)` for the `i`-th repeat.
///
/// # Errors
/// [`OutOfMemory`](crate::Error::OutOfMemory); `out` then has the hashes of a part of the text.
pub fn shingle_hashes(config: &Config, text: &str, out: &mut Vec<u64>, check: Check) -> Result<()> {
    let text = normalize_text(config, text, check)?;
    let append = if config.bag() { append_elements } else { append_hashes };
    append(config, Level::best(), &text, out, check)
}

/// Calls `take` with the hashes of all shingles of a text, some at a time.
pub(crate) fn each_chunk<E: From<Error>>(
    config: &Config,
    text: &str,
    check: Check,
    take: &mut dyn FnMut(&[u64]) -> Result<(), E>,
) -> Result<(), E> {
    let text = normalize_text(config, text, check)?;
    let (mut buffer, mut outcome) = (memory::filled(0, CHUNK)?, Ok(()));
    let mut sink = |hashes: &mut [u64], _: Check| {
        outcome = take(hashes);
        if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    text_hashes(config, Level::best(), &text, &mut buffer, check, &mut sink)?;
    outcome
}

/// True if a text has any shingle. Reads little more than its first shingle.
pub fn has_shingles(config: &Config, text: &str, check: Check) -> Result<bool> {
    let text = normalize_text(config, text, check)?;
    Ok(has_any(config, &text, check))
}

/// Appends the elements of the bag of a normalised text to `out`; elements of the same shingle are consecutive.
///
/// Counting needs all hashes at once: eight bytes for each shingle.
pub(crate) fn append_elements(
    config: &Config,
    level: Level,
    text: &str,
    out: &mut Vec<u64>,
    check: Check,
) -> Result<()> {
    let start = out.len();
    append_hashes(config, level, text, out, check)?;
    let hashes = &mut out[start..];
    sort_by_key(hashes, check);
    let (mut before, mut repeats) = (None, 0_u64);
    for hash in checked(hashes.iter_mut(), check) {
        repeats = if before == Some(*hash) { repeats + 1 } else { 0 };
        before = Some(*hash);
        *hash = repeated(*hash, repeats);
    }
    Ok(())
}

/// The element of a bag for repeat number `repeat` of a shingle; number 0 is its first occurrence.
pub(crate) fn repeated(hash: u64, repeat: u64) -> u64 {
    if repeat == 0 { hash } else { mix64(hash.wrapping_add(repeat.wrapping_mul(GOLDEN))) }
}
