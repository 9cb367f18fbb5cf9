//! The words that only one of two texts has, that only the other has, and that both have, in order.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use ahash::RandomState;
use unicode_segmentation::UnicodeSegmentation;

use super::token_diff::changes;
use crate::error::Error;
use crate::limits::Check;
use crate::limits::MAX_DIFF_WORDS;
use crate::memory;
use crate::text::Normalization;

/// Words between two calls of `check`.
const STRETCH: usize = 4096;

/// The texts in which a part of a [`word_diff`] was found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FoundIn {
    /// The first text alone.
    A,
    /// The second text alone.
    B,
    /// Both, as the first text has it.
    Both,
}

impl FoundIn {
    /// Its name: `a`, `b` or `both`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
            Self::Both => "both",
        }
    }
}

/// The parts of two texts in the order of both: calls `visit` with each part and the place it was found in.
/// Together, the parts of `A` and `Both` are the words of `a` and what stands between them; those of `B` and the
/// counterparts of `Both` are `b`.
///
/// Two words are equal if they are after `normalization`. A word is what Unicode Standard Annex 29 cuts, punctuation
/// included, with the white space behind it. The comparison is git's histogram diff, which prefers what people
/// recognise as unchanged over the least number of changes. Long texts are first cut where both have words that are
/// nowhere else in them.
///
/// # Errors
/// [`Error::DiffWords`] for a text of more than [`MAX_DIFF_WORDS`] words; [`Error::OutOfMemory`]; and the first of
/// `visit`, which is not called again.
pub fn word_diff<E: From<Error>>(
    normalization: &Normalization,
    a: &str,
    b: &str,
    check: Check,
    visit: &mut dyn FnMut(FoundIn, &str) -> Result<(), E>,
) -> Result<(), E> {
    let mut vocabulary = Vocabulary::new(normalization);
    let words_a = vocabulary.words(a, check)?;
    let words_b = vocabulary.words(b, check)?;
    let distinct = vocabulary.of_normalized.len();
    let diff = changes(&words_a.tokens, &words_b.tokens, distinct, check)?;
    let text = |text: &'_ str, words: &WordTokens, range: Range<usize>| -> Range<usize> {
        let start = words.start(range.start, text.len());
        start..words.start(range.end, text.len())
    };
    let mut part = |found_in, text: &str, range: Range<usize>| {
        check();
        if range.is_empty() { Ok(()) } else { visit(found_in, &text[range]) }
    };
    let mut both = 0;
    for (only_a, only_b) in diff.hunks() {
        part(FoundIn::Both, a, text(a, &words_a, both..only_a.start))?;
        both = only_a.end;
        part(FoundIn::A, a, text(a, &words_a, only_a))?;
        part(FoundIn::B, b, text(b, &words_b, only_b))?;
    }
    let rest = both..words_a.tokens.len();
    part(FoundIn::Both, a, text(a, &words_a, rest))
}

/// The words of a text.
struct WordTokens {
    tokens: Vec<u32>,
    /// The start of each: behind the white space of the one before.
    starts: Vec<u32>,
}

impl WordTokens {
    /// The start of the word of that number, or the end of the text of `len` bytes.
    fn start(&self, word: usize, len: usize) -> usize {
        self.starts.get(word).map_or(len, |start| *start as usize)
    }
}

/// Numbers for words, equal for equal words.
struct Vocabulary<'a> {
    normalization: &'a Normalization,
    /// Of words as they are written, so that each is normalised once.
    of_written: HashMap<&'a str, u32, RandomState>,
    of_normalized: HashMap<Cow<'a, str>, u32, RandomState>,
}

impl<'a> Vocabulary<'a> {
    fn new(normalization: &'a Normalization) -> Self {
        Self { normalization, of_written: HashMap::default(), of_normalized: HashMap::default() }
    }

    fn words(&mut self, text: &'a str, check: Check) -> Result<WordTokens, Error> {
        let mut words = WordTokens { tokens: Vec::new(), starts: Vec::new() };
        for (place, piece) in text.split_word_bound_indices() {
            if words.tokens.len().is_multiple_of(STRETCH) {
                check();
            }
            if piece.trim().is_empty() && !words.tokens.is_empty() {
                continue;
            }
            if words.tokens.len() == MAX_DIFF_WORDS {
                return Err(Error::DiffWords);
            }
            memory::push(&mut words.tokens, self.number(piece, check)?)?;
            memory::push(&mut words.starts, place as u32)?;
        }
        Ok(words)
    }

    fn number(&mut self, word: &'a str, check: Check) -> Result<u32, Error> {
        if let Some(number) = self.of_written.get(word) {
            return Ok(*number);
        }
        let next = self.of_normalized.len() as u32;
        let refused = |_| memory::refused::<(&str, u32)>(next as usize + 1);
        self.of_written.try_reserve(1).map_err(refused)?;
        self.of_normalized.try_reserve(1).map_err(refused)?;
        let number = match self.of_normalized.entry(self.normalization.normalize(word, check)?) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => *new.insert(next),
        };
        self.of_written.insert(word, number);
        Ok(number)
    }
}
