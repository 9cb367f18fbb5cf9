//! Reads and writes text. The engine reads UTF-8 in every database, because hashes and signatures must not depend on
//! the encoding.

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char};

use pgrx::pg_sys::{self, Datum};
use sketch::memory;

use crate::error::{self, Result};
use crate::pg::bytes::allocatable;
pub use crate::pg::lossless::encode;
use crate::pg::{bytes, lossless};

/// Reads a `text` (or binary-coercible) datum as UTF-8, whatever it holds. Makes no copy if the database is UTF-8 and
/// the value is stored plainly. The only error is a lack of memory.
///
/// # Safety
/// `datum` is a non-null `text` value, valid for `'a`.
pub unsafe fn read<'a>(datum: Datum) -> Result<&'a str> {
    // SAFETY: the caller promises a text that is valid for `'a`.
    Ok(match unsafe { lossless::read(datum) }? {
        Cow::Borrowed(text) => text,
        Cow::Owned(text) => {
            // SAFETY: a copy of a `str`, in the memory context that also holds detoasted values.
            unsafe { std::str::from_utf8_unchecked(bytes::in_memory(&[text.as_bytes()])) }
        }
    })
}

/// Copies a C string; null gives an empty one.
///
/// # Safety
/// `string` is null, or ends with a NUL.
pub unsafe fn owned(string: *const c_char) -> CString {
    if string.is_null() {
        return CString::default();
    }
    // SAFETY: the caller promises a NUL at the end, and `string` was just checked not to be null.
    unsafe { CStr::from_ptr(string) }.to_owned()
}

/// Copies a C string for messages; null gives an empty one.
///
/// # Safety
/// `string` is null, or ends with a NUL.
pub unsafe fn from_cstring(string: *const c_char) -> String {
    // SAFETY: the caller promises null, or a NUL at the end, as `owned` needs.
    unsafe { owned(string) }.to_string_lossy().into_owned()
}

/// Copies bytes to a C string. Texts of PostgreSQL contain no NUL.
pub fn c_string(bytes: &[u8]) -> Result<CString> {
    // The vector has no spare capacity, so `CString` does not reallocate it.
    let mut string = memory::with_capacity(bytes.len() + 1)?;
    string.extend_from_slice(bytes);
    string.push(0);
    Ok(CString::from_vec_with_nul(string).unwrap_or_default())
}

/// Decodes bytes for messages, with a replacement for what is not UTF-8, and shortens more than `most` bytes.
pub fn beginning(bytes: &[u8], most: usize) -> String {
    let first = &bytes[..bytes.len().min(most + 1)];
    error::beginning(&String::from_utf8_lossy(first), most).into_owned()
}

/// A name in a catalog's row, in the database's encoding.
pub fn of_name(name: &pg_sys::NameData) -> &CStr {
    // SAFETY: a name is an array that ends with a NUL.
    unsafe { CStr::from_ptr(name.data.as_ptr()) }
}

/// Makes a `cstring` datum of bytes in the database's encoding without NULs.
pub fn write_cstring(bytes: &[u8]) -> Datum {
    allocatable(bytes.len() + 1);
    // SAFETY: the bytes are valid during the call, which copies them.
    Datum::from(unsafe { pg_sys::pnstrdup(bytes.as_ptr().cast(), bytes.len()) })
}

/// Converts bytes from the database's encoding to the client's.
pub fn to_client(bytes: &[u8]) -> &[u8] {
    // SAFETY: the bytes are valid during the call. The result is the same pointer, or a copy that ends with a NUL.
    unsafe {
        let start = bytes.as_ptr().cast();
        let converted = pg_sys::pg_server_to_client(start, bytes.len() as i32);
        if converted.cast_const() == start { bytes } else { CStr::from_ptr(converted).to_bytes() }
    }
}

/// Makes a `text` datum of UTF-8, converted to the database's encoding.
pub fn write(value: &str) -> Datum {
    bytes::write(encode(value))
}
