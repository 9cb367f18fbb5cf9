//! Which words of a normalised text count, and which start a shingle.

use super::normalize::{Dropped, Normalization};
use super::stop_words::StopWords;
use super::unit::Unit;
use super::words;
use crate::error::Error;
use crate::hash::xxh3;
use crate::simd::Level;

/// How a normalised text is cut into words, and which of them count.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) struct WordRules {
    split_whitespace: bool,
    /// In characters; at most 1 drops nothing.
    min_length: usize,
    dropped: Option<Lookup>,
    anchors: Option<Lookup>,
}

impl WordRules {
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
    pub(crate) fn keeps(&self, word: &str) -> bool {
        // No word has more characters than bytes.
        if self.min_length > 1
            && (word.len() < self.min_length || word.chars().count() < self.min_length)
        {
            return false;
        }
        !self.dropped.as_ref().is_some_and(|dropped| dropped.contains(word))
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
        let mut words: Vec<Box<str>> = list.iter().map(normalized).collect::<Result<_, _>>()?;
        words.retain(|word| !word.is_empty());
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

#[cfg(test)]
mod tests {
    use super::*;

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
