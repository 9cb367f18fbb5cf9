//! Words that say little about a text: which they are, and a quick way to ask.

use std::fmt;
use std::sync::{Arc, LazyLock};

use crate::normalize::Normalization;
use crate::xxh3;

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
    #[must_use]
    pub fn new<T: Into<Box<str>>>(words: impl IntoIterator<Item = T>) -> Self {
        let mut words: Vec<Box<str>> = words.into_iter().map(Into::into).collect();
        words.retain(|word| !word.is_empty());
        words.sort_unstable();
        words.dedup();
        Self(words.into())
    }

    /// The built-in list: the 127 English words of PostgreSQL's
    /// `tsearch_data/english.stop`, which are Snowball's without contractions.
    #[must_use]
    pub fn english() -> Self {
        static LIST: LazyLock<StopWords> =
            LazyLock::new(|| StopWords::new(ENGLISH.split_ascii_whitespace()));
        LIST.clone()
    }

    /// The list that a text names: `english` is the built-in one, any other text
    /// is words with white space between them.
    #[must_use]
    pub fn named(text: &str) -> Self {
        match text.trim() {
            ENGLISH_NAME => Self::english(),
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
    pub(crate) fn new(list: &StopWords, normalization: &Normalization) -> Self {
        let normalized = |word| normalization.normalize(word, &mut || ()).trim().into();
        let list = StopWords::new(list.iter().map(normalized).collect::<Vec<Box<str>>>());
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
        Self { words, lengths, places }
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
            let list = StopWords::named(text);
            assert_eq!(StopWords::named(&list.to_string()), list);
        }
        assert_eq!(StopWords::named("english").len(), 127);
        assert_eq!(StopWords::named("the a the").to_string(), "a the");
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
        let list = StopWords::new(["b", "", "a", "b"]);
        assert_eq!(list, StopWords::new(["a".to_owned(), "b".to_owned()]));
        assert!(StopWords::new([""; 2]).is_empty());
    }

    #[test]
    fn what_is_listed_is_found_and_nothing_else() {
        let lookup = Lookup::new(&StopWords::english(), &Normalization::none());
        assert!(StopWords::english().iter().all(|word| lookup.contains(word)));
        let others = ["", "The", "thee", "th", "fox", &"the".repeat(99)];
        assert!(!others.iter().any(|word| lookup.contains(word)));
        let empty = Lookup::new(&StopWords::new([""; 0]), &Normalization::none());
        assert!(!empty.contains("the") && !empty.contains(""));
    }

    #[test]
    fn lists_are_normalised_as_texts_are() {
        let lookup = |steps: &str| {
            Lookup::new(&StopWords::new(["\u{dc}ber", " Don't "]), &steps.parse().unwrap())
        };
        assert!(lookup("casefold diacritics").contains("uber"));
        assert!(lookup("casefold punctuation").contains("dont"));
        assert!(lookup("none").contains("Don't"));
    }
}
