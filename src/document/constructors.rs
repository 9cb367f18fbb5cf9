//! `minlsh_document()` and `minlsh_signature()`.

use std::borrow::Cow;

use pgrx::pg_sys::{self, Datum, Oid};
use sketch::ElementHash;

use super::image::{Content, Document};
use crate::error::Result;
use crate::options::{Options, Threshold};
use crate::pg::call::{Call, sql_function};
use crate::pg::catalog::c_function;
use crate::pg::element;
use crate::pg::lossless;
use crate::pg::planner::Node;

sql_function!(minlsh_document_of_text, of_text);
sql_function!(minlsh_document_of_set, of_set);
sql_function!(minlsh_document_of_signature, of_signature);

/// `minlsh_document(text, threshold, shingle_size, unit, normalization, stop_words, bag) → minlsh_document`
fn of_text(call: &Call) -> Result<Option<Datum>> {
    let (Some(body), Some(least), Some(options)) =
        (call.bytes(0), call.float8(1), Options::shingling(call, 2, 3, 4)?)
    else {
        return Ok(None);
    };
    let threshold = Threshold::new(least)?;
    let content = Content::Text(Options::of(&options.config()?), body);
    Ok(Some(Document { threshold, content }.write()))
}

/// `minlsh_document(anyarray, threshold) → minlsh_document`
fn of_set(call: &Call) -> Result<Option<Datum>> {
    let (Some(elements), Some(least)) = (call.datum(0), call.float8(1)) else {
        return Ok(None);
    };
    let threshold = Threshold::new(least)?;
    // SAFETY: declared anyarray.
    let hashes = unsafe { element::hashes(elements, ElementHash::default()) }?;
    let content = Content::of_hashes(hashes)?;
    Ok(Some(Document { threshold, content }.write()))
}

/// `minlsh_signature(integer[], threshold) → minlsh_document`
fn of_signature(call: &Call) -> Result<Option<Datum>> {
    let (Some(signature), Some(least)) = (call.int4_array(0)?, call.float8(1)) else {
        return Ok(None);
    };
    let threshold = Threshold::new(least)?;
    let content = Content::of_slots(signature)?;
    Ok(Some(Document { threshold, content }.write()))
}

/// The parts of a document that are known before the call that makes it, from the constants among its arguments.
pub struct Outline {
    /// The threshold, unless it is unknown.
    pub threshold: Option<Threshold>,
    /// An empty content of that kind and with those options, unless one of them is unknown.
    content: Option<Content<'static>>,
}

impl Outline {
    /// The outline of what an expression makes, from the constants among its arguments; `None` if it does not call a
    /// constructor of documents.
    pub fn of_call(expression: Node) -> Option<Self> {
        let (function, arguments) = expression.call()?;
        let arguments: Vec<_> = arguments.map(Node::constant).collect();
        let known = |number: usize, type_oid: Oid| {
            let constant = (*arguments.get(number)?)?;
            let is_known = !constant.constisnull && constant.consttype == type_oid;
            is_known.then_some(constant.constvalue)
        };
        // SAFETY: `known` gives the value of a constant of an expression that is planned, if it is a text.
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
        // One that is out of range is for the call to refuse.
        let threshold =
            threshold.map(|value| Threshold::clamped(f64::from_bits(value.value() as u64)));
        Some(Self { threshold, content })
    }

    /// An empty document like that, with the threshold `least` if it is unknown; `None` if its options are.
    pub fn with_least(self, least: Threshold) -> Option<Document<'static>> {
        Some(Document { threshold: self.threshold.unwrap_or(least), content: self.content? })
    }
}
