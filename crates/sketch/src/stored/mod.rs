//! Texts as a database stores them: compressed or not, and of bytes that need not be characters.
//!
//! The reader of a table hands such bytes over as they are, and who needs the text makes it of them: a thread,
//! as a rule.

mod any_bytes;
mod pglz;

use std::borrow::Cow;

use crate::error::Error;
use crate::memory;
use crate::text::utf8;

pub use any_bytes::{byte_of, is_of_byte, of_any_bytes, push_byte};

/// Bytes that are as they are, or that were compressed.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
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

    /// PostgreSQL's pglz has compressed so many bytes; `None` if it cannot have.
    #[must_use]
    pub fn pglz(size: usize) -> Option<Self> {
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

impl<'a> Stored<'a> {
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
        if size / pglz::MOST > self.bytes.len() {
            return Err(Error::Damaged);
        }
        if room.len() < size {
            memory::resize(room, size, 0)?;
        }
        let out = &mut room[..size];
        pglz::decompress(self.bytes, out)?;
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
