//! Tokens and shingles as texts: the windows of tokens that represent a text as a set.
//!
//! A text with fewer tokens than a window has exactly one shingle, which is all of it. A text without tokens has no
//! shingles, and must not resemble anything. If short texts shared an empty signature, they would be deleted as copies
//! of each other.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::limits::checked;
use crate::simd::Level;
use crate::text::chars::is_blank;
use crate::text::{Unit, WordRules, words};
use crate::{Check, Config, Result, memory};

/// Returns `text` after the normalisation of `config`, which is then split into shingles. Borrowed if nothing changes.
///
/// With units of characters this is all that is compared: tokens that the normalisation drops are gone, and the others
/// are separated by one space. Words are dropped only when the text is split: see [`tokens`].
///
/// `check` is called as by [`Normalization::normalize`](crate::Normalization::normalize).
pub fn normalize_text<'a>(config: &Config, text: &'a str, check: Check) -> Result<Cow<'a, str>> {
    let normalized = config.normalization().normalize(text, check)?;
    if config.unit() == Unit::Char && config.normalization().drops_tokens() {
        let kept = kept_between_spaces(config.rules(), &normalized, check)?;
        return Ok(if kept == text { Cow::Borrowed(text) } else { Cow::Owned(kept) });
    }
    Ok(normalized)
}

/// Calls `f` for each compared token of `text`, in order: each character or word of the normalised text, except for
/// tokens that the normalisation drops.
///
/// A text that is blank after normalisation has no tokens.
///
/// `check` is called at least once for a few 64 KiB of text.
pub fn tokens(config: &Config, text: &str, check: Check, f: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
    let text = normalize_text(config, text, check)?;
    match config.unit() {
        Unit::Char if text.trim_start().is_empty() => Ok(()),
        Unit::Char => checked(text.chars(), check).try_for_each(|c| f(c.encode_utf8(&mut [0; 4]))),
        Unit::Word | Unit::Anchored => {
            words::pieces(&text).try_for_each(|piece| config.rules().try_words(piece, check, f))
        }
    }
}

/// The tokens of a text that units of characters keep, separated by spaces.
fn kept_between_spaces(rules: &WordRules, text: &str, check: Check) -> Result<String> {
    let mut kept = String::new();
    for piece in words::pieces(text) {
        check();
        let mut tokens = piece.split_whitespace().filter(|token| rules.keeps(token));
        tokens.try_for_each(|token| append_word(&mut kept, token))?;
    }
    Ok(kept)
}

/// Calls `f` for each shingle of `text`, in order and with repeats.
///
/// The text is normalised first. With unit `char` a shingle is a window of `shingle_size` Unicode scalar values. With
/// unit `word` it is a window of `shingle_size` words, joined by one space; with unit `anchored` only windows that
/// start with a stop word count. A text with fewer tokens than a window, or without an anchored window, has one
/// shingle, which is all of it. A text that is empty or only white space, or, with units of words, has no word, has no
/// shingles.
///
/// `check` is called as by [`Sketcher::sketch`](crate::Sketcher::sketch).
pub fn for_each_shingle(config: &Config, text: &str, check: Check, f: VisitShingle) -> Result<()> {
    let text = normalize_text(config, text, check)?;
    for_each_window(config, &text, check, f)
}

/// A function that is called with each shingle.
pub type VisitShingle<'a> = &'a mut dyn FnMut(&str) -> Result<()>;

/// True if a normalised text has any shingle: a character other than white space, or a word.
pub(crate) fn has_any(config: &Config, text: &str, check: Check) -> bool {
    match config.unit() {
        Unit::Char => !is_blank(text, check),
        Unit::Word | Unit::Anchored => words::pieces(text).any(|piece| {
            let mut any = false;
            config.rules().words(Level::best(), piece, check, |_, _| any = true);
            any
        }),
    }
}

/// Calls `f` for each shingle of a normalised text; see [`for_each_shingle`].
pub(crate) fn for_each_window(config: &Config, text: &str, check: Check, f: VisitShingle) -> Result<()> {
    match config.unit() {
        Unit::Char => for_each_char_window(text, config.shingle_size(), check, f),
        Unit::Word | Unit::Anchored => for_each_word_window(config, text, check, f),
    }
}

fn for_each_char_window(text: &str, size: usize, check: Check, f: VisitShingle) -> Result<()> {
    if is_blank(text, check) {
        return Ok(());
    }
    // A text with fewer characters than a window ends where its only window does.
    let ends = text.char_indices().map(|(at, _)| at).skip(size).chain([text.len()]);
    let windows = text.char_indices().zip(ends);
    checked(windows, check).try_for_each(|((start, _), end)| f(&text[start..end]))
}

fn for_each_word_window(config: &Config, text: &str, check: Check, f: VisitShingle) -> Result<()> {
    let (rules, size) = (config.rules(), config.shingle_size());
    // The window, the lengths of its words, and flags for words that start a shingle.
    let mut window = String::new();
    let mut recent = VecDeque::with_capacity(size);
    // All words, until there is a shingle.
    let (mut all, mut any) = (String::new(), false);
    let mut each = |word: &str| {
        if recent.len() == size
            && let Some((oldest, _)) = recent.pop_front()
        {
            // The space after the word is removed too.
            window.drain(..window.len().min(oldest + 1));
        }
        append_word(&mut window, word)?;
        recent.push_back((word.len(), rules.starts_shingle(word)));
        if recent.len() == size && recent.front().is_some_and(|(_, starts)| *starts) {
            f(&window)?;
            any = true;
        }
        if any { Ok(()) } else { append_word(&mut all, word) }
    };
    words::pieces(text).try_for_each(|piece| rules.try_words(piece, check, &mut each))?;
    if any || all.is_empty() { Ok(()) } else { f(&all) }
}

fn append_word(window: &mut String, word: &str) -> Result<()> {
    if !window.is_empty() {
        memory::push_str(window, " ")?;
    }
    memory::push_str(window, word)
}
