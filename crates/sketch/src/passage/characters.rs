//! A normalised text as characters, with their positions in the original.

use std::borrow::Cow;
use std::ops::Range;

use crate::simd::Level;
use crate::text::{Normalization, Origins};
use crate::{Check, Result, memory};

/// The characters of a text, for passages.
pub struct Characters<'a> {
    text: Cow<'a, str>,
    /// The code points.
    codes: Vec<u32>,
    places: Origins,
}

impl<'a> Characters<'a> {
    /// The characters of `text` under `normalization`, without its steps on tokens.
    pub fn of(normalization: &Normalization, text: &'a str, check: Check) -> Result<Self> {
        let text = normalization.normalize(text, check)?;
        Self::read(text, Origins::default(), check)
    }

    /// Like [`Self::of`], with the data for [`Self::original`].
    pub fn with_places(normalization: &Normalization, text: &'a str, check: Check) -> Result<Self> {
        let (text, places) = normalization.normalize_with_places(text, check)?;
        Self::read(text, places, check)
    }

    fn read(text: Cow<'a, str>, places: Origins, check: Check) -> Result<Self> {
        /// Bytes between two calls of `check`.
        const PIECE: usize = 64 * 1024;
        let is_ascii = text.is_ascii();
        let count = if is_ascii { text.len() } else { text.chars().count() };
        let (mut codes, mut rest) = (memory::with_capacity(count)?, &*text);
        while !rest.is_empty() {
            check();
            let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE));
            match is_ascii {
                true => Level::best().compiled(|| codes.extend(piece.bytes().map(u32::from))),
                false => codes.extend(piece.chars().map(u32::from)),
            }
            rest = after;
        }
        Ok(Self { text, codes, places })
    }

    /// The same characters, without [`Self::text`].
    pub fn without_text(self) -> Characters<'static> {
        Characters { text: Cow::Borrowed(""), codes: self.codes, places: self.places }
    }

    /// Number of characters.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// The normalised text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The characters of the original, from 0, from which a range of these comes. It is widened to characters that were
    /// normalised together, such as a letter with its marks, or a ligature.
    pub fn original(&self, range: Range<usize>) -> Range<usize> {
        self.places.original(range)
    }

    pub(super) fn codes(&self) -> &[u32] {
        &self.codes
    }

    pub(super) fn into_codes(self) -> Vec<u32> {
        self.codes
    }
}

/// Number of characters compared at once: few enough that a mismatch costs little.
const LANES: usize = 16;

/// Length of the common prefix.
#[inline]
pub(super) fn common(a: &[u32], b: &[u32]) -> usize {
    let blocks = a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0);
    let whole = LANES * blocks.take_while(|(a, b)| a == b).count();
    let rest = a[whole..].iter().zip(&b[whole..]);
    whole + rest.take_while(|(a, b)| a == b).count()
}

/// Length of the common suffix, up to `limit`.
#[inline]
pub(super) fn common_back(a: &[u32], b: &[u32], limit: usize) -> usize {
    let pairs = a.iter().rev().zip(b.iter().rev()).take(limit);
    pairs.take_while(|(a, b)| a == b).count()
}

/// The byte offsets of a text's characters.
pub struct CharacterOffsets<'a> {
    text: &'a str,
    /// The offset of every [`EACH`]-th character; empty for ASCII.
    some: Vec<u32>,
}

/// Number of characters between two stored offsets.
const EACH: usize = 64;

impl<'a> CharacterOffsets<'a> {
    /// The offsets of `text`, which is shorter than 4 GiB.
    pub fn of(text: &'a str) -> Result<Self> {
        let mut some = Vec::new();
        if !text.is_ascii() {
            let starts = text.char_indices().step_by(EACH).map(|(at, _)| at as u32);
            some = memory::collect(starts)?;
        }
        Ok(Self { text, some })
    }

    /// The bytes of a range of characters, from 0.
    pub fn bytes(&self, range: &Range<usize>) -> Range<usize> {
        self.at(range.start)..self.at(range.end)
    }

    fn at(&self, character: usize) -> usize {
        if self.some.is_empty() {
            return character.min(self.text.len());
        }
        let Some(&near) = self.some.get(character / EACH) else { return self.text.len() };
        let near = near as usize;
        let mut after = self.text[near..].char_indices().map(|(at, _)| near + at);
        after.nth(character % EACH).unwrap_or(self.text.len())
    }
}
