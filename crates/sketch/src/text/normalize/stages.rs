//! The stages of a normalisation, one after the other: markup, characters, numbers.

use std::borrow::Cow;

use super::html::without_markup;
use super::numbers::without_numbers;
use super::places::{Origins, PlaceRecord};
use super::quick::normalized;
use super::steps::Normalization;
use crate::{Check, Result};

/// The number of times that a text is searched for markup, at most. That of pages is gone after one, or two where it
/// was escaped.
const ROUNDS: usize = 16;

impl Normalization {
    /// `text` after the steps on characters; borrowed if they change nothing. What the steps on tokens keep is seen by
    /// [`tokens`](crate::tokens) and, for units of characters, by [`normalize_text`](crate::normalize_text).
    ///
    /// `check` is called at least every 64 KiB of text.
    pub fn normalize<'a>(&self, text: &'a str, check: Check) -> Result<Cow<'a, str>> {
        self.apply(text, None, check)
    }

    /// The same, and where its characters come from.
    pub(crate) fn normalize_with_places<'a>(&self, text: &'a str, check: Check) -> Result<(Cow<'a, str>, Origins)> {
        let mut places = Origins::default();
        match self.apply(text, Some(&mut places), check)? {
            Cow::Borrowed(text) => Ok((Cow::Borrowed(text), Origins::default())),
            changed => Ok((changed, places)),
        }
    }

    fn apply<'a>(&self, text: &'a str, places: Option<&mut Origins>, check: Check) -> Result<Cow<'a, str>> {
        let mut staged = Staged { text: Cow::Borrowed(text), places };
        let (mut rounds, mut is_first) = (ROUNDS, true);
        loop {
            let mut had_markup = false;
            // What stands for other markup is markup, whatever the next stages make of its characters.
            while self.html && rounds > 0 && staged.pass(&mut without_markup, check)? {
                (rounds, had_markup) = (rounds - 1, true);
            }
            if !is_first && !had_markup {
                break;
            }
            is_first = false;
            let mut characters = |text: &str, record: Option<&mut PlaceRecord>, check: Check| {
                normalized(self.characters, text, record, check)
            };
            staged.pass(&mut characters, check)?;
            // A zero may make a number of what is next to it: three times at most.
            while self.numbers && staged.pass(&mut without_numbers, check)? {}
        }
        // A stage may have changed what another one changed back.
        Ok(if *staged.text == *text { Cow::Borrowed(text) } else { staged.text })
    }
}

/// A stage: the text that it makes of a text, or `None` if it changes nothing.
type Stage<'a> = &'a mut dyn FnMut(&str, Option<&mut PlaceRecord>, Check) -> Result<Option<String>>;

/// A text between two stages.
struct Staged<'a, 'b> {
    text: Cow<'a, str>,
    /// The places that its characters come from, if they are asked for.
    places: Option<&'b mut Origins>,
}

impl Staged<'_, '_> {
    /// Applies a stage. Returns whether it changed the text.
    fn pass(&mut self, stage: Stage, check: Check) -> Result<bool> {
        let mut record = self.places.is_some().then(PlaceRecord::default);
        let Some(changed) = stage(&self.text, record.as_mut(), check)? else { return Ok(false) };
        self.text = Cow::Owned(changed);
        if let (Some(places), Some(record)) = (&mut self.places, record) {
            places.push(record)?;
        }
        Ok(true)
    }
}
