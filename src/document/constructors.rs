//! The constructors `minlsh_document()` and `minlsh_signature()`, and the text form of a document: a JSON object from
//! which the same document can be read.
//!
//! ```json
//! {"threshold": 0.9, "shingle_size": 5, "unit": "char", "normalization": "none", "text": "..."}
//! {"threshold": 0.8, "set": [-3750763034362895579, 4952883123889572249]}
//! {"threshold": 0.8, "signature": [31696454, 98093281, 92105569]}
//! ```
//!
//! Short members come first. Stop words and bag are written only if they are not the default. The other options are
//! always written, because another version may have other defaults. Everything is in the database's encoding, where
//! ASCII bytes are ASCII.
//!
//! Any other text is a document with the default options. PostgreSQL takes `minlsh_document('some text')` and
//! `minlsh_document($1)` for a cast, so the cast must mean the same as the function.

use std::borrow::Cow;
use std::io::Write;

use sketch::ElementHash;

use super::form::{JsonReader, Read, TypeForm, syntax, write_member};
use super::image::{Content, Document, hash};
use crate::options::{Options, Threshold};
use crate::pg::catalog::c_function;
use crate::pg::planner::Node;
use crate::prelude::*;

sql_function!(minlsh_document_of_text, of_text);
sql_function!(minlsh_document_of_set, of_set);
sql_function!(minlsh_document_of_signature, of_signature);
sql_function!(minlsh_document_in, |call| FORM.input(call));
sql_function!(minlsh_document_out, |call| FORM.output(call));
sql_function!(minlsh_document_recv, |call| FORM.receive(call));
sql_function!(minlsh_document_send, |call| FORM.send(call));

/// `minlsh_document(text, threshold, shingle_size, unit, normalization, stop_words, bag) → minlsh_document`
fn of_text(call: &Call) -> Result<Option<Datum>> {
    let threshold = Threshold::new(call.float8(1).given()?)?;
    let options = Options::shingling(call, 2, 3, 4)?;
    let content = Content::Text(Options::of(&options.config()?), call.bytes(0).given()?);
    Ok(Some(Document { threshold, content }.write()))
}

/// `minlsh_document(anyarray, threshold) → minlsh_document`
fn of_set(call: &Call) -> Result<Option<Datum>> {
    let (elements, threshold) = (call.datum(0).given()?, Threshold::new(call.float8(1).given()?)?);
    // SAFETY: `sql/minlsh.sql` declares the argument as anyarray.
    let hashes = unsafe { element::hashes(elements, ElementHash::default()) }?;
    let content = Content::of_hashes(hashes)?;
    Ok(Some(Document { threshold, content }.write()))
}

/// `minlsh_signature(integer[], threshold) → minlsh_document`
fn of_signature(call: &Call) -> Result<Option<Datum>> {
    let threshold = Threshold::new(call.float8(1).given()?)?;
    let content = Content::of_slots(call.array(0).given()?)?;
    Ok(Some(Document { threshold, content }.write()))
}

/// The parts of a document that are known before its constructor runs, from constant arguments.
pub struct KnownParts {
    /// The threshold, unless it is unknown.
    pub threshold: Option<Threshold>,
    /// An empty content of the same kind with the same options, unless one of them is unknown.
    content: Option<Content<'static>>,
}

impl KnownParts {
    /// The known parts of the document that an expression makes; `None` if it does not call a constructor of documents.
    pub fn of_call(expression: Node) -> Option<Self> {
        let (function, arguments) = expression.call()?;
        let arguments: Vec<_> = arguments.map(Node::constant).collect();
        let known = |number: usize, type_oid: Oid| {
            let constant = (*arguments.get(number)?)?;
            let is_known = !constant.constisnull && constant.consttype == type_oid;
            is_known.then_some(constant.constvalue)
        };
        // SAFETY: `known` returns the non-null value of a constant with this type.
        let text = |number| unsafe { lossless::read(known(number, pg_sys::TEXTOID)?).ok() };
        let content = match c_function(function)?.as_slice() {
            b"minlsh_document_of_text" => (|| {
                let options = Options {
                    shingle_size: known(2, pg_sys::INT4OID)?.value() as i32,
                    unit: text(3)?,
                    normalization: text(4)?,
                    stop_words: text(5)?,
                    bag: known(6, pg_sys::BOOLOID)?.value() != 0,
                    ..Options::default()
                };
                let config = options.config().ok()?;
                Some(Content::Text(Options::of(&config), b""))
            })(),
            b"minlsh_document_of_set" => Some(Content::Set(Cow::Borrowed(&[]))),
            b"minlsh_document_of_signature" => Some(Content::Signature(Cow::Borrowed(&[]))),
            _ => return None,
        };
        let threshold = known(1, pg_sys::FLOAT8OID);
        // The call itself refuses a threshold out of range.
        let threshold = threshold.map(|value| Threshold::clamped(f64::from_bits(value.value() as u64)));
        Some(Self { threshold, content })
    }

