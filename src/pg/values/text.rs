//! Text in and out. The engine reads UTF-8 whatever the database's encoding is: hashes and
//! signatures must be the same in every database.

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char};

use pgrx::pg_sys::{self, Datum};
use sketch::memory;

use crate::error::{self, Result};
use crate::pg::bytes::allocatable;
pub use crate::pg::lossless::encode;
use crate::pg::{bytes, lossless};

/// Reads a `text` (or binary-coercible) datum as UTF-8, whatever it holds; without a copy when the database is
/// UTF-8 and the value is stored plainly. The only error is that memory is out.
///
/// # Safety
/// `datum` must be a non-null `text` value, valid for `'a`.
pub unsafe fn read<'a>(datum: Datum) -> Result<&'a str> {
    // SAFETY: the caller promises a text that is valid for `'a`.
    Ok(match unsafe { lossless::read(datum) }? {
        Cow::Borrowed(text) => text,
        Cow::Owned(text) => {
            // SAFETY: a copy of a text, in the memory context in which a datum that is detoasted lies too.
            unsafe { std::str::from_utf8_unchecked(bytes::in_memory(&[text.as_bytes()])) }
        }
    })
}

/// Copies a palloc'd C string; an empty one stands for null.
///
/// # Safety
/// `string` must be null or a NUL-terminated string.
pub unsafe fn owned(string: *const c_char) -> CString {
    if string.is_null() {
        return CString::default();
    }
    // SAFETY: the caller promises a NUL-terminated string, unless it is null, which it is not.
    unsafe { CStr::from_ptr(string) }.to_owned()
}

/// The same as messages show it.
///
/// # Safety
/// `string` must be null or a NUL-terminated string.
pub unsafe fn from_cstring(string: *const c_char) -> String {
    // SAFETY: null, or NUL-terminated, as # Safety asks; `owned` looks which it is.
    unsafe { owned(string) }.to_string_lossy().into_owned()
}

/// Bytes as a C string of its own; none of PostgreSQL's texts holds a NUL.
pub fn c_string(bytes: &[u8]) -> Result<CString> {
    // With no room left over nothing is allocated again.
    let mut string = memory::with_capacity(bytes.len() + 1)?;
    string.extend_from_slice(bytes);
    string.push(0);
    Ok(CString::from_vec_with_nul(string).unwrap_or_default())
}

/// Bytes as a message shows them, with a character for what is not UTF-8: the beginning of more than `most`.
pub fn beginning(bytes: &[u8], most: usize) -> String {
    let first = &bytes[..bytes.len().min(most + 1)];
    error::beginning(&String::from_utf8_lossy(first), most).into_owned()
}

/// A name as a row of a catalog has it, in the database's encoding.
pub fn of_name(name: &pg_sys::NameData) -> &CStr {
    // SAFETY: a name is a NUL-terminated array.
    unsafe { CStr::from_ptr(name.data.as_ptr()) }
}

/// A `cstring` datum of bytes in the database's encoding, which have no NUL.
pub fn write_cstring(bytes: &[u8]) -> Datum {
    allocatable(bytes.len() + 1);
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

/// Makes a `text` datum of UTF-8, converting to the database's encoding where it differs.
pub fn write(value: &str) -> Datum {
    bytes::write(encode(value))
}

/// Calls `work` with a `text` datum of UTF-8, which must not keep it: its memory is given back.
pub fn lent<T>(value: &str, work: impl FnOnce(Datum) -> T) -> T {
    let text = write(value);
    let result = work(text);
    // SAFETY: made above: a chunk of a memory context, which the work was only lent.
    unsafe { pg_sys::pfree(text.cast_mut_ptr()) };
    result
}
