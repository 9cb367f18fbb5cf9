//! Texts that are too long for their shingles: any two of them have most shingles in common.

use std::collections::HashMap;

use crate::config::Config;
use crate::error::Error;
use crate::limits::{Check, MAX_SHINGLE_SIZE};
use crate::memory;
use crate::shingle::normalize_text;
use crate::text::Unit;

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
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn saturated(config: &Config, text: &str, check: Check) -> Result<Option<usize>, Error> {
    if text.len() < LONG || config.unit() != Unit::Char {
        return Ok(None);
    }
    let mut letters = Letters::default();
    let stride = text.len() / PIECES;
    for piece in 0..PIECES {
        let start = text.floor_char_boundary(piece * stride);
        let end = text.floor_char_boundary(start + PIECE);
        letters.add(&normalize_text(config, &text[start..end], check)?)?;
    }
    // As many characters as the pieces have for their bytes.
    let length = text.len() as f64 * letters.total as f64 / (PIECES * PIECE) as f64;
    let entropy = letters.entropy();
    let similarity = |size: usize| {
        let share = 1.0 - (-length / (entropy * size as f64).exp2()).exp();
        share / (2.0 - share)
    };
    if entropy < RANDOM || similarity(config.shingle_size()) < TOLERATED {
        return Ok(None);
    }
    let better =
        (config.shingle_size() + 1..MAX_SHINGLE_SIZE).find(|size| similarity(*size) < WANTED);
    Ok(Some(better.unwrap_or(MAX_SHINGLE_SIZE)))
}

struct Letters {
    ascii: [u32; 128],
    others: HashMap<char, u32>,
    total: u32,
}

impl Default for Letters {
    fn default() -> Self {
        Self { ascii: [0; 128], others: HashMap::new(), total: 0 }
    }
}

impl Letters {
    fn add(&mut self, text: &str) -> Result<(), Error> {
        for c in text.chars() {
            self.total += 1;
            match self.ascii.get_mut(c as usize) {
                Some(count) => *count += 1,
                None => {
                    let count = self.others.get(&c).copied().unwrap_or(0);
                    memory::insert_at(&mut self.others, c, count + 1)?;
                }
            }
        }
        Ok(())
    }

    /// In bits for each character.
    fn entropy(&self) -> f64 {
        let counts = self.ascii.iter().chain(self.others.values());
        let total = f64::from(self.total);
        let bits = |count: &u32| {
            let share = f64::from(*count) / total;
            -share * share.log2()
        };
        counts.filter(|count| **count > 0).map(bits).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::ShingleSet;
    use crate::hash::mix::mix64;

    /// Unrelated texts of letters of an alphabet, each as likely as any.
    fn text(seed: u64, alphabet: &[u8], length: u64) -> String {
        let letter = |i| mix64(seed << 40 | i) as usize % alphabet.len();
        (0..length).map(|i| char::from(alphabet[letter(i)])).collect()
    }

    fn config(size: i64) -> Config {
        Config::new("fss", 128, "char", size, 0).unwrap()
    }

    fn needs(size: i64, text: &str) -> Option<usize> {
        saturated(&config(size), text, &mut || ()).unwrap()
    }

    #[test]
    fn what_is_said_of_texts_is_true_of_pairs_of_them() {
        for (alphabet, length) in
            [(&b"acgt"[..], 80_000), (b"0123456789abcdef", 300_000), (b"0123456789abcdef", 70_000)]
        {
            let (a, b) = (text(1, alphabet, length), text(2, alphabet, length));
            for size in 4..=9 {
                let set =
                    |text| ShingleSet::from_text(&config(size as i64), text, &mut || ()).unwrap();
                let similarity = set(&a).jaccard(&set(&b)).unwrap();
                match needs(size as i64, &a) {
                    // The entropy is that of a sample of 2,048 characters.
                    None => assert!(similarity < TOLERATED * 1.1, "{size} {similarity}"),
                    Some(better) => {
                        assert!(similarity > TOLERATED * 0.9, "{size} {similarity}");
                        assert!(better > size, "{size} {better}");
                    }
                }
            }
        }
    }

    #[test]
    fn dumps_of_megabytes_are_saturated_and_need_larger_shingles() {
        let hex = text(3, b"0123456789abcdef", 10_000_000);
        assert_eq!((needs(5, &hex), needs(9, &hex)), (Some(8), None));
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let base64 = text(4, letters, 10_000_000);
        // As it is written; in one case it has 5.2 bits for a character, and not 6.
        assert_eq!((needs(4, &base64), needs(5, &base64)), (Some(5), None));
    }

    #[test]
    fn other_texts_are_not_looked_at() {
        let hex = text(5, b"0123456789abcdef", 1_000_000);
        assert_eq!(needs(5, &hex[..LONG - 1]), None);
        let words = Config::new("fss", 128, "word", 1, 0).unwrap();
        assert_eq!(saturated(&words, &hex, &mut || ()).unwrap(), None);
        // What repeats itself is not random.
        assert_eq!(needs(5, &"\u{5b57}\u{8a5e}".repeat(LONG)), None);
    }
}
