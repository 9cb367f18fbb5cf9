//! `minlsh_document()` and `minlsh_signature()`.

use pgrx::pg_sys::Datum;
use sketch::{ElementHash, ShingleSet};

use super::image::{Content, Document, stored_set, stored_signature};
use super::shingling::Canonical;
use crate::error::Result;
use crate::options::{Options, Threshold};
use crate::pg::call::{Call, sql_function};
use crate::pg::element;
use crate::pg::interrupts::check_interrupts;

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
    let options = Canonical::of(&options.config()?);
    let content = Content::Text(options.shingling(), body);
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
    let set = ShingleSet::from_hashes(hashes, &mut check_interrupts);
    let content = Content::Set(&stored_set(&set)?);
    Ok(Some(Document { threshold, content }.write()))
}

/// `minlsh_signature(integer[], threshold) → minlsh_document`
fn of_signature(call: &Call) -> Result<Option<Datum>> {
    let (Some(signature), Some(least)) = (call.int4_array(0)?, call.float8(1)) else {
        return Ok(None);
    };
    let threshold = Threshold::new(least)?;
    let content = Content::Signature(&stored_signature(signature)?);
    Ok(Some(Document { threshold, content }.write()))
}
