//! Texts that are too long for their shingles: any two of them share most shingles.

use crate::shingle::normalize_text;
use crate::text::Unit;
use crate::{Check, Config, MAX_SHINGLE_SIZE, Result, memory};

/// Length from which texts are checked, so that the check takes negligible time.
const LONG: usize = 64 * 1024;
/// Number of pieces of a text that are checked, and their length.
const PIECES: usize = 32;
const PIECE: usize = 64;

/// Tolerated similarity of two unrelated texts. Prose, code and HTML reach it at about 5 MB.
const TOLERATED: f64 = 0.25;
/// Bits for each character below which a text repeats itself; DNA has 2.
const RANDOM: f64 = 1.5;
/// Target similarity with another `shingle_size`.
const WANTED: f64 = 0.01;

/// The least `shingle_size` of characters with which unrelated texts like this one would have little in common. `None`
/// if the `shingle_size` of `config` suffices, or if the text is too short to be checked.
///
/// The model draws characters independently, with their frequencies in the text. A shingle of `size` characters with an
/// entropy of `h` bits each is one of about `2^(h * size)`, and a text of `n` characters has each of them with
/// probability `q = 1 - exp(-n / 2^(h * size))`. Two such texts have similarity `q / (2 - q)`. Human texts are less
/// random and have fewer shingles: they saturate earlier.
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
    // As many characters as the pieces have in proportion to their bytes.
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

/// The entropy of a letter, in bits.
fn entropy(letters: &mut [char]) -> f64 {
    letters.sort_unstable();
    let total = letters.len() as f64;
    letters.chunk_by(|a, b| a == b).map(|same| same.len() as f64 / total).map(|share| -share * share.log2()).sum()
}
