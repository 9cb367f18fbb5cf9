//! The starts of the characters of a text.

use std::ops::Range;

use crate::error::Error;
use crate::memory;

/// The bytes at which the characters of a text start.
pub struct CharacterOffsets<'a> {
    text: &'a str,
    /// Of one in [`EACH`] characters; none if each is a byte.
    some: Vec<u32>,
}

/// Characters from one offset that is kept to the next.
const EACH: usize = 64;

impl<'a> CharacterOffsets<'a> {
    /// Those of `text`, which has less than 4 GiB.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn of(text: &'a str) -> Result<Self, Error> {
        let mut some = Vec::new();
        if !text.is_ascii() {
            let starts = text.char_indices().step_by(EACH).map(|(at, _)| at as u32);
            some = memory::collect(starts)?;
        }
        Ok(Self { text, some })
    }

    /// The bytes of a range of characters, counted from 0.
    #[must_use]
    pub fn bytes(&self, range: &Range<usize>) -> Range<usize> {
        self.at(range.start)..self.at(range.end)
    }

    /// The byte where a character starts.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_those_of_the_characters() {
        let wide: String = (0..300).map(|i| if i % 3 == 0 { '漢' } else { 'a' }).collect();
        for text in ["", "plain text", "é", &wide] {
            let offsets = CharacterOffsets::of(text).unwrap();
            let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            for (character, start) in starts.iter().enumerate() {
                assert_eq!(offsets.bytes(&(character..starts.len())), *start..text.len());
            }
        }
    }
}
