//! Texts that are too long for their shingles: any two of them have most shingles in common.

use crate::shingle::normalize_text;
use crate::text::Unit;
use crate::{Check, Config, MAX_SHINGLE_SIZE, Result, memory};

/// Shorter texts are not looked at, so that the look costs nothing beside the signature.
const LONG: usize = 64 * 1024;
/// Pieces of a text that are looked at, and how long each is.
const PIECES: usize = 32;
const PIECE: usize = 64;

/// The similarity of two unrelated texts that is tolerated. Prose, code and HTML get there with some 5 MB.
const TOLERATED: f64 = 0.25;
/// Bits for each character, below which a text repeats itself: DNA has 2.
const RANDOM: f64 = 1.5;
/// The similarity that they may have with another `shingle_size`.
const WANTED: f64 = 0.01;

/// The least `shingle_size` of characters with which unrelated texts like this one would have little in common, where
/// that of `config` is too small for it; `None` where it is not, or the text is too short to tell.
///
/// The model is that of characters drawn independently, as often as they come in the text. Each of `size` has an
/// entropy of `h` bits, so there are about `2^(h * size)` shingles to choose from, and a text of `n` characters has
/// each of them with probability `q = 1 - exp(-n / 2^(h * size))`. Two such texts are similar by `q / (2 - q)`. What
/// people write is less random than that, and its shingles are fewer: it saturates sooner than this says.
pub fn saturated(config: &Config, text: &str, check: Check) -> Result<Option<usize>> {
    if text.len() < LONG || config.unit() != Unit::Char {
        return Ok(None);
    }
    let mut letters = Vec::new();
    let stride = text.len() / PIECES;
    for piece in 0..PIECES {
        let start = text.floor_char_boundary(piece * stride);
        let end = text.floor_char_boundary(start + PIECE);
        for c in normalize_text(config, &text[start..end], check)?.chars() {
            memory::push(&mut letters, c)?;
        }
    }
    // As many characters as the pieces have for their bytes.
    let length = text.len() as f64 * letters.len() as f64 / (PIECES * PIECE) as f64;
    let entropy = entropy(&mut letters);
    let similarity = |size: usize| {
        let share = 1.0 - (-length / (entropy * size as f64).exp2()).exp();
        share / (2.0 - share)
    };
    if entropy < RANDOM || similarity(config.shingle_size()) < TOLERATED {
        return Ok(None);
    }
    let better = (config.shingle_size() + 1..MAX_SHINGLE_SIZE).find(|size| similarity(*size) < WANTED);
    Ok(Some(better.unwrap_or(MAX_SHINGLE_SIZE)))
}

/// The entropy of each of some letters, in bits.
fn entropy(letters: &mut [char]) -> f64 {
    letters.sort_unstable();
    let total = letters.len() as f64;
    letters.chunk_by(|a, b| a == b).map(|same| same.len() as f64 / total).map(|share| -share * share.log2()).sum()
}
