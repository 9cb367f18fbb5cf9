//! The codes of a text: numbers, versions, model numbers and other tokens with a digit.

use std::collections::HashSet;

use ahash::RandomState;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use super::normalize::Normalization;
use super::words;
use crate::hash::hash128;
use crate::simd::Level;
use crate::{Check, Error, Result, memory};

/// Calls `f` for each distinct code in `text`, in the order of first occurrence.
///
/// The text is normalised by the preset `plain`. A token is a sequence of words (Unicode Standard Annex 29), with
/// punctuation or symbols between them but no white space or brackets. Two adjacent words are two tokens, like Chinese
/// characters and the number after them. The letters and digits of a token form its code, if there is a decimal digit
/// among them, and at least `min_length` characters.
///
/// `check` is called at least once for a few 64 KiB of text.
///
/// # Errors
/// [`Error::CodeLength`] for a `min_length` below 1.
pub fn codes(text: &str, min_length: i64, check: Check, f: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
    let shortest = usize::try_from(min_length).ok().filter(|least| *least > 0);
    let shortest = shortest.ok_or(Error::CodeLength(min_length))?;
    let text = Normalization::plain().normalize(text, check)?;
    let mut reader = CodeReader { shortest, token: String::new(), seen: HashSet::default(), f };
    for piece in words::pieces(&text) {
        check();
        let (mut end, mut outcome) = (0, Ok(()));
        words::each(Level::best(), piece, check, |start, after| {
            if outcome.is_ok() {
                let (between, word) = (&piece[end..start], &piece[start..after]);
                outcome = reader.word(between, word);
            }
            end = after;
        });
        outcome?;
        reader.end_token()?;
    }
    Ok(())
}

struct CodeReader<'a> {
    shortest: usize,
    /// The letters and digits of the current token.
    token: String,
    seen: HashSet<u128, RandomState>,
    f: &'a mut dyn FnMut(&str) -> Result<()>,
}

impl CodeReader<'_> {
    /// Appends `word` to the token, or starts another token with it. `between` is the text since the last word, which
    /// decides.
    fn word(&mut self, between: &str, word: &str) -> Result<()> {
        // A mark after a space makes one word of both.
        if between.is_empty() || between.contains(ends_token) || word.contains(ends_token) {
            self.end_token()?;
        }
        let mut left = word;
        while let Some(start) = left.find(char::is_alphanumeric) {
            left = &left[start..];
            let end = left.find(|c: char| !c.is_alphanumeric()).unwrap_or(left.len());
            memory::push_str(&mut self.token, &left[..end])?;
            left = &left[end..];
        }
        Ok(())
    }

    fn end_token(&mut self) -> Result<()> {
        let token = self.token.as_str();
        if token.contains(is_digit)
            && token.chars().nth(self.shortest - 1).is_some()
            && memory::insert(&mut self.seen, hash128(token.as_bytes()))?
        {
            (self.f)(token)?;
        }
        self.token.clear();
        Ok(())
    }
}

fn ends_token(c: char) -> bool {
    let bracket = [GeneralCategory::OpenPunctuation, GeneralCategory::ClosePunctuation];
    c.is_whitespace() || bracket.contains(&c.general_category())
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || !c.is_ascii() && c.general_category() == GeneralCategory::DecimalNumber
}
