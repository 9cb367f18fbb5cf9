//! Text in and out. The engine reads UTF-8 whatever the database's encoding is: hashes and
//! signatures must be the same in every database.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::*;

use crate::error::{Result, error};
use crate::pg::bytes;

/// Reads a `text` (or binary-coercible) datum as UTF-8, without a copy when the database is
/// UTF-8 and the value is stored plainly.
///
/// # Safety
/// `datum` must be a non-null `text` value, valid for `'a`.
pub unsafe fn read<'a>(datum: Datum) -> Result<&'a str> {
    // SAFETY: the caller promises a text value; the result of the conversion is the same pointer
    // (nothing to convert) or a NUL-terminated copy in the current memory context.
    let bytes = unsafe {
        let bytes: &'a [u8] = bytes::read(datum);
        let start = bytes.as_ptr().cast_mut().cast();
        let utf8 = pg_sys::pg_enc::PG_UTF8 as i32;
        let converted = pg_sys::pg_server_to_any(start, bytes.len() as i32, utf8);
        if converted == start { bytes } else { CStr::from_ptr(converted).to_bytes() }
    };
    std::str::from_utf8(bytes).map_err(|cause| {
        error(
            PgSqlErrorCode::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE,
            "text is not valid in the database's encoding",
        )
        .set_detail(cause.to_string())
    })
}

/// Reads a palloc'd C string.
///
/// # Safety
/// `pointer` must be null or a NUL-terminated string.
pub unsafe fn from_cstring(pointer: *const std::ffi::c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the caller promises a NUL-terminated string.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// The bytes of a `cstring` datum, in the database's encoding.
///
/// # Safety
/// `datum` must be a non-null `cstring`, valid for `'a`.
pub unsafe fn cstring_bytes<'a>(datum: Datum) -> &'a [u8] {
    // SAFETY: the caller promises a NUL-terminated string.
    unsafe { CStr::from_ptr(datum.cast_mut_ptr()) }.to_bytes()
}

/// A `cstring` datum of bytes in the database's encoding, which have no NUL.
pub fn write_cstring(bytes: &[u8]) -> Datum {
    // SAFETY: the bytes are valid for the call, and copied.
    Datum::from(unsafe { pg_sys::pnstrdup(bytes.as_ptr().cast(), bytes.len()) })
}

/// Bytes in the database's encoding in that of the client.
pub fn to_client(bytes: &[u8]) -> &[u8] {
    // SAFETY: the bytes are valid for the call; the result as in `encode`.
    unsafe {
        let start = bytes.as_ptr().cast();
        let converted = pg_sys::pg_server_to_client(start, bytes.len() as i32);
        if converted.cast_const() == start { bytes } else { CStr::from_ptr(converted).to_bytes() }
    }
}

/// What UTF-8 is in the database's encoding.
pub fn encode(value: &str) -> &[u8] {
    // SAFETY: the bytes are valid for the call; the result is the same pointer (nothing to
    // convert) or a NUL-terminated copy in the current memory context.
    unsafe {
        let start = value.as_ptr().cast_mut().cast();
        let utf8 = pg_sys::pg_enc::PG_UTF8 as i32;
        let converted = pg_sys::pg_any_to_server(start, value.len() as i32, utf8);
        if converted == start { value.as_bytes() } else { CStr::from_ptr(converted).to_bytes() }
    }
}

/// Makes a `text` datum of UTF-8, converting to the database's encoding where it differs.
pub fn write(value: &str) -> Datum {
    // SAFETY: the bytes are valid for the call, and copied.
    unsafe {
        let start = value.as_ptr().cast_mut().cast();
        let len = value.len() as i32;
        let converted = pg_sys::pg_any_to_server(start, len, pg_sys::pg_enc::PG_UTF8 as i32);
        let text = if converted == start {
            pg_sys::cstring_to_text_with_len(start, len)
        } else {
            let text = pg_sys::cstring_to_text(converted);
            pg_sys::pfree(converted.cast());
            text
        };
        Datum::from(text)
    }
}

/// Gives back the memory of a text.
///
/// # Safety
/// [`write`] has made it, and nobody uses it any more.
pub unsafe fn free(text: Datum) {
    // SAFETY: the caller's promise: it is a chunk of a memory context.
    unsafe { pg_sys::pfree(text.cast_mut_ptr()) };
}
