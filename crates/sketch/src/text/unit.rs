//! The units that shingles are windows of.

use std::fmt;
use std::str::FromStr;

use crate::error::excerpt;
use crate::{Error, Result};

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
