//! Words that say little about a text: which they are, and a quick way to ask.

use std::fmt;
use std::sync::{Arc, LazyLock};

use crate::error::Error;
use crate::normalize::Normalization;
use crate::xxh3;

/// The most bytes that a list may have as a text: with it, all that is made of a list is bounded.
pub const MAX_STOP_WORDS: usize = 1 << 16;

/// What the built-in list is called.
const ENGLISH_NAME: &str = "english";

/// A list of stop words. Cloning shares it.
///
/// A word is compared with the list after both were normalised by the steps on
/// characters, so one list serves texts with and without capitals if case is
/// folded. An entry that is then more than one token meets none.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct StopWords(Arc<[Box<str>]>);

impl StopWords {
    /// A list of one's own; order and repeats do not matter.
    ///
    /// # Errors
    /// [`Error::StopWords`] for more than [`MAX_STOP_WORDS`] bytes.
    pub fn new<'a>(words: impl IntoIterator<Item = &'a str> + Clone) -> Result<Self, Error> {
        // Each word with a space behind it.
        let bytes: usize = words.clone().into_iter().map(|word| word.len() + 1).sum();
        if bytes > MAX_STOP_WORDS + 1 {
            return Err(Error::StopWords(bytes - 1));
        }
        Ok(Self::bounded(words.into_iter().map(Into::into).collect()))
    }

    /// A list that is known to be short.
    pub(crate) fn of(words: &[&str]) -> Self {
        Self::bounded(words.iter().map(|word| Box::from(*word)).collect())
    }

    /// The words of a text, with `separator` between them.
    pub(crate) fn listed(text: &str, separator: char) -> Result<Self, Error> {
        if text.len() > MAX_STOP_WORDS {
            return Err(Error::StopWords(text.len()));
        }
        Ok(Self::bounded(text.split(separator).map(Into::into).collect()))
    }

    fn bounded(mut words: Vec<Box<str>>) -> Self {
        words.retain(|word| !word.is_empty());
        words.sort_unstable();
        words.dedup();
        Self(words.into())
    }

    /// The built-in list: the 127 English words of PostgreSQL's
    /// `tsearch_data/english.stop`, which are Snowball's without contractions.
    #[must_use]
    pub fn english() -> Self {
        static LIST: LazyLock<StopWords> = LazyLock::new(|| {
            StopWords::bounded(ENGLISH.split_ascii_whitespace().map(Into::into).collect())
        });
        LIST.clone()
    }

    /// The list that a text names: `english` is the built-in one, any other text
    /// is words with white space between them.
    ///
    /// # Errors
    /// [`Error::StopWords`] for a text of more than [`MAX_STOP_WORDS`] bytes.
    pub fn named(text: &str) -> Result<Self, Error> {
        match text.trim() {
            ENGLISH_NAME => Ok(Self::english()),
            words if words.len() > MAX_STOP_WORDS => Err(Error::StopWords(words.len())),
            words => Self::new(words.split_whitespace()),
        }
    }

    /// The number of words.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no word.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The words, in the order of their bytes.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|word| &**word)
    }
}

/// What [`StopWords::named`] reads.
impl fmt::Display for StopWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::english() {
            return f.write_str(ENGLISH_NAME);
        }
        for (i, word) in self.iter().enumerate() {
            if i > 0 {
                f.write_str(" ")?;
            }
            f.write_str(word)?;
        }
        Ok(())
    }
}

/// [`StopWords::english`].
impl Default for StopWords {
    fn default() -> Self {
        Self::english()
    }
}

/// A list of normalised words, hashed.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) struct Lookup {
    words: Vec<Box<str>>,
    /// Bit `min(length, 63)` is set if a word of this many bytes is listed:
    /// most words of a text are told by it.
    lengths: u64,
    /// Word numbers plus one, at the place of the word's hash or the next that
    /// was free; a power of two, at most half of them taken.
    places: Vec<u32>,
}

impl Lookup {
    pub(crate) fn new(list: &StopWords, normalization: &Normalization) -> Result<Self, Error> {
        let normalized = |word| -> Result<Box<str>, Error> {
            Ok(normalization.normalize(word, &mut || ())?.trim().into())
        };
        let list = StopWords::bounded(list.iter().map(normalized).collect::<Result<_, _>>()?);
        let words = list.0.to_vec();
        let mut places = vec![0; (2 * words.len()).next_power_of_two()];
        let mut lengths = 0;
        for (i, word) in words.iter().enumerate() {
            lengths |= 1 << word.len().min(63);
            let mut place = xxh3::hash(word.as_bytes()) as usize;
            while places[place % places.len()] != 0 {
                place += 1;
            }
            let count = places.len();
            places[place % count] = i as u32 + 1;
        }
        Ok(Self { words, lengths, places })
    }

    /// Whether `word`, which is normalised, is listed.
    #[inline]
    pub(crate) fn contains(&self, word: &str) -> bool {
        if self.lengths >> word.len().min(63) & 1 == 0 {
            return false;
        }
        let mask = self.places.len() - 1;
        let mut place = xxh3::hash(word.as_bytes()) as usize & mask;
        while self.places[place] != 0 {
            if *self.words[self.places[place] as usize - 1] == *word {
                return true;
            }
            place = (place + 1) & mask;
        }
        false
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_back() {
        for text in ["english", "", "a the und", " der  die das "] {
            let list = StopWords::named(text).unwrap();
            assert_eq!(StopWords::named(&list.to_string()), Ok(list));
        }
        assert_eq!(StopWords::named("english").unwrap().len(), 127);
        assert_eq!(StopWords::named("the a the").unwrap().to_string(), "a the");
    }

    #[test]
    fn the_english_list_is_the_one_of_postgresql() {
        let english = StopWords::english();
        assert_eq!(english.len(), 127);
        let first: Vec<&str> = english.iter().take(4).collect();
        assert_eq!(first, ["a", "about", "above", "after"]);
    }

    #[test]
    fn a_list_has_no_order_and_no_repeats() {
        assert_eq!(StopWords::new(["b", "", "a", "b"]), StopWords::new(["a", "b"]));
        assert!(StopWords::new([""; 2]).unwrap().is_empty());
    }

    #[test]
    fn a_list_is_short() {
        let list = "a ".repeat(MAX_STOP_WORDS / 2);
        assert_eq!(StopWords::named(&list).unwrap().len(), 1);
        let list = format!("{list} bc");
        let refused = StopWords::named(&list).unwrap_err().to_string();
        assert_eq!(refused, "stop words must have at most 65536 bytes, not 65539");
        assert!(StopWords::new(list.split(' ')).is_err());
    }

    #[test]
    fn what_is_listed_is_found_and_nothing_else() {
        let lookup = Lookup::new(&StopWords::english(), &Normalization::none()).unwrap();
        assert!(StopWords::english().iter().all(|word| lookup.contains(word)));
        let others = ["", "The", "thee", "th", "fox", &"the".repeat(99)];
        assert!(!others.iter().any(|word| lookup.contains(word)));
        let empty = Lookup::new(&StopWords::of(&[]), &Normalization::none()).unwrap();
        assert!(!empty.contains("the") && !empty.contains(""));
    }

    #[test]
    fn lists_are_normalised_as_texts_are() {
        let lookup = |steps: &str| {
            Lookup::new(&StopWords::of(&["\u{dc}ber", " Don't "]), &steps.parse().unwrap()).unwrap()
        };
        assert!(lookup("casefold diacritics").contains("uber"));
        assert!(lookup("casefold punctuation").contains("dont"));
        assert!(lookup("none").contains("Don't"));
    }
}
