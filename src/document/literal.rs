//! A document as text: a JSON object, from which the same document can be read back.
//!
//! ```json
//! {"threshold": 0.9, "shingle_size": 5, "unit": "char", "normalization": "none", "text": "..."}
//! {"threshold": 0.8, "set": [-3750763034362895579, 4952883123889572249]}
//! {"threshold": 0.8, "signature": [31696454, 98093281, 92105569]}
//! ```
//!
//! What is short comes first. Stop words and bag stand there if they are not as by default; the
//! other options always do, since another version may have other defaults. All is in the
//! database's encoding, in which (as in all that a database can have) ASCII bytes are ASCII.
//!
//! Whatever does not begin like that is a text with options by default. PostgreSQL takes
//! `minlsh_document('some text')` and `minlsh_document($1)`, the name of a type with one argument of
//! unknown type, for a cast; so the cast must mean what the function does.

use std::borrow::Cow;
use std::io::Write;

use pgrx::pg_sys::Datum;
use sketch::memory;

use super::form::{JsonReader, Read, TypeForm, syntax, write_string};
use super::image::{Content, Document, hash};
use crate::error::Result;
use crate::options::{Options, Threshold};
use crate::pg::call::sql_function;
use crate::pg::interrupts::check_interrupts;
use crate::pg::text;

sql_function!(minlsh_document_in, |call| FORM.input(call));
sql_function!(minlsh_document_out, |call| FORM.output(call));
sql_function!(minlsh_document_recv, |call| FORM.receive(call));
sql_function!(minlsh_document_send, |call| FORM.send(call));

static FORM: TypeForm = TypeForm {
    name: "minlsh_document",
    start: "{\"threshold\":",
    meaning: "a document",
    read,
    write: |value| write(&Document::from_bytes(value)?),
};

/// Writes a document.
fn write(document: &Document) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    memory::extend(&mut out, format!("{{\"threshold\": {}", document.threshold).as_bytes())?;
    match &document.content {
        Content::Text(options, text) => {
            write_options(&mut out, options)?;
            memory::extend(&mut out, b", \"text\": ")?;
            write_string(&mut out, text)?;
        }
        Content::Set(hashes) => {
            memory::extend(&mut out, b", \"set\": ")?;
            write_numbers(&mut out, hashes.iter().map(|stored| hash(stored) as i64))?;
        }
        Content::Signature(slots) => {
            memory::extend(&mut out, b", \"signature\": ")?;
            let slots = slots.iter().map(|slot| i32::from_le_bytes(*slot).into());
            write_numbers(&mut out, slots)?;
        }
    }
    memory::extend(&mut out, b"}")?;
    Ok(out)
}

fn write_options(out: &mut Vec<u8>, options: &Options) -> Result<()> {
    let default = Options::default();
    memory::extend(
        out,
        format!(", \"shingle_size\": {}, \"unit\": ", options.shingle_size).as_bytes(),
    )?;
    write_string(out, options.unit.as_bytes())?;
    memory::extend(out, b", \"normalization\": ")?;
    write_string(out, text::encode(&options.normalization))?;
    if options.stop_words != default.stop_words {
        memory::extend(out, b", \"stop_words\": ")?;
        write_string(out, text::encode(&options.stop_words))?;
    }
    if options.bag != default.bag {
        memory::extend(out, format!(", \"bag\": {}", options.bag).as_bytes())?;
    }
    Ok(())
}

fn write_numbers(out: &mut Vec<u8>, numbers: impl Iterator<Item = i64>) -> Result<()> {
    memory::extend(out, b"[")?;
    for (i, number) in numbers.enumerate() {
        if i.is_multiple_of(4096) {
            check_interrupts();
        }
        // A separator, 19 digits and a sign.
        memory::reserve(out, 22)?;
        let separator = if i == 0 { "" } else { ", " };
        // A vector takes all that is written to it.
        let _ = write!(out, "{separator}{number}");
    }
    Ok(memory::extend(out, b"]")?)
}

/// The members of the object, as far as they are there.
#[derive(Default)]
struct ObjectMembers<'a> {
    threshold: Option<f64>,
    shingle_size: Option<i32>,
    unit: Option<Cow<'a, str>>,
    normalization: Option<Cow<'a, str>>,
    stop_words: Option<Cow<'a, str>>,
    bag: Option<bool>,
    text: Option<Cow<'a, [u8]>>,
    set: Option<Vec<u64>>,
    signature: Option<Vec<i32>>,
}

/// Makes a document of its text form.
fn read(literal: &[u8]) -> Read<Datum> {
    if !FORM.is_object(literal) {
        let options = Options::of(&Options::default().config()?);
        let content = Content::Text(options, literal);
        return Ok(Document { threshold: Threshold::default(), content }.write());
    }
    let members = ObjectMembers::read(&mut JsonReader::new(literal))?;
    let threshold = match members.threshold {
        Some(least) => Threshold::new(least)?,
        None => return syntax("It has no \"threshold\"."),
    };
    let has_options = members.has_options();
    let content = match (&members.text, members.set, members.signature) {
        (Some(text), None, None) => {
            let default = Options::default();
            let options = Options {
                shingle_size: members.shingle_size.unwrap_or(default.shingle_size),
                unit: members.unit.unwrap_or(default.unit),
                normalization: members.normalization.unwrap_or(default.normalization),
                stop_words: members.stop_words.unwrap_or(default.stop_words),
                bag: members.bag.unwrap_or(default.bag),
                ..Options::default()
            };
            Content::Text(Options::of(&options.config()?), text)
        }
        (None, Some(hashes), None) if !has_options => Content::of_hashes(hashes)?,
        (None, None, Some(slots)) if !has_options => Content::of_slots(&slots)?,
        (None, None, None) => return syntax("It has no \"text\", \"set\" or \"signature\"."),
        _ => {
            return syntax(
                "It must have a \"text\" and its options, or a \"set\", or a \"signature\".",
            );
        }
    };
    Ok(Document { threshold, content }.write())
}

impl<'a> ObjectMembers<'a> {
    fn has_options(&self) -> bool {
        self.shingle_size.is_some()
            || self.unit.is_some()
            || self.normalization.is_some()
            || self.stop_words.is_some()
            || self.bag.is_some()
    }

    fn read(reader: &mut JsonReader<'a>) -> Read<Self> {
        let mut members = Self::default();
        reader.object(|name, reader| members.read_member(name, reader))?;
        Ok(members)
    }

    fn read_member(&mut self, name: &[u8], reader: &mut JsonReader<'a>) -> Read<bool> {
        Ok(match name {
            b"threshold" => once(&mut self.threshold, reader.number()?),
            b"shingle_size" => once(&mut self.shingle_size, reader.number()?),
            b"unit" => once(&mut self.unit, reader.utf8()?),
            b"normalization" => once(&mut self.normalization, reader.utf8()?),
            b"stop_words" => once(&mut self.stop_words, reader.utf8()?),
            b"bag" => once(&mut self.bag, reader.boolean()?),
            b"text" => once(&mut self.text, reader.string()?),
            b"set" => {
                let signed = reader.numbers::<i64>()?;
                once(&mut self.set, signed.into_iter().map(|hash| hash as u64).collect())
            }
            b"signature" => once(&mut self.signature, reader.numbers()?),
            _ => false,
        })
    }
}

/// Sets what is not set yet; false if it is.
fn once<T>(member: &mut Option<T>, value: T) -> bool {
    member.replace(value).is_none()
}
