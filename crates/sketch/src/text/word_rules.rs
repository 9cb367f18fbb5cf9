//! The units that shingles are windows of; the words of a normalised text that count, and those that start a shingle.

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

/// The unit that a shingle is a window of.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Unit {
    /// Unicode scalar values.
    #[default]
    Char,
    /// Words as Unicode Standard Annex 29 cuts them; what is between words does not count.
    ///
    /// Scripts with spaces give what a reader calls words (Latin, Greek, Cyrillic, Hebrew, Arabic, Korean by the
    /// eojeol). Others need a dictionary, which Annex 29 does without: Chinese characters, hiragana and Thai letters
    /// (with the marks on them) are a word each, and a run of katakana is one word. So shingles of words are there what
    /// shingles of characters are elsewhere. Emoji, like punctuation, are not words.
    Word,
    /// Words, of whose windows only those count that start with a stop word (Rajaraman and Ullman, Mining of Massive
    /// Datasets, 3.2.4): the prose of a page has stop words, the navigation around it has not. The stop words are those
    /// of [`Config::with_stop_words`](crate::Config::with_stop_words).
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

/// The rules by which a normalised text is cut into words, and by which words count.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct WordRules {
    split_whitespace: bool,
    /// In characters; at most 1 drops nothing.
    min_length: usize,
    dropped: Option<Listed>,
    anchors: Option<Listed>,
}

impl WordRules {
    /// The rules of a configuration, whose list is `stop_words`.
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

    /// Calls `f` for each word of a piece of a normalised text that counts, with the bytes at which
    /// it starts and ends. `check` is called once, and as by [`words::each`].
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

    /// Calls `f` for each word of a piece that counts, up to its first error.
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
        // No word has more characters than bytes.
        if self.min_length > 1 && (word.len() < self.min_length || word.chars().count() < self.min_length) {
            return false;
        }
        !self.dropped.as_ref().is_some_and(|dropped| dropped.contains(word))
    }
}

/// Normalised words, to be looked up.
type Listed = HashSet<Box<str>, RandomState>;

/// The words of a list, normalised as texts are. A list is short (`MAX_STOP_WORDS`).
fn listed(list: &StopWords, normalization: &Normalization) -> Result<Listed> {
    let mut listed = Listed::default();
    for word in list.iter() {
        let normalized = normalization.normalize(word, &mut || ())?;
        memory::insert(&mut listed, normalized.trim().into())?;
    }
    Ok(listed)
}
