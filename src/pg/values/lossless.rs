//! Converts any text to UTF-8 and back: it refuses no character, and different texts stay different.
//!
//! Two things have no counterpart in Unicode: some characters of other encodings, and bytes that are not a character,
//! which SQL_ASCII accepts. Each of their bytes becomes a private character of the engine, and becomes the byte again
//! on the way back.

use std::borrow::Cow;
use std::ffi::CStr;
use std::sync::OnceLock;

use pgrx::pg_sys::{self, Datum, Oid};
use sketch::memory::{self, push_str};
use sketch::stored::{self, StoredBytes, byte_of, is_of_byte, of_any_bytes, push_byte};

use crate::error::{Result, granted};
use crate::pg::bytes;

/// The way in which this database's bytes are converted to UTF-8.
#[derive(Clone, Copy)]
enum Encoding {
    /// The bytes are UTF-8.
    Utf8,
    /// The bytes may be UTF-8, or anything else.
    Unknown,
    /// A conversion function of PostgreSQL.
    Converted { encoding: i32, function: Oid },
}

/// Reads a `text` (or binary-coercible) datum as UTF-8. The only error is a lack of memory.
///
/// # Safety
/// `datum` is a non-null `text` value, valid for `'a`.
pub unsafe fn read<'a>(datum: Datum) -> Result<Cow<'a, str>> {
    // SAFETY: the caller promises a text, which is a varlena.
    decode(unsafe { bytes::read(datum) })
}

/// Calls `look` with a `text` (or binary-coercible) datum as [`stored::text`] reads it. In a database with encoding
/// UTF-8 the datum stays compressed.
///
/// # Safety
/// `datum` is a non-null `text` value.
pub unsafe fn stored<T>(datum: Datum, look: impl FnOnce(StoredBytes) -> Result<T>) -> Result<T> {
    if let Encoding::Utf8 = Encoding::of_database() {
        // SAFETY: the caller promises a text, which is a varlena.
        return look(unsafe { bytes::stored(datum) });
    }
    // SAFETY: the caller promises a text; `look` returns before this function does.
    let text = unsafe { read(datum)? };
    look(StoredBytes::plain(text.as_bytes()))
}

/// Decodes bytes in the database's encoding to UTF-8.
pub fn decode(bytes: &[u8]) -> Result<Cow<'_, str>> {
    match Encoding::of_database() {
        Encoding::Utf8 => stored::text(bytes).map_err(Into::into),
        Encoding::Converted { .. } | Encoding::Unknown if bytes.is_ascii() => {
            // SAFETY: `is_ascii` has just held, and ASCII is UTF-8.
            Ok(Cow::Borrowed(unsafe { std::str::from_utf8_unchecked(bytes) }))
        }
        Encoding::Unknown => of_any_bytes(bytes).map(Cow::Owned).map_err(Into::into),
        Encoding::Converted { encoding, function } => convert(bytes, encoding, function).map(Cow::Owned),
    }
}

/// Converts UTF-8 to the database's encoding: the inverse of [`decode`]. A copy lies in the current memory context.
pub fn encode(text: &str) -> &[u8] {
    let encoding = Encoding::of_database();
    if text.is_ascii() || matches!(encoding, Encoding::Utf8) {
        return text.as_bytes();
    }
    if !text.contains(is_of_byte) {
        return encode_characters(text, encoding);
    }
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let private = rest.starts_with(is_of_byte);
        let length = rest.find(|character| is_of_byte(character) != private).unwrap_or(rest.len());
        let (part, after) = rest.split_at(length);
        let part = if private {
            let bytes = granted(memory::collect(part.chars().map(byte_of)));
            // SAFETY: the result is used in the same memory context.
            unsafe { bytes::in_memory(&[&bytes]) }
        } else {
            encode_characters(part, encoding)
        };
        granted(memory::push(&mut parts, part));
        rest = after;
    }
    // SAFETY: the result lives as long as a conversion by PostgreSQL, which lies in the same context.
    unsafe { bytes::in_memory(&parts) }
}

