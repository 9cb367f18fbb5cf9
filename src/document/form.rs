//! The forms that all types of the extension share: a value is bytes, each of which is checked when it is read;
//! its text form is a JSON object that begins with a member of its own, or else a plain text with the options by
//! default; the binary form of the protocol is a version and the text form.

use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::*;

use super::json::{Read, Refusal};
use crate::error::{Result, SqlError, error};
use crate::pg::call::Call;
use crate::pg::{bytes, text};

/// The version of the binary form: this byte, and the text form.
const SENT: u8 = 1;

/// A type of the extension, and its text form.
pub struct TypeForm {
    /// The name of the type.
    pub name: &'static str,
    /// The member with which its JSON object begins.
    pub start: &'static str,
    /// A description of a value, for a HINT.
    pub meaning: &'static str,
    /// Makes a value of its text form.
    pub read: fn(&[u8]) -> Read<Datum>,
    /// Writes the text form of a value.
    pub write: fn(&[u8]) -> Result<Vec<u8>>,
}

impl TypeForm {
    /// `..._in(cstring) → type`
    pub fn input(&self, call: &Call) -> Result<Option<Datum>> {
        call.cstring(0).map(|literal| self.value(literal)).transpose()
    }

    /// `..._out(type) → cstring`
    pub fn output(&self, call: &Call) -> Result<Option<Datum>> {
        let Some(value) = call.bytes(0) else { return Ok(None) };
        Ok(Some(text::write_cstring(&(self.write)(value)?)))
    }

    /// `..._recv(internal) → type`
    pub fn receive(&self, call: &Call) -> Result<Option<Datum>> {
        let Some(message) = call.datum(0) else { return Ok(None) };
        // SAFETY: PostgreSQL calls receive functions with the message; it checks how long it is, and
        // the encoding of the text, which it makes the database's.
        let (version, literal) = unsafe {
            let message = message.cast_mut_ptr::<pg_sys::StringInfoData>();
            let version = pg_sys::pq_getmsgbyte(message);
            let (mut length, rest) = (0, (*message).len - (*message).cursor);
            let start = pg_sys::pq_getmsgtext(message, rest, &mut length);
            (version, std::slice::from_raw_parts(start.cast::<u8>(), length as usize))
        };
        if version != i32::from(SENT) {
            let message =
                format!("unsupported version {version} of the binary form of {}", self.name);
            return Err(error(PgSqlErrorCode::ERRCODE_INVALID_BINARY_REPRESENTATION, message)
                .set_hint("Send a byte 1, followed by the text form."));
        }
        self.value(literal).map(Some)
    }

    /// `..._send(type) → bytea`
    pub fn send(&self, call: &Call) -> Result<Option<Datum>> {
        let Some(value) = call.bytes(0) else { return Ok(None) };
        let literal = (self.write)(value)?;
        Ok(Some(bytes::concatenate(&[&[SENT], text::to_client(&literal)])))
    }

    /// True if a literal is an object of the type, and no mere text.
    pub fn is_object(&self, literal: &[u8]) -> bool {
        literal.starts_with(self.start.as_bytes())
    }

    fn value(&self, literal: &[u8]) -> Result<Datum> {
        (self.read)(literal).map_err(|refusal| match refusal {
            Refusal::Meaning(report) => report,
            Refusal::Syntax(detail) => {
                let message = format!("invalid input syntax for type {}", self.name);
                error(PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION, message)
                    .set_detail(detail)
                    .set_hint(format!(
                        "Cast it to text if it is a text. A literal that begins with {} is {} with its \
                         options.",
                        self.start, self.meaning
                    ))
            }
        })
    }
}

/// The error of bytes that are not a value of the type of that name.
pub fn damaged(name: &str) -> SqlError {
    error(
        PgSqlErrorCode::ERRCODE_INVALID_BINARY_REPRESENTATION,
        format!("invalid value of type {name}"),
    )
    .set_hint("Create the value again. Its page is damaged, or another version wrote it.")
}

/// UTF-8 up to a zero byte, and what follows it.
pub fn until_zero(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]))
}
