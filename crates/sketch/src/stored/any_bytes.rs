//! A text of bytes that need not be characters: no byte is refused, and no two texts become one.
//!
//! A byte that is not a part of a character becomes a private character, [`PRIVATE`] plus the byte. Hashes of what
//! is made of them are stored, so this never changes. On the way back they become those bytes.

use crate::error::Error;
use crate::memory;

/// The private character of a byte is this code point and the byte. Bytes below 0x80 are
/// characters in every encoding of a database: U+10FE80 to U+10FEFF are taken.
const PRIVATE: u32 = 0x10FE00;

/// UTF-8 where it is that; the private characters themselves are taken for bytes, so that no other
/// text becomes the same.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn of_any_bytes(bytes: &[u8]) -> Result<String, Error> {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(at) = rest.find(is_of_byte) {
            let (before, private) = rest.split_at(at);
            let (private, after) = private.split_at(char::len_utf8('\u{10FE80}'));
            memory::push_str(&mut text, before)?;
            private.bytes().try_for_each(|byte| push_byte(&mut text, byte))?;
            rest = after;
        }
        memory::push_str(&mut text, rest)?;
        chunk.invalid().iter().try_for_each(|byte| push_byte(&mut text, *byte))?;
    }
    Ok(text)
}

/// Adds the private character of a byte, which is not ASCII, to a text.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn push_byte(text: &mut String, byte: u8) -> Result<(), Error> {
    let character =
        char::from_u32(PRIVATE + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER);
    memory::push_str(text, character.encode_utf8(&mut [0; 4]))
}

/// True if a character stands for a byte.
#[must_use]
pub fn is_of_byte(character: char) -> bool {
    (PRIVATE + 0x80..=PRIVATE + 0xFF).contains(&u32::from(character))
}

/// The byte for which a character stands, of which [`is_of_byte`] is true.
#[must_use]
pub fn byte_of(character: char) -> u8 {
    (u32::from(character) - PRIVATE) as u8
}
