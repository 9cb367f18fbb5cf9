//! Text as UTF-8, whatever it holds: no character is refused, and no two texts become one.
//!
//! A character that Unicode does not have (in a database of another encoding), and a byte that
//! is not a character (SQL_ASCII takes any), become private characters, one for each byte:
//! [`PRIVATE`] plus the byte. Hashes of what is made of them are stored, so this never changes. On the way
//! back they become those bytes.

use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::CStr;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::{Result, out_of_memory};
use crate::pg::{bytes, ffi};

/// The private character of a byte is this code point and the byte. Bytes below 0x80 are
/// characters in every encoding of a database: U+10FE80 to U+10FEFF are taken.
const PRIVATE: u32 = 0x10FE00;

/// The conversion of this database's bytes to UTF-8.
#[derive(Clone, Copy)]
enum Encoding {
    /// They are.
    Utf8,
    /// They may be, or anything else.
    Unknown,
    /// By a function of PostgreSQL.
    Converted { encoding: i32, function: Oid },
}

/// Reads a `text` (or binary-coercible) datum as UTF-8; the only error is that memory is out.
///
/// # Safety
/// `datum` must be a non-null `text` value, valid for `'a`.
pub unsafe fn read<'a>(datum: Datum) -> Result<Cow<'a, str>> {
    // SAFETY: the caller's promise.
    decode(unsafe { bytes::read(datum) })
}

/// Bytes in the database's encoding as UTF-8.
pub fn decode(bytes: &[u8]) -> Result<Cow<'_, str>> {
    match Encoding::of_database() {
        Encoding::Utf8 => match sketch::utf8(bytes) {
            Some(text) => Ok(Cow::Borrowed(text)),
            None => decode_unknown(bytes).map(Cow::Owned),
        },
        Encoding::Converted { .. } | Encoding::Unknown if bytes.is_ascii() => {
            // SAFETY: ASCII is UTF-8.
            Ok(Cow::Borrowed(unsafe { std::str::from_utf8_unchecked(bytes) }))
        }
        Encoding::Unknown => decode_unknown(bytes).map(Cow::Owned),
        Encoding::Converted { encoding, function } => {
            convert(bytes, encoding, function).map(Cow::Owned)
        }
    }
}

/// Converts UTF-8 to the database's encoding: the opposite of [`decode`], in the current memory context where
/// it is a copy.
pub fn encode(text: &str) -> &[u8] {
    let encoding = Encoding::of_database();
    if text.is_ascii() || matches!(encoding, Encoding::Utf8) {
        return text.as_bytes();
    }
    if !text.contains(is_private) {
        return encode_characters(text, encoding);
    }
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(is_private) {
        let (before, after) = rest.split_at(at);
        parts.push(encode_characters(before, encoding));
        let length = after.find(|character| !is_private(character)).unwrap_or(after.len());
        let (private, after) = after.split_at(length);
        let bytes: Vec<u8> =
            private.chars().map(|character| (u32::from(character) - PRIVATE) as u8).collect();
        // SAFETY: used below, in the same context.
        parts.push(unsafe { bytes::in_memory(&[&bytes]) });
        rest = after;
    }
    parts.push(encode_characters(rest, encoding));
    // SAFETY: as valid as what PostgreSQL converts, which lies in the same context.
    unsafe { bytes::in_memory(&parts) }
}

/// Characters that Unicode has, in the database's encoding.
fn encode_characters(text: &str, encoding: Encoding) -> &[u8] {
    if text.is_ascii() || !matches!(encoding, Encoding::Converted { .. }) {
        return text.as_bytes();
    }
    // SAFETY: the bytes are valid for the call; the result is the same pointer (nothing to
    // convert) or a NUL-terminated copy in the current memory context.
    unsafe {
        let start = text.as_ptr().cast_mut().cast();
        let utf8 = pg_sys::pg_enc::PG_UTF8 as i32;
        let converted = pg_sys::pg_any_to_server(start, text.len() as i32, utf8);
        if converted == start { text.as_bytes() } else { CStr::from_ptr(converted).to_bytes() }
    }
}

