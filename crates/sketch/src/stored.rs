//! The bytes of documents as they are stored: of texts as a database has them, possibly compressed, and with bytes that
//! need not be characters.
//!
//! The reader of a table passes such bytes on, so that threads decompress them.

use std::borrow::Cow;

use crate::text::utf8;
use crate::{Error, Result, memory};

/// The form of the bytes by which a document is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A text as UTF-8: its shingles are the set.
    Text,
    /// The hashes of a set's elements, of eight bytes each in the byte order of the machine.
    Elements,
    /// The slots of a signature, of four bytes each in the byte order of the machine.
    Signature,
}

/// Bytes that are plain or compressed.
#[derive(Clone, Copy, Debug)]
pub struct StoredBytes<'a> {
    /// The bytes as they are stored.
    pub bytes: &'a [u8],
    /// The way in which they are stored.
    pub packing: Packing,
}

/// The way in which bytes are stored: 0 for plain bytes, or else their uncompressed size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Packing(pub u32);

impl Packing {
    /// Plain bytes.
    pub const PLAIN: Self = Self(0);

    /// `size` bytes were compressed in the format that `decompress` reads; `None` if that size is impossible.
    pub fn lz(size: usize) -> Option<Self> {
        u32::try_from(size).ok().filter(|size| *size > 0).map(Self)
    }

    /// Uncompressed size of a value that takes `stored` bytes.
    pub fn size(self, stored: usize) -> usize {
        if self == Self::PLAIN { stored } else { self.0 as usize }
    }
}

impl<'a> StoredBytes<'a> {
    /// Plain bytes.
    pub fn plain(bytes: &'a [u8]) -> Self {
        Self { bytes, packing: Packing::PLAIN }
    }

    /// Size after decompression.
    pub fn size(self) -> usize {
        self.packing.size(self.bytes.len())
    }

    /// The uncompressed bytes, in `room` if they were compressed; its old content is replaced.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the bytes are not a possible result of compression.
    pub fn unpacked<'b>(self, room: &'b mut Vec<u8>) -> Result<&'b [u8]>
    where
        'a: 'b,
    {
        if self.packing == Packing::PLAIN {
            return Ok(self.bytes);
        }
        let size = self.size();
        // Prevents damaged sizes from allocating memory.
        if size / MOST > self.bytes.len() {
            return Err(Error::Damaged);
        }
        if room.len() < size {
            memory::resize(room, size, 0)?;
        }
        let out = &mut room[..size];
        decompress(self.bytes, out)?;
        Ok(out)
    }
}

/// Length from which a third byte extends the length of a copy.
const EXTENDED: usize = 18;

/// Bytes copied at a time if nothing overlaps and there is enough space.
const BLOCK: usize = 16;

/// Maximum number of bytes that a compressed byte represents: eight copies of 273 take 25 bytes.
const MOST: usize = 88;

/// Decompresses all of `source` to exactly `out`.
///
/// The compression is of the family of Lempel and Ziv (1977), with copies from the last 4 kB.
///
/// Eight bits of a byte, the lowest first, describe the next eight items. A zero is followed by a literal byte, and a
/// one by a copy of earlier output:
///
/// | bytes | content |
/// |---|---|
/// | 1 | lower half: the length minus 3; upper half: the upper bits of the distance |
/// | 1 | the lower bits of the distance, which is 1 to 4095 |
/// | 1 if the lower half is 15 | more length, for 18 to 273 in total |
///
/// A copy may overlap its output: a distance of 1 repeats a byte.
fn decompress(source: &[u8], out: &mut [u8]) -> Result<()> {
    let (mut rest, mut at) = (source, 0);
    while at < out.len()
        && let Some((&first, items)) = rest.split_first()
    {
        rest = items;
        let mut control = first;
        if control == 0
            && let (Some((bytes, after)), Some(room)) = (rest.split_first_chunk::<8>(), out[at..].first_chunk_mut())
        {
            *room = *bytes;
            (rest, at) = (after, at + bytes.len());
            continue;
        }
        for _ in 0..8 {
            if at == out.len() || rest.is_empty() {
                break;
            }
            if control & 1 == 0 {
                (out[at], rest) = (rest[0], &rest[1..]);
                at += 1;
            } else {
                let (distance, length) = copy_of(&mut rest).ok_or(Error::Damaged)?;
                if distance == 0 || distance > at {
                    return Err(Error::Damaged);
                }
                at = copy(out, at, distance, length);
            }
            control >>= 1;
        }
    }
    if at == out.len() && rest.is_empty() { Ok(()) } else { Err(Error::Damaged) }
}

/// Reads the distance and the length of a copy from the compressed data.
fn copy_of(rest: &mut &[u8]) -> Option<(usize, usize)> {
    let (&[first, second], mut after) = rest.split_first_chunk()?;
    let (first, second) = (usize::from(first), usize::from(second));
    let mut length = (first & 0x0F) + 3;
    if length == EXTENDED {
        let (&more, others) = after.split_first()?;
        (length, after) = (length + usize::from(more), others);
    }
    *rest = after;
    Some(((first & 0xF0) << 4 | second, length))
}

/// Copies up to `length` bytes, as far as there is space, from `distance` before `at` to `at`; returns the end.
fn copy(out: &mut [u8], at: usize, distance: usize, length: usize) -> usize {
    let start = at - distance;
    if distance >= BLOCK
        && length <= BLOCK
        && let Some(room) = out.get(start..at + BLOCK)
        && let Some(block) = room.first_chunk::<BLOCK>().copied()
    {
        // Bytes written after the end of the copy are overwritten later.
        out[at..at + BLOCK].copy_from_slice(&block);
        return at + length;
    }
    let end = (at + length).min(out.len());
    let mut made = at;
    while made < end {
        // All bytes from the start repeat.
        let count = (end - made).min(made - start);
        out.copy_within(start..start + count, made);
        made += count;
    }
    end
}

/// The text of bytes in a database with encoding UTF-8; see [`of_any_bytes`] for bytes that are not characters.
pub fn text(bytes: &[u8]) -> Result<Cow<'_, str>> {
    utf8(bytes).map_or_else(|| of_any_bytes(bytes).map(Cow::Owned), |text| Ok(Cow::Borrowed(text)))
}

/// The private character of a byte is this code point plus the byte. Bytes below 0x80 are characters in every database
/// encoding, so U+10FE80 to U+10FEFF are used.
const PRIVATE: u32 = 0x10FE00;

/// Decodes UTF-8, and other bytes to private characters. Private characters in the input count as bytes, so that
/// different texts stay different.
pub fn of_any_bytes(bytes: &[u8]) -> Result<String> {
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

/// Appends the private character of a non-ASCII byte to a text.
pub fn push_byte(text: &mut String, byte: u8) -> Result<()> {
    let character = char::from_u32(PRIVATE + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER);
    memory::push_str(text, character.encode_utf8(&mut [0; 4]))
}

/// True if a character represents a byte.
pub fn is_of_byte(character: char) -> bool {
    (PRIVATE + 0x80..=PRIVATE + 0xFF).contains(&u32::from(character))
}

/// The byte that a character represents, if [`is_of_byte`] is true for it.
pub fn byte_of(character: char) -> u8 {
    (u32::from(character) - PRIVATE) as u8
}
