//! A normalised text as characters, with their places in the original.

use std::borrow::Cow;
use std::ops::Range;

use crate::error::Error;
use crate::memory;
use crate::text::{Normalization, Places};

/// The characters of a text that passages are made of.
pub struct Characters<'a> {
    text: Cow<'a, str>,
    /// Code points, unless the text is ASCII.
    wide: Option<Vec<u32>>,
    places: Places,
}

/// The characters in the form in which they are hashed.
#[derive(Clone, Copy)]
pub(super) enum Units<'a> {
    Bytes(&'a [u8]),
    Wide(&'a [u32]),
}

impl<'a> Characters<'a> {
    /// The characters of `text` under `normalization`, whose steps on tokens do not count.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn of(
        normalization: &Normalization,
        text: &'a str,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Self, Error> {
        let text = normalization.normalize(text, check_interrupts)?;
        Self::read(text, Places::default(), check_interrupts)
    }

    /// The same, so that [`Self::original`] can be asked where they come from.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn with_places(
        normalization: &Normalization,
        text: &'a str,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Self, Error> {
        let (text, places) = normalization.normalize_with_places(text, check_interrupts)?;
        Self::read(text, places, check_interrupts)
    }

    fn read(
        text: Cow<'a, str>,
        places: Places,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Self, Error> {
        /// Bytes between two calls of `check_interrupts`.
        const PIECE: usize = 64 * 1024;
        let mut wide = None;
        if !text.is_ascii() {
            let mut units = memory::with_capacity(text.chars().count())?;
            let mut rest = &*text;
            while !rest.is_empty() {
                check_interrupts();
                let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE));
                units.extend(piece.chars().map(u32::from));
                rest = after;
            }
            wide = Some(units);
        }
        Ok(Self { text, wide, places })
    }

    /// The same characters, apart from the text that they were read from.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn into_owned(self) -> Result<Characters<'static>, Error> {
        let text = match self.text {
            Cow::Borrowed(text) => memory::owned(text)?,
            Cow::Owned(text) => text,
        };
        Ok(Characters { text: Cow::Owned(text), wide: self.wide, places: self.places })
    }

    /// The number of characters.
    #[must_use]
    pub fn len(&self) -> usize {
        self.wide.as_ref().map_or(self.text.len(), Vec::len)
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The normalised text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The characters of the original, counted from 0, that a range of these comes from. It is
    /// widened to what was normalised together: a letter with its marks, a ligature.
    #[must_use]
    pub fn original(&self, range: Range<usize>) -> Range<usize> {
        self.places.original(range)
    }

    pub(super) fn units(&self) -> Units<'_> {
        match &self.wide {
            Some(units) => Units::Wide(units),
            None => Units::Bytes(self.text.as_bytes()),
        }
    }
}