/// Converts characters of Unicode to the database's encoding.
fn encode_characters(text: &str, encoding: Encoding) -> &[u8] {
    if text.is_ascii() || !matches!(encoding, Encoding::Converted { .. }) {
        return text.as_bytes();
    }
    // SAFETY: the bytes are valid during the call. The result is the same pointer if there is nothing to convert, or a
    // copy that ends with a NUL in the current memory context.
    unsafe {
        let start = text.as_ptr().cast_mut().cast();
        let utf8 = pg_sys::pg_enc::PG_UTF8 as i32;
        let converted = pg_sys::pg_any_to_server(start, text.len() as i32, utf8);
        if converted == start { text.as_bytes() } else { CStr::from_ptr(converted).to_bytes() }
    }
}

impl Encoding {
    fn of_database() -> Self {
        static ENCODING: OnceLock<Encoding> = OnceLock::new();
        *ENCODING.get_or_init(|| {
            // SAFETY: the encoding is fixed for the life of the backend.
            let encoding = unsafe { pg_sys::GetDatabaseEncoding() };
            let utf8 = pg_sys::pg_enc::PG_UTF8 as i32;
            if encoding == utf8 {
                return Self::Utf8;
            }
            let catalog = Oid::from(pg_sys::PG_CATALOG_NAMESPACE);
            // SAFETY: a look-up in the system caches, which takes any value; `pg_catalog` has PostgreSQL's own
            // conversion.
            match unsafe { pg_sys::FindDefaultConversion(catalog, encoding, utf8) } {
                Oid::INVALID => Self::Unknown,
                function => Self::Converted { encoding, function },
            }
        })
    }
}

/// Converts bytes by a function of PostgreSQL, which stops at a byte sequence that it does not know.
fn convert(bytes: &[u8], encoding: i32, function: Oid) -> Result<String> {
    /// Bytes in a step: longer than a character of any encoding.
    const STEP: usize = 8192;
    let utf8 = pg_sys::pg_enc::PG_UTF8 as i32;
    let mut buffer = [0_u8; STEP * pg_sys::MAX_CONVERSION_GROWTH as usize + 1];
    let mut text = String::new();
    let mut rest = bytes;
    while let Some(&first) = rest.first() {
        let length = rest.len().min(STEP);
        // SAFETY: source and destination have the given lengths, and the destination has room for the longest result
        // and a NUL. With `noError` the function returns how many bytes it read.
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
        push_str(&mut text, std::str::from_utf8(converted).unwrap_or_default())?;
        let unknown = match usize::try_from(read).unwrap_or(0) {
            // A NUL, which no text that PostgreSQL has checked contains.
            0 if first < 0x80 => {
                push_str(&mut text, "\0")?;
                1
            }
            0 => {
                let character = &rest[..character_length(rest, encoding)];
                let mut bytes = character.iter();
                bytes.try_for_each(|byte| push_byte(&mut text, *byte))?;
                character.len()
            }
            read => read,
        };
        rest = &rest[unknown.min(rest.len())..];
        pgrx::check_for_interrupts!();
    }
    Ok(text)
}

/// Number of bytes in the first character of `bytes`, all of them non-ASCII.
fn character_length(bytes: &[u8], encoding: i32) -> usize {
    // SAFETY: the function reads at most the first two bytes of a character. The first one is there, and a NUL stands
    // in for a missing second one.
    let length = unsafe {
        let start = [bytes[0], bytes.get(1).copied().unwrap_or(0), 0, 0];
        pg_sys::pg_encoding_mblen(encoding, start.as_ptr().cast())
    };
    let length = usize::try_from(length).unwrap_or(1).max(1);
    bytes.iter().take(length).take_while(|byte| !byte.is_ascii()).count().max(1)
}