impl Encoding {
    fn of_database() -> Self {
        thread_local! {
            static ENCODING: Cell<Option<Encoding>> = const { Cell::new(None) };
        }
        ENCODING.get().unwrap_or_else(|| {
            // SAFETY: the encoding is fixed for the life of the backend.
            let encoding = unsafe { pg_sys::GetDatabaseEncoding() };
            let utf8 = pg_sys::pg_enc::PG_UTF8 as i32;
            let found = if encoding == utf8 {
                Self::Utf8
            } else {
                ffi::conversion(encoding, utf8)
                    .map_or(Self::Unknown, |function| Self::Converted { encoding, function })
            };
            ENCODING.set(Some(found));
            found
        })
    }
}

/// UTF-8 where it is that; the private characters themselves are taken for bytes, so that no other
/// text becomes the same.
fn decode_unknown(bytes: &[u8]) -> Result<String> {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(at) = rest.find(is_private) {
            let (before, private) = rest.split_at(at);
            let (private, after) = private.split_at(char::len_utf8('\u{10FE80}'));
            append(&mut text, before)?;
            append_private(&mut text, private.as_bytes())?;
            rest = after;
        }
        append(&mut text, rest)?;
        append_private(&mut text, chunk.invalid())?;
    }
    Ok(text)
}

fn is_private(character: char) -> bool {
    (PRIVATE + 0x80..=PRIVATE + 0xFF).contains(&u32::from(character))
}

/// Bytes through a conversion of PostgreSQL, which stops at what it does not know.
fn convert(bytes: &[u8], encoding: i32, function: Oid) -> Result<String> {
    /// Bytes at a time; no encoding has longer characters than the smallest step could hold.
    const STEP: usize = 8192;
    let utf8 = pg_sys::pg_enc::PG_UTF8 as i32;
    let mut buffer = [0_u8; STEP * pg_sys::MAX_CONVERSION_GROWTH as usize + 1];
    let mut text = String::new();
    let mut rest = bytes;
    while let Some(&first) = rest.first() {
        let length = rest.len().min(STEP);
        // SAFETY: source and destination have the lengths given, and the destination has room for
        // what as many bytes become, and a NUL; with `noError` it says how far it came.
        let read = unsafe {
            pg_sys::pg_do_encoding_conversion_buf(
                function,
                encoding,
                utf8,
                rest.as_ptr().cast_mut(),
                length as i32,
                buffer.as_mut_ptr(),
                buffer.len() as i32,
                true,
            )
        };
        let converted = buffer.split(|byte| *byte == 0).next().unwrap_or_default();
        append(&mut text, std::str::from_utf8(converted).unwrap_or_default())?;
        let unknown = match usize::try_from(read).unwrap_or(0) {
            // NUL, which is in no text that PostgreSQL has checked.
            0 if first < 0x80 => {
                append(&mut text, "\0")?;
                1
            }
            0 => {
                let character = &rest[..character_length(rest, encoding)];
                append_private(&mut text, character)?;
                character.len()
            }
            read => read,
        };
        rest = &rest[unknown.min(rest.len())..];
        pgrx::check_for_interrupts!();
    }
    Ok(text)
}

/// The number of bytes of the first character, none of which is ASCII.
fn character_length(bytes: &[u8], encoding: i32) -> usize {
    // SAFETY: it reads the bytes of one character at most, of which the first tells the length;
    // some encodings look at the second one, so both are there.
    let length = unsafe {
        let start = [bytes[0], bytes.get(1).copied().unwrap_or(0), 0, 0];
        pg_sys::pg_encoding_mblen(encoding, start.as_ptr().cast())
    };
    let length = usize::try_from(length).unwrap_or(1).max(1);
    bytes.iter().take(length).take_while(|byte| !byte.is_ascii()).count().max(1)
}

fn append(text: &mut String, more: &str) -> Result<()> {
    text.try_reserve(more.len()).map_err(|_| out_of_memory())?;
    text.push_str(more);
    Ok(())
}

fn append_private(text: &mut String, bytes: &[u8]) -> Result<()> {
    text.try_reserve(4 * bytes.len()).map_err(|_| out_of_memory())?;
    text.extend(bytes.iter().filter_map(|byte| char::from_u32(PRIVATE + u32::from(*byte))));
    Ok(())
}
