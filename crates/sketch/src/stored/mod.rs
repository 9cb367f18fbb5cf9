//! Texts as a database stores them: compressed or not, and of bytes that need not be characters.
//!
//! The reader of a table hands such bytes over as they are, and who needs the text makes it of them: a thread,
//! as a rule.

mod lz;

use std::borrow::Cow;

use crate::error::Error;
use crate::memory;
use crate::text::utf8;

/// Bytes that are as they are, or that were compressed.
#[derive(Clone, Copy, Debug)]
pub struct StoredBytes<'a> {
    /// The bytes as they are stored.
    pub bytes: &'a [u8],
    /// The way in which they are.
    pub packing: Packing,
}

/// The way in which bytes are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Packing(u32);

impl Packing {
    /// The bytes are as they are.
    pub const PLAIN: Self = Self(0);

    /// So many bytes were compressed, in the format that `lz` describes; `None` if they cannot have been.
    #[must_use]
    pub fn lz(size: usize) -> Option<Self> {
        u32::try_from(size).ok().filter(|size| *size > 0).map(Self)
    }

    /// The packing as a number.
    #[must_use]
    pub fn code(self) -> u32 {
        self.0
    }

    /// The packing that has that [`Packing::code`].
    #[must_use]
    pub fn of_code(code: u32) -> Self {
        Self(code)
    }

    /// The number of bytes of which `stored` are stored.
    #[must_use]
    pub fn size(self, stored: usize) -> usize {
        if self == Self::PLAIN { stored } else { self.0 as usize }
    }
}

impl<'a> StoredBytes<'a> {
    /// Bytes that are as they are.
    #[must_use]
    pub fn plain(bytes: &'a [u8]) -> Self {
        Self { bytes, packing: Packing::PLAIN }
    }

    /// The number of bytes, once they are unpacked.
    #[must_use]
    pub fn size(self) -> usize {
        self.packing.size(self.bytes.len())
    }

    /// The bytes; in `room` if they were compressed. What `room` holds is replaced.
    ///
    /// # Errors
    /// [`Error::Damaged`] if nothing can have been compressed to such bytes, and [`Error::OutOfMemory`].
    pub fn unpacked<'b>(self, room: &'b mut Vec<u8>) -> Result<&'b [u8], Error>
    where
        'a: 'b,
    {
        if self.packing == Packing::PLAIN {
            return Ok(self.bytes);
        }
        let size = self.size();
        // So that damaged numbers take no memory.
        if size / lz::MOST > self.bytes.len() {
            return Err(Error::Damaged);
        }
        if room.len() < size {
            memory::resize(room, size, 0)?;
        }
        let out = &mut room[..size];
        lz::decompress(self.bytes, out)?;
        Ok(out)
    }
}

/// The text that bytes are in a database of UTF-8: of bytes that are not characters, see [`of_any_bytes`].
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn text(bytes: &[u8]) -> Result<Cow<'_, str>, Error> {
    utf8(bytes).map_or_else(|| of_any_bytes(bytes).map(Cow::Owned), |text| Ok(Cow::Borrowed(text)))
}

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
