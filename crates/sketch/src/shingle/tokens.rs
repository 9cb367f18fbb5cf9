//! Tokens: what of a normalised text is compared.

use std::borrow::Cow;

use crate::config::Config;
use crate::error::Error;
use crate::limits::Check;
use crate::memory;
use crate::text::{Unit, WordRules, words};

/// `text` after the normalisation of `config`: what is cut into shingles.
/// Borrowed if nothing changes.
///
/// With units of characters this is all that is compared: tokens that the
/// normalisation drops are gone, and those that it keeps have one space
/// between them. Words are dropped only when the text is cut: see [`tokens`].
///
/// `check` is called as by [`Normalization::normalize`](crate::Normalization::normalize).
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn normalize_text<'a>(
    config: &Config,
    text: &'a str,
    check: Check,
) -> Result<Cow<'a, str>, Error> {
    let normalized = config.normalization().normalize(text, check)?;
    if config.unit() == Unit::Char && config.normalization().drops_tokens() {
        let kept = kept_between_spaces(config.rules(), &normalized, check)?;
        return Ok(if kept == text { Cow::Borrowed(text) } else { Cow::Owned(kept) });
    }
    Ok(normalized)
}

/// Calls `f` for each token of `text` that is compared, in order: each
/// character, or each word, of the normalised text, but for those that the
/// normalisation drops.
///
/// A text that is blank after normalisation has no token.
///
/// `check` is called at least every few 64 KiB of text.
///
/// # Errors
/// [`Error::OutOfMemory`], and the first of `f`, which is not called again.
pub fn tokens(
    config: &Config,
    text: &str,
    check: Check,
    f: &mut dyn FnMut(&str) -> Result<(), Error>,
) -> Result<(), Error> {
    let text = normalize_text(config, text, check)?;
    match config.unit() {
        Unit::Char if text.trim_start().is_empty() => Ok(()),
        Unit::Char => {
            for (i, c) in text.chars().enumerate() {
                if i % (16 * 1024) == 0 {
                    check();
                }
                f(c.encode_utf8(&mut [0; 4]))?;
            }
            Ok(())
        }
        Unit::Word | Unit::Anchored => {
            words::pieces(&text).try_for_each(|piece| config.rules().try_words(piece, check, f))
        }
    }
}

/// The parts of a text that are kept for units of characters.
fn kept_between_spaces(rules: &WordRules, text: &str, check: Check) -> Result<String, Error> {
    let mut kept = String::new();
    for piece in words::pieces(text) {
        check();
        for token in piece.split_whitespace().filter(|token| rules.keeps(token)) {
            if !kept.is_empty() {
                memory::push_str(&mut kept, " ")?;
            }
            memory::push_str(&mut kept, token)?;
        }
    }
    Ok(kept)
}
