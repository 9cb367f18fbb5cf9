//! Steps as a user writes them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::steps::{Dropped, NormalForm, Normalization, Punctuation};
use crate::error::{Error, excerpt};
use crate::limits::{MAX_MIN_LENGTH, in_range};
use crate::text::stop_words::StopWords;

/// Separates the words of `stop_words=a+the`.
const BETWEEN_WORDS: char = '+';

impl FromStr for Normalization {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut read = Reader::default();
        for word in text.split([' ', ',', '\t', '\n', '\r']).filter(|word| !word.is_empty()) {
            preset(word).unwrap_or(word).split_whitespace().try_for_each(|step| read.step(step))?;
        }
        Ok(read.normalization)
    }
}

/// The steps that the name of a preset stands for.
fn preset(name: &str) -> Option<&'static str> {
    match name {
        "none" => Some(""),
        "plain" => Some("nfkc casefold whitespace"),
        "aggressive" => {
            Some("nfkc casefold diacritics invisible punctuation_space digits whitespace")
        }
        "classic" => {
            Some("casefold punctuation_basic split_whitespace min_length=3 stop_words=the")
        }
        _ => None,
    }
}

/// The steps so far.
#[derive(Default)]
struct Reader<'a> {
    normalization: Normalization,
    /// Each as it was written, after what it sets.
    seen: Vec<(&'static str, &'a str)>,
}

impl<'a> Reader<'a> {
    fn step(&mut self, step: &'a str) -> Result<(), Error> {
        let (name, value) = match step.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (step, None),
        };
        let all = &mut self.normalization;
        let characters = &mut all.characters;
        let sets = match (name, value) {
            ("nfc", None) => set("form", &mut characters.form, NormalForm::Nfc),
            ("nfkc", None) => set("form", &mut characters.form, NormalForm::Nfkc),
            ("casefold", None) => set("casefold", &mut characters.casefold, true),
            ("diacritics", None) => set("diacritics", &mut characters.diacritics, true),
            ("punctuation", None) => {
                set("punctuation", &mut characters.punctuation, Punctuation::Removed)
            }
            ("punctuation_space", None) => {
                set("punctuation", &mut characters.punctuation, Punctuation::Space)
            }
            ("punctuation_basic", None) => {
                set("punctuation", &mut characters.punctuation, Punctuation::BasicRemoved)
            }
            ("digits", None) => set("digits", &mut characters.digits, true),
            ("invisible", None) => set("invisible", &mut characters.invisible, true),
            ("whitespace", None) => set("whitespace", &mut characters.whitespace, true),
            ("split_whitespace", None) => set("split", &mut all.split_whitespace, true),
            ("min_length", Some(value)) => set("min_length", &mut all.min_length, length(value)?),
            ("min_length", None) => return Err(Error::MinLength(String::new())),
            ("stop_words", None) => set("stop_words", &mut all.stop_words, Dropped::Configured),
            ("stop_words", Some(list)) => {
                let words = StopWords::listed(list, BETWEEN_WORDS)?;
                if words.is_empty() {
                    return Err(Error::UnknownStep(excerpt(step)));
                }
                set("stop_words", &mut all.stop_words, Dropped::These(Arc::new(words)))
            }
            _ => return Err(Error::UnknownStep(excerpt(step))),
        };
        match self.seen.iter().find(|(seen, _)| *seen == sets) {
            Some((_, before)) if *before == step => Err(Error::RepeatedStep(excerpt(step))),
            Some((_, before)) => Err(contradiction(before, step)),
            None => {
                self.seen.push((sets, step));
                Ok(())
            }
        }
    }
}

/// Stores a value, and names what it was stored as.
fn set<T>(what: &'static str, place: &mut T, value: T) -> &'static str {
    *place = value;
    what
}

fn length(value: &str) -> Result<usize, Error> {
    let number = value.parse().ok().and_then(|number| in_range(number, MAX_MIN_LENGTH));
    match number {
        // Nothing is shorter than one character: the step is none.
        Some(1) => Ok(0),
        Some(number) => Ok(number),
        None => Err(Error::MinLength(excerpt(value))),
    }
}

fn contradiction(first: &str, second: &str) -> Error {
    Error::ContradictorySteps(excerpt(first), excerpt(second))
}

/// The steps in the order in which they are done, or `none`; [`FromStr`] reads
/// it back.
impl fmt::Display for Normalization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let characters = &self.characters;
        let form = match characters.form {
            NormalForm::AsWritten => "",
            NormalForm::Nfc => "nfc",
            NormalForm::Nfkc => "nfkc",
        };
        let punctuation = match characters.punctuation {
            Punctuation::Kept => "",
            Punctuation::Removed => "punctuation",
            Punctuation::Space => "punctuation_space",
            Punctuation::BasicRemoved => "punctuation_basic",
        };
        let min_length = match self.min_length {
            0 | 1 => String::new(),
            length => format!("min_length={length}"),
        };
        let stop_words = match &self.stop_words {
            Dropped::Nothing => String::new(),
            Dropped::Configured => "stop_words".to_owned(),
            Dropped::These(list) => {
                let words: Vec<&str> = list.iter().collect();
                format!("stop_words={}", words.join(&BETWEEN_WORDS.to_string()))
            }
        };
        let switch = |on, name| if on { name } else { "" };
        let steps = [
            form,
            switch(characters.casefold, "casefold"),
            switch(characters.diacritics, "diacritics"),
            switch(characters.invisible, "invisible"),
            punctuation,
            switch(characters.digits, "digits"),
            switch(characters.whitespace, "whitespace"),
            switch(self.split_whitespace, "split_whitespace"),
            &min_length,
            &stop_words,
        ];
        let steps: Vec<&str> = steps.into_iter().filter(|step| !step.is_empty()).collect();
        match &steps[..] {
            [] => f.write_str("none"),
            steps => f.write_str(&steps.join(" ")),
        }
    }
}
