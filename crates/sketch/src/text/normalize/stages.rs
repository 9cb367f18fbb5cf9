//! Applies the stages of a normalisation in order: markup, characters, numbers.

use std::borrow::Cow;

use super::html::without_markup;
use super::numbers::without_numbers;
use super::places::{Origins, PlaceRecord};
use super::quick::normalized;
use super::steps::Normalization;
use crate::{Check, Result};

/// Maximum number of searches for markup. The markup of pages is gone after one, or after two if it was escaped.
const ROUNDS: usize = 16;

impl Normalization {
    /// Returns `text` after the steps on characters; borrowed if they change nothing. The steps on tokens are applied
    /// by [`tokens`](crate::tokens) and, for units of characters, by [`normalize_text`](crate::normalize_text).
    ///
    /// `check` is called at least every 64 KiB of text.
    pub fn normalize<'a>(&self, text: &'a str, check: Check) -> Result<Cow<'a, str>> {
        self.apply(text, None, check)
    }

    /// Like [`Self::normalize`], with the origins of the characters.
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
            // Escaped markup becomes markup, whatever the next stages do to its characters.
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
            // A zero may complete an adjacent number: three passes at most.
            while self.numbers && staged.pass(&mut without_numbers, check)? {}
        }
        // Stages may have cancelled each other's changes.
        Ok(if *staged.text == *text { Cow::Borrowed(text) } else { staged.text })
    }
}

/// A stage: returns the changed text, or `None` if nothing changes.
type Stage<'a> = &'a mut dyn FnMut(&str, Option<&mut PlaceRecord>, Check) -> Result<Option<String>>;

/// A text between stages.
struct Staged<'a, 'b> {
    text: Cow<'a, str>,
    /// The origins of its characters, if they are recorded.
    places: Option<&'b mut Origins>,
}

impl Staged<'_, '_> {
    /// Applies a stage. True if it changed the text.
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
