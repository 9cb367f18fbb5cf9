//! The units of shingles, the words of a normalised text that count, and the words that start a shingle.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use ahash::RandomState;

use super::normalize::{Dropped, Normalization};
use super::stop_words::StopWords;
use super::words;
use crate::error::excerpt;
use crate::limits::checked;
use crate::simd::Level;
use crate::{Check, Error, Result, memory};

/// The unit of shingles.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Unit {
    /// Unicode scalar values.
    #[default]
    Char,
    /// Words by Unicode Standard Annex 29; text between words does not count.
    ///
    /// In scripts with spaces these are a reader's words (Latin, Greek, Cyrillic, Hebrew, Arabic, and the eojeol of
    /// Korean). Other scripts would need a dictionary, which Annex 29 does not use: Chinese characters, hiragana and
    /// Thai letters (with their marks) are a word each, and a run of katakana is one word. So shingles of words there
    /// resemble shingles of characters elsewhere. Emoji and punctuation are not words.
    Word,
    /// Words, where only windows that start with a stop word count (Rajaraman and Ullman, Mining of Massive Datasets,
    /// 3.2.4): the prose of a page has stop words, and the navigation around it does not.
    /// [`Config::with_stop_words`](crate::Config::with_stop_words) sets the stop words.
    Anchored,
}

impl Unit {
    /// The name that [`FromStr`] reads.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Char => "char",
            Self::Word => "word",
            Self::Anchored => "anchored",
        }
    }
}

impl FromStr for Unit {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let mut units = [Self::Char, Self::Word, Self::Anchored].into_iter();
        let known = units.find(|unit| unit.as_str() == name);
        known.ok_or_else(|| Error::UnknownUnit(excerpt(name)))
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The rules for splitting a normalised text into words, and for the words that count.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct WordRules {
    split_whitespace: bool,
    /// In characters; 0 and 1 drop nothing.
    min_length: usize,
    dropped: Option<Listed>,
    anchors: Option<Listed>,
}

impl WordRules {
    /// The rules of a configuration with the list `stop_words`.
    pub(crate) fn new(unit: Unit, normalization: &Normalization, stop_words: &StopWords) -> Result<Self> {
        Ok(Self {
            split_whitespace: normalization.split_whitespace,
            min_length: normalization.min_length,
            dropped: match &normalization.stop_words {
                Dropped::Nothing => None,
                Dropped::Configured => Some(listed(stop_words, normalization)?),
                Dropped::These(list) => Some(listed(list, normalization)?),
            },
            anchors: (unit == Unit::Anchored).then(|| listed(stop_words, normalization)).transpose()?,
        })
    }

    /// Calls `f` with the start and end bytes of each counted word in a piece of a normalised text. `check` is called
    /// once, and as by [`words::each`].
    #[inline(always)]
    pub(crate) fn words(&self, level: Level, piece: &str, check: Check, mut f: impl FnMut(usize, usize)) {
        check();
        if self.split_whitespace {
            let words = piece.split_whitespace().filter(|word| self.keeps(word));
            for word in checked(words, check) {
                let start = word.as_ptr().addr() - piece.as_ptr().addr();
                f(start, start + word.len());
            }
            return;
        }
        let all = self.min_length <= 1 && self.dropped.is_none();
        words::each(
            level,
            piece,
            check,
            #[inline(always)]
            |start, end| {
                if all || self.keeps(&piece[start..end]) {
                    f(start, end);
                }
            },
        );
    }

    /// Calls `f` with each counted word in a piece, up to its first error.
    pub(crate) fn try_words(&self, piece: &str, check: Check, f: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        let mut outcome = Ok(());
        self.words(Level::best(), piece, check, |start, end| {
            if outcome.is_ok() {
                outcome = f(&piece[start..end]);
            }
        });
        outcome
    }

    /// True if a shingle can start with `word`.
    #[inline]
    pub(crate) fn starts_shingle(&self, word: &str) -> bool {
        self.anchors.as_ref().is_none_or(|anchors| anchors.contains(word))
    }

    #[inline]
    pub(crate) fn keeps(&self, word: &str) -> bool {
        // A word has at most as many characters as bytes.
        if self.min_length > 1 && (word.len() < self.min_length || word.chars().count() < self.min_length) {
            return false;
        }
        !self.dropped.as_ref().is_some_and(|dropped| dropped.contains(word))
    }
}

/// Normalised words, for look-ups.
type Listed = HashSet<Box<str>, RandomState>;

/// The words of a list, normalised like texts. A list is short (`MAX_STOP_WORDS`).
fn listed(list: &StopWords, normalization: &Normalization) -> Result<Listed> {
    let mut listed = Listed::default();
    for word in list.iter() {
        let normalized = normalization.normalize(word, &mut || ())?;
        memory::insert(&mut listed, normalized.trim().into())?;
    }
    Ok(listed)
}
