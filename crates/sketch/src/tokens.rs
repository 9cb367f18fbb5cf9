//! Tokens: what of a normalised text is compared.

use std::borrow::Cow;

use crate::config::{Config, Unit};
use crate::error::Error;
use crate::memory;
use crate::normalize::{Dropped, Normalization};
use crate::simd::Level;
use crate::stop_words::{Lookup, StopWords};
use crate::words;

/// `text` after the normalisation of `config`: what is cut into shingles.
/// Borrowed if nothing changes.
///
/// With units of characters this is all that is compared: tokens that the
/// normalisation drops are gone, and those that it keeps have one space
/// between them. Words are dropped only when the text is cut: see [`tokens`].
///
/// `checkpoint` is called as by [`Normalization::normalize`].
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn normalize_text<'a>(
    config: &Config,
    text: &'a str,
    checkpoint: &mut dyn FnMut(),
) -> Result<Cow<'a, str>, Error> {
    let normalized = config.normalization().normalize(text, checkpoint)?;
    if config.unit() == Unit::Char && config.normalization().drops_tokens() {
        let kept = kept_between_spaces(config.rules(), &normalized, checkpoint)?;
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
/// `checkpoint` is called at least every 64 KiB of text, but a run without
/// space or line feed is one step of cutting into words.
///
/// # Errors
/// [`Error::OutOfMemory`], and the first of `f`, which is not called again.
pub fn tokens(
    config: &Config,
    text: &str,
    checkpoint: &mut dyn FnMut(),
    f: &mut dyn FnMut(&str) -> Result<(), Error>,
) -> Result<(), Error> {
    let text = normalize_text(config, text, checkpoint)?;
    match config.unit() {
        Unit::Char if text.trim_start().is_empty() => Ok(()),
        Unit::Char => {
            for (i, c) in text.chars().enumerate() {
                if i % (16 * 1024) == 0 {
                    checkpoint();
                }
                f(c.encode_utf8(&mut [0; 4]))?;
            }
            Ok(())
        }
        Unit::Word | Unit::Anchored => words::pieces(&text).try_for_each(|piece| {
            checkpoint();
            config.rules().try_words(piece, f)
        }),
    }
}

/// How a normalised text is cut into words, and which of them count.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) struct Rules {
    split_whitespace: bool,
    /// In characters; at most 1 drops nothing.
    min_length: usize,
    dropped: Option<Lookup>,
    anchors: Option<Lookup>,
}

impl Rules {
    /// The rules of a configuration, whose list is `stop_words`.
    pub(crate) fn new(
        unit: Unit,
        normalization: &Normalization,
        stop_words: &StopWords,
    ) -> Result<Self, Error> {
        let lookup = |list| Lookup::new(list, normalization);
        Ok(Self {
            split_whitespace: normalization.split_whitespace,
            min_length: normalization.min_length,
            dropped: match &normalization.stop_words {
                Dropped::Nothing => None,
                Dropped::Configured => Some(lookup(stop_words)?),
                Dropped::These(list) => Some(lookup(list)?),
            },
            anchors: (unit == Unit::Anchored).then(|| lookup(stop_words)).transpose()?,
        })
    }

    /// Calls `f` for each word of a piece of a normalised text that counts.
    #[inline(always)]
    pub(crate) fn words(&self, level: Level, piece: &str, mut f: impl FnMut(&str)) {
        if self.split_whitespace {
            piece.split_whitespace().filter(|word| self.keeps(word)).for_each(f);
            return;
        }
        words::each(
            level,
            piece,
            #[inline(always)]
            |word| {
                if self.keeps(word) {
                    f(word);
                }
            },
        );
    }

    /// Calls `f` for each word of a piece that counts, up to its first error.
    pub(crate) fn try_words(
        &self,
        piece: &str,
        f: &mut dyn FnMut(&str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut outcome = Ok(());
        self.words(Level::best(), piece, |word| {
            if outcome.is_ok() {
                outcome = f(word);
            }
        });
        outcome
    }

    /// Whether a shingle can start with `word`.
    #[inline]
    pub(crate) fn starts_shingle(&self, word: &str) -> bool {
        self.anchors.as_ref().is_none_or(|anchors| anchors.contains(word))
    }

    #[inline]
    fn keeps(&self, word: &str) -> bool {
        // No word has more characters than bytes.
        if self.min_length > 1
            && (word.len() < self.min_length || word.chars().count() < self.min_length)
        {
            return false;
        }
        !self.dropped.as_ref().is_some_and(|dropped| dropped.contains(word))
    }
}

/// What is kept of a text for units of characters.
fn kept_between_spaces(
    rules: &Rules,
    text: &str,
    checkpoint: &mut dyn FnMut(),
) -> Result<String, Error> {
    let mut kept = String::new();
    for piece in words::pieces(text) {
        checkpoint();
        for token in piece.split_whitespace().filter(|token| rules.keeps(token)) {
            if !kept.is_empty() {
                memory::push_str(&mut kept, " ")?;
            }
            memory::push_str(&mut kept, token)?;
        }
    }
    Ok(kept)
}
