//! Lists of stop words, which carry little meaning.

use std::fmt::{self, Write};
use std::sync::{Arc, LazyLock};

use crate::{Error, MAX_STOP_WORDS, Result, memory};

const ENGLISH_NAME: &str = "english";

/// A list of stop words. Cloning shares it.
///
/// A word is compared with the list after both were normalised by the steps on characters, so that one list serves
/// texts with and without capitals if case is folded. An entry that becomes more than one token matches nothing.
///
/// A `Vec`, because `Arc` compares sized values by pointer first, without reading the words; lists are compared often.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct StopWords(Arc<Vec<Box<str>>>);

impl StopWords {
    /// A list of `words`; order and repeats do not matter.
    ///
    /// # Errors
    /// [`Error::StopWords`] for more than [`MAX_STOP_WORDS`] bytes.
    pub fn new<'a>(words: impl IntoIterator<Item = &'a str> + Clone) -> Result<Self> {
        // Each word with a space after it.
        let bytes: usize = words.clone().into_iter().map(|word| word.len() + 1).sum();
        if bytes > MAX_STOP_WORDS + 1 {
            return Err(Error::StopWords(bytes - 1));
        }
        Ok(Self::bounded(memory::collect(words.into_iter().map(Into::into))?))
    }

    fn bounded(mut words: Vec<Box<str>>) -> Self {
        words.retain(|word| !word.is_empty());
        words.sort_unstable();
        words.dedup();
        Self(Arc::new(words))
    }

    /// The built-in list: the 127 English words of the Snowball project, without contractions.
    pub fn english() -> Self {
        static LIST: LazyLock<StopWords> =
            LazyLock::new(|| StopWords::bounded(ENGLISH.split_ascii_whitespace().map(Into::into).collect()));
        LIST.clone()
    }

    /// The list that a text names: `english` is the built-in one; any other text consists of words separated by white
    /// space.
    ///
    /// # Errors
    /// [`Error::StopWords`] for a text of more than [`MAX_STOP_WORDS`] bytes.
    pub fn named(text: &str) -> Result<Self> {
        match text.trim() {
            ENGLISH_NAME => Ok(Self::english()),
            words if words.len() > MAX_STOP_WORDS => Err(Error::StopWords(words.len())),
            words => Self::new(words.split_whitespace()),
        }
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are no words.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The words, in the order of their bytes.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|word| &**word)
    }

    /// Writes the words one by one, separated by `between`, because a list may be long.
    pub(crate) fn write(&self, f: &mut fmt::Formatter<'_>, between: char) -> fmt::Result {
        self.iter().enumerate().try_for_each(|(place, word)| {
            if place > 0 {
                f.write_char(between)?;
            }
            f.write_str(word)
        })
    }
}

/// The notation that [`StopWords::named`] parses.
impl fmt::Display for StopWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::english() { f.write_str(ENGLISH_NAME) } else { self.write(f, ' ') }
    }
}

/// [`StopWords::english`].
impl Default for StopWords {
    fn default() -> Self {
        Self::english()
    }
}

const ENGLISH: &str = "\
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself \
    she her hers herself it its itself they them their theirs themselves what which who whom \
    this that these those am is are was were be been being have has had having do does did \
    doing a an the and but if or because as until while of at by for with about against between \
    into through during before after above below to from up down in out on off over under again \
    further then once here there when where why how all any both each few more most other some \
    such no nor not only own same so than too very s t can will just don should now";
