//! The input, output, receive and send functions of `minlsh_passage`.
//!
//! Its text form is a JSON object, such as `{"coverage": 0.8, "min_match": 50, "normalization": "nfkc
//! casefold whitespace", "passage": "..."}`, in the database's encoding. Whatever does not begin like that
//! is a passage with the options by default: PostgreSQL takes `minlsh_passage('some text')`, the name of a
//! type with one argument of unknown type, for a cast, which must mean what the function does.

use std::borrow::Cow;

use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::*;
use sketch::passage::{valid_coverage, valid_min_match};
use sketch::{DEFAULT_COVERAGE, DEFAULT_MIN_MATCH};

use super::image::{Passage, normalization};
use crate::document::json::{Read, Reader, Refusal, append, syntax, write_string};
use crate::error::{Result, engine, error};
use crate::pg::call::{Call, sql_function};
use crate::pg::{bytes, text};

sql_function!(minlsh_passage_in, input);
sql_function!(minlsh_passage_out, output);
sql_function!(minlsh_passage_recv, receive);
sql_function!(minlsh_passage_send, send);

/// The version of the binary form: this byte, and the text form.
const SENT: u8 = 1;

/// `minlsh_passage_in(cstring) → minlsh_passage`
fn input(call: &Call) -> Result<Option<Datum>> {
    call.cstring(0).map(read).transpose()
}

/// `minlsh_passage_out(minlsh_passage) → cstring`
fn output(call: &Call) -> Result<Option<Datum>> {
    let Some(passage) = call.bytes(0) else { return Ok(None) };
    Ok(Some(text::write_cstring(&write(&Passage::from_bytes(passage)?)?)))
}

/// `minlsh_passage_recv(internal) → minlsh_passage`
fn receive(call: &Call) -> Result<Option<Datum>> {
    let Some(message) = call.datum(0) else { return Ok(None) };
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
            format!("unsupported version {version} of the binary form of minlsh_passage"),
        )
        .set_hint("Send a byte 1 and the text form."));
    }
    read(literal).map(Some)
}

/// `minlsh_passage_send(minlsh_passage) → bytea`
fn send(call: &Call) -> Result<Option<Datum>> {
    let Some(passage) = call.bytes(0) else { return Ok(None) };
    let literal = write(&Passage::from_bytes(passage)?)?;
    Ok(Some(bytes::concatenate(&[&[SENT], text::to_client(&literal)])))
}

fn write(passage: &Passage) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let Passage { coverage, min_match, .. } = passage;
    append(&mut out, format!("{{\"coverage\": {coverage}, \"min_match\": {min_match}").as_bytes())?;
    append(&mut out, b", \"normalization\": ")?;
    write_string(&mut out, text::encode(passage.normalization))?;
    append(&mut out, b", \"passage\": ")?;
    write_string(&mut out, passage.text)?;
    append(&mut out, b"}")?;
    Ok(out)
}

fn read(literal: &[u8]) -> Result<Datum> {
    let read = match literal.starts_with(b"{\"coverage\":") {
        true => Members::read(&mut Reader::new(literal)),
        false => Ok(Members { passage: Some(literal.into()), ..Members::default() }),
    };
    match read.and_then(|members| members.write()) {
        Ok(passage) => Ok(passage),
        Err(Refusal::Meaning(report)) => Err(report),
        Err(Refusal::Syntax(detail)) => Err(error(
            PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION,
            "invalid input syntax for type minlsh_passage",
        )
        .set_detail(detail)
        .set_hint(
            "Cast it to text if it is a text: what begins with {\"coverage\": is a passage with its options.",
        )),
    }
}

/// The members of the object, as far as they are there.
#[derive(Default)]
struct Members<'a> {
    coverage: Option<f64>,
    min_match: Option<i64>,
    normalization: Option<Cow<'a, str>>,
    passage: Option<Cow<'a, [u8]>>,
}

impl<'a> Members<'a> {
    fn read(reader: &mut Reader<'a>) -> Read<Self> {
        let mut members = Self::default();
        reader.token(b'{')?;
        loop {
            let name = reader.string()?;
            reader.token(b':')?;
            let is_new = match &*name {
                b"coverage" => members.coverage.replace(reader.number()?).is_none(),
                b"min_match" => members.min_match.replace(reader.number()?).is_none(),
                b"normalization" => members.normalization.replace(reader.utf8()?).is_none(),
                b"passage" => members.passage.replace(reader.string()?).is_none(),
                _ => false,
            };
            if !is_new {
                return syntax("A member is unknown, or there twice.");
            }
            if reader.next_is(b'}') {
                break;
            }
            reader.token(b',')?;
        }
        reader.end()?;
        Ok(members)
    }

    fn write(&self) -> Read<Datum> {
        let Some(text) = &self.passage else { return syntax("It has no \"passage\".") };
        let min_match = self.min_match.unwrap_or(DEFAULT_MIN_MATCH as i64);
        let steps = self.normalization.as_deref().unwrap_or("plain");
        let passage = Passage {
            coverage: valid_coverage(self.coverage.unwrap_or(DEFAULT_COVERAGE)).map_err(engine)?,
            min_match: valid_min_match(min_match).map_err(engine)?,
            normalization: &normalization(steps)?.to_string(),
            text,
        };
        Ok(passage.write())
    }
}
