//! The hashes of the shingles of a text, or of the elements of its bag.

use super::as_hashes::append_hashes;
use super::bag::append_elements;
use super::tokens::normalize_text;
use crate::config::Config;
use crate::error::Error;
use crate::simd::Level;

/// Appends the hash of each shingle of `text` to `out`, in order and with
/// repeats; the seed of `config` plays no part.
///
/// A window of characters hashes to XXH3_64 (seed 0) of its UTF-8 bytes. A
/// window of words `1..=w`: `H = XXH3(w1)`, then `H = H * G + XXH3(wi)` modulo
/// 2^64 for each further word, and `mix64(H)` in the end; a window of one word
/// hashes to `XXH3(w1)`. The schemes of datasketch hash each shingle as
/// [`for_each_shingle`](crate::for_each_shingle) gives it with their
/// [`ElementHash`](crate::ElementHash). `check_interrupts` is called as by
/// [`Sketcher::sketch`](crate::Sketcher::sketch).
///
/// Of a bag ([`Config::with_bag`]) these are the hashes of its elements, in
/// ascending order of their shingles' hashes `h`: `h`, then `mix64(h + i * G)`
/// for the `i`-th repeat.
///
/// # Errors
/// [`Error::OutOfMemory`]; `out` then has the hashes of a part of the text.
pub fn shingle_hashes(
    config: &Config,
    text: &str,
    out: &mut Vec<u64>,
    check_interrupts: &mut dyn FnMut(),
) -> Result<(), Error> {
    let text = normalize_text(config, text, check_interrupts)?;
    let append = if config.bag() { append_elements } else { append_hashes };
    append(config, Level::best(), &text, out, check_interrupts)
}
