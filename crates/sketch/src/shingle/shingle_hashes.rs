//! The hashes of the shingles of a text, or of the elements of its bag.

use super::as_hashes::append_hashes;
use super::as_texts::{has_any, normalize_text};
use crate::hash::mix::{GOLDEN, mix64};
use crate::hash::sort_by_key;
use crate::limits::checked;
use crate::simd::Level;
use crate::{Check, Config, Result};

/// Appends the hash of each shingle of `text` to `out`, in order and with repeats; the seed of `config` plays no part.
///
/// A window of characters hashes to XXH3_64 (seed 0) of its UTF-8 bytes. A window of words `1..=w`: `H = XXH3(w1)`,
/// then `H = H * G + XXH3(wi)` modulo 2^64 for each further word, and `mix64(H)` in the end; a window of one word
/// hashes to `XXH3(w1)`. The schemes of datasketch hash each shingle as [`for_each_shingle`](crate::for_each_shingle)
/// gives it with their [`ElementHash`](crate::ElementHash). `check` is called as by
/// [`Sketcher::sketch`](crate::Sketcher::sketch).
///
/// Of a bag ([`Config::with_bag`]) these are the hashes of its elements, in ascending order of their shingles' hashes
/// `h`: `h`, then `mix64(h + i * G)` for the `i`-th repeat.
///
/// # Errors
/// [`OutOfMemory`](crate::Error::OutOfMemory); `out` then has the hashes of a part of the text.
pub fn shingle_hashes(config: &Config, text: &str, out: &mut Vec<u64>, check: Check) -> Result<()> {
    let text = normalize_text(config, text, check)?;
    let append = if config.bag() { append_elements } else { append_hashes };
    append(config, Level::best(), &text, out, check)
}

/// True if a text has any shingle. It is read as far as its first shingle, or a little further.
pub fn has_shingles(config: &Config, text: &str, check: Check) -> Result<bool> {
    let text = normalize_text(config, text, check)?;
    Ok(has_any(config, &text, check))
}

/// Appends the elements of the bag of a normalised text to `out`, those of a shingle after each other.
///
/// Counting takes all hashes at once: eight bytes for each of the shingles.
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

/// The element of a bag that stands for repeat number `repeat` of a shingle; number 0 is its first occurrence.
pub(crate) fn repeated(hash: u64, repeat: u64) -> u64 {
    if repeat == 0 { hash } else { mix64(hash.wrapping_add(repeat.wrapping_mul(GOLDEN))) }
}