    /// An empty document with these parts, with the threshold `least` if it is unknown; `None` if its options are
    /// unknown.
    pub fn with_least(self, least: Threshold) -> Option<Document<'static>> {
        Some(Document { threshold: self.threshold.unwrap_or(least), content: self.content? })
    }
}

static FORM: TypeForm = TypeForm {
    name: "minlsh_document",
    start: "{\"threshold\":",
    meaning: "a document",
    read,
    write: |value| write(&Document::from_bytes(value)?),
};

fn write(document: &Document) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    memory::extend(&mut out, format!("{{\"threshold\": {}", document.threshold).as_bytes())?;
    match &document.content {
        Content::Text(options, text) => {
            write_options(&mut out, options)?;
            write_member(&mut out, "text", text)?;
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
    memory::extend(out, format!(", \"shingle_size\": {}", options.shingle_size).as_bytes())?;
    write_member(out, "unit", options.unit.as_bytes())?;
    write_member(out, "normalization", text::encode(&options.normalization))?;
    if options.stop_words != default.stop_words {
        write_member(out, "stop_words", text::encode(&options.stop_words))?;
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
        // A separator, a sign and 19 digits.
        memory::reserve(out, 22)?;
        let separator = if i == 0 { "" } else { ", " };
        // Writing to a vector does not fail.
        let _ = write!(out, "{separator}{number}");
    }
    Ok(memory::extend(out, b"]")?)
}

/// Reads a document from its text form.
fn read(literal: &[u8]) -> Read<Datum> {
    let (mut threshold, mut options, mut has_options) = (None, Options::default(), false);
    let (mut text, mut set, mut signature) = (None, None::<Vec<i64>>, None::<Vec<i32>>);
    if FORM.is_object(literal) {
        JsonReader::new(literal).object(|name, reader| {
            match name {
                b"threshold" => threshold = Some(reader.number()?),
                b"text" => text = Some(reader.string()?),
                b"set" => set = Some(reader.numbers()?),
                b"signature" => signature = Some(reader.numbers()?),
                option => {
                    has_options = true;
                    return read_option(&mut options, option, reader);
                }
            }
            Ok(true)
        })?;
    } else {
        (threshold, text) = (Some(Threshold::default().get()), Some(literal.into()));
    }
    let Some(threshold) = threshold else { return syntax("It has no \"threshold\".") };
    let threshold = Threshold::new(threshold)?;
    let content = match (&text, set, signature) {
        (Some(text), None, None) => Content::Text(Options::of(&options.config()?), text),
        (None, Some(hashes), None) if !has_options => {
            Content::of_hashes(memory::collect(hashes.into_iter().map(|hash| hash as u64))?)?
        }
        (None, None, Some(slots)) if !has_options => Content::of_slots(&slots)?,
        (None, None, None) => return syntax("It has no \"text\", \"set\" or \"signature\"."),
        _ => {
            return syntax("It must have a \"text\" and its options, or a \"set\", or a \"signature\".");
        }
    };
    Ok(Document { threshold, content }.write())
}

/// Reads an option of a text; false if there is no option of this name.
fn read_option<'a>(options: &mut Options<'a>, name: &[u8], reader: &mut JsonReader<'a>) -> Read<bool> {
    match name {
        b"shingle_size" => options.shingle_size = reader.number()?,
        b"unit" => options.unit = reader.utf8()?,
        b"normalization" => options.normalization = reader.utf8()?,
        b"stop_words" => options.stop_words = reader.utf8()?,
        b"bag" => options.bag = reader.boolean()?,
        _ => return Ok(false),
    }
    Ok(true)
}
