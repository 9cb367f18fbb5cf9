//! A passage as text: a JSON object, such as `{"coverage": 0.8, "min_match": 50, "normalization": "nfkc
//! casefold whitespace", "passage": "..."}`, in the database's encoding. Whatever does not begin like that
//! is a passage with the options by default: PostgreSQL takes `minlsh_passage('some text')`, the name of a
//! type with one argument of unknown type, for a cast, which must mean what the function does.

use std::borrow::Cow;

use pgrx::pg_sys::Datum;
use sketch::passage::{valid_coverage, valid_min_match};
use sketch::{DEFAULT_COVERAGE, DEFAULT_MIN_MATCH};

use super::image::{Passage, normalization};
use crate::document::form::TypeForm;
use crate::document::json::{JsonReader, Read, append, syntax, write_string};
use crate::error::Result;
use crate::pg::call::sql_function;
use crate::pg::text;

sql_function!(minlsh_passage_in, |call| FORM.input(call));
sql_function!(minlsh_passage_out, |call| FORM.output(call));
sql_function!(minlsh_passage_recv, |call| FORM.receive(call));
sql_function!(minlsh_passage_send, |call| FORM.send(call));

static FORM: TypeForm = TypeForm {
    name: "minlsh_passage",
    start: "{\"coverage\":",
    meaning: "a passage",
    read,
    write: |value| write(&Passage::from_bytes(value)?),
};

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

fn read(literal: &[u8]) -> Read<Datum> {
    match FORM.is_object(literal) {
        true => Members::read(&mut JsonReader::new(literal))?.write(),
        false => Members { passage: Some(literal.into()), ..Members::default() }.write(),
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
    fn read(reader: &mut JsonReader<'a>) -> Read<Self> {
        let mut members = Self::default();
        reader.object(|name, reader| {
            Ok(match name {
                b"coverage" => members.coverage.replace(reader.number()?).is_none(),
                b"min_match" => members.min_match.replace(reader.number()?).is_none(),
                b"normalization" => members.normalization.replace(reader.utf8()?).is_none(),
                b"passage" => members.passage.replace(reader.string()?).is_none(),
                _ => false,
            })
        })?;
        Ok(members)
    }

    fn write(&self) -> Read<Datum> {
        let Some(text) = &self.passage else { return syntax("It has no \"passage\".") };
        let min_match = self.min_match.unwrap_or(DEFAULT_MIN_MATCH as i64);
        let steps = self.normalization.as_deref().unwrap_or("plain");
        let passage = Passage {
            coverage: valid_coverage(self.coverage.unwrap_or(DEFAULT_COVERAGE))?,
            min_match: valid_min_match(min_match)?,
            normalization: &normalization(steps)?.to_string(),
            text,
        };
        Ok(passage.write())
    }
}
