//! The input, output, receive and send functions of the type.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::*;

use super::image::{Content, Document};
use super::json::Refusal;
use super::literal;
use super::shingling::Canonical;
use crate::error::{Result, error};
use crate::options::{Options, Threshold};
use crate::pg::call::{Call, sql_function};
use crate::pg::{bytes, text};

sql_function!(minlsh_document_in, input);
sql_function!(minlsh_document_out, output);
sql_function!(minlsh_document_recv, receive);
sql_function!(minlsh_document_send, send);

/// The version of the binary form: this byte, and the text form.
const SENT: u8 = 1;

/// `minlsh_document_in(cstring) → minlsh_document`
fn input(call: &Call) -> Result<Option<Datum>> {
    let Some(literal) = call.cstring(0) else {
        return Ok(None);
    };
    if literal::is_object(literal) {
        return read(literal).map(Some);
    }
    let options = Canonical::of(&Options::default().config()?);
    let content = Content::Text(options.shingling(), literal);
    Ok(Some(Document { threshold: Threshold::default(), content }.write()))
}

/// `minlsh_document_out(minlsh_document) → cstring`
fn output(call: &Call) -> Result<Option<Datum>> {
    let Some(document) = call.bytes(0) else {
        return Ok(None);
    };
    let literal = literal::write(&Document::from_bytes(document)?)?;
    Ok(Some(text::write_cstring(&literal)))
}

/// `minlsh_document_recv(internal) → minlsh_document`
fn receive(call: &Call) -> Result<Option<Datum>> {
    let Some(message) = call.datum(0) else {
        return Ok(None);
    };
    // SAFETY: PostgreSQL calls receive functions with the message; it checks how long it is, and
    // the encoding of the text, which it makes the database's.
    let (version, literal) = unsafe {
        let message = message.cast_mut_ptr::<pg_sys::StringInfoData>();
        let version = pg_sys::pq_getmsgbyte(message);
        let mut length = 0;
        let start = pg_sys::pq_getmsgtext(message, (*message).len - (*message).cursor, &mut length);
        (version, std::slice::from_raw_parts(start.cast::<u8>(), length as usize))
    };
    if version != i32::from(SENT) {
        return Err(error(
            PgSqlErrorCode::ERRCODE_INVALID_BINARY_REPRESENTATION,
            format!("unsupported version {version} of the binary form of minlsh_document"),
        )
        .set_hint("The binary form is a byte 1 and the text form."));
    }
    read(literal).map(Some)
}

/// `minlsh_document_send(minlsh_document) → bytea`
fn send(call: &Call) -> Result<Option<Datum>> {
    let Some(document) = call.bytes(0) else {
        return Ok(None);
    };
    let literal = literal::write(&Document::from_bytes(document)?)?;
    Ok(Some(bytes::concatenate(&[&[SENT], text::to_client(&literal)])))
}

fn read(literal: &[u8]) -> Result<Datum> {
    let refused = |detail: String| -> ErrorReport {
        error(
            PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION,
            "invalid input syntax for type minlsh_document",
        )
        .set_detail(detail)
        .set_hint("What begins with {\"threshold\": is a document with its options. Cast it to text if it is a text.")
    };
    match literal::read(literal) {
        Ok(written) => Ok(written.document().write()),
        Err(Refusal::Syntax(detail)) => Err(refused(detail)),
        Err(Refusal::Meaning(report)) => Err(report),
    }
}
