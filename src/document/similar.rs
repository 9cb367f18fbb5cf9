//! The operators `~=`, and `jaccard()` with a document: the same comparison, once with a threshold
//! and once without.
//!
//! `~=` fails for no value that it is given, but for two documents of different options: so it is
//! LEAKPROOF, and a value of another kind (a set beside a text) is just not similar. `jaccard()`
//! says what is wrong.

use pgrx::pg_sys::{self, Datum};
use sketch::ElementHash;

use super::image::{self, Content, Document};
use super::prepared::{self, Kept, Prepared, Type};
use super::shingling::{Canonical, same};
use crate::error::{Result, SqlError, invalid_parameter};
use crate::options::Options;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::catalog::base_type;
use crate::pg::element;
use crate::pg::{array, bytes};
use crate::settings;

sql_function!(minlsh_text_similar_document, text_similar_document);
sql_function!(minlsh_document_similar_text, document_similar_text);
sql_function!(minlsh_array_similar_document, array_similar_document);
sql_function!(minlsh_document_similar_array, document_similar_array);
sql_function!(minlsh_document_similar_document, document_similar_document);
sql_function!(minlsh_text_similar_text, text_similar_text);
sql_function!(minlsh_array_similar_array, array_similar_array);
sql_function!(minlsh_jaccard_text_document, jaccard_text_document);
sql_function!(minlsh_jaccard_array_document, jaccard_array_document);
sql_function!(minlsh_jaccard_document_document, jaccard_document_document);

/// `text ~= minlsh_document`
fn text_similar_document(call: &Call) -> Result<Option<Datum>> {
    similar(call, 1, Type::Document, Type::Text)
}

/// `minlsh_document ~= text`
fn document_similar_text(call: &Call) -> Result<Option<Datum>> {
    similar(call, 0, Type::Document, Type::Text)
}

/// `anyarray ~= minlsh_document`
fn array_similar_document(call: &Call) -> Result<Option<Datum>> {
    similar(call, 1, Type::Document, Type::Array)
}

/// `minlsh_document ~= anyarray`
fn document_similar_array(call: &Call) -> Result<Option<Datum>> {
    similar(call, 0, Type::Document, Type::Array)
}

/// `minlsh_document ~= minlsh_document`
fn document_similar_document(call: &Call) -> Result<Option<Datum>> {
    similar(call, lasting_argument(call), Type::Document, Type::Document)
}

/// `text ~= text`
fn text_similar_text(call: &Call) -> Result<Option<Datum>> {
    similar(call, lasting_argument(call), Type::Text, Type::Text)
}

/// `anyarray ~= anyarray`
fn array_similar_array(call: &Call) -> Result<Option<Datum>> {
    similar(call, lasting_argument(call), Type::Array, Type::Array)
}

/// `jaccard(text, minlsh_document) → double precision`
fn jaccard_text_document(call: &Call) -> Result<Option<Datum>> {
    jaccard(call, Type::Text)
}

/// `jaccard(anyarray, minlsh_document) → double precision`
fn jaccard_array_document(call: &Call) -> Result<Option<Datum>> {
    jaccard(call, Type::Array)
}

/// `jaccard(minlsh_document, minlsh_document) → double precision`
fn jaccard_document_document(call: &Call) -> Result<Option<Datum>> {
    jaccard(call, Type::Document)
}

/// The argument of two of the same type that is worth keeping: the one that stays the same.
fn lasting_argument(call: &Call) -> usize {
    usize::from(!call.is_constant(0) || call.is_constant(1))
}

/// `~=`: keeps argument `kept`, which is a `kept_type`, and compares the other one with it.
fn similar(call: &Call, kept: usize, kept_type: Type, other_type: Type) -> Result<Option<Datum>> {
    compare(call, kept, kept_type, other_type, |threshold, mut sides| {
        let least = match &sides.other {
            Other::Document(document) => document.threshold.get().max(threshold),
            _ => threshold,
        };
        let similar = matches!(sides.measure(Some(least))?, Outcome::Similarity(_));
        Ok(Some(Datum::from(similar)))
    })
}

/// `jaccard()`: compares the first argument with the second, a document.
fn jaccard(call: &Call, other_type: Type) -> Result<Option<Datum>> {
    compare(call, 1, Type::Document, other_type, |_, mut sides| match sides.measure(None)? {
        Outcome::Similarity(similarity) => Ok(Some(float8_datum(similarity))),
        Outcome::TooLow => Ok(None),
        Outcome::Incomparable => Err(incomparable(sides.prepared)),
    })
}

/// Reads both arguments, the kept one only if it is not the one of the last call.
fn compare(
    call: &Call,
    kept: usize,
    kept_type: Type,
    other_type: Type,
    decide: impl FnOnce(f64, Sides) -> Result<Option<Datum>>,
) -> Result<Option<Datum>> {
    let (Some(value), Some(other)) = (call.datum(kept), call.datum(1 - kept)) else {
        return Ok(None);
    };
    // SAFETY: both are declared as those types, and live as long as the call.
    let (image, other) = unsafe { (bytes_of(value, kept_type), Other::read(other, other_type)?) };
    let work = |place: &mut Kept| {
        let (threshold, prepared) = place.get(image, || prepare(value, image, kept_type))?;
        let threshold = match kept_type {
            Type::Document => threshold,
            // It may be set between two rows.
            Type::Text | Type::Array => settings::threshold().get(),
        };
        decide(threshold, Sides { prepared, text: text(image, kept_type)?, other })
    };
    if call.has_no_place() {
        // An exclusion constraint looks the function up for each pair of rows, and frees what that keeps at the
        // end of the statement. The new row is the same for many pairs.
        prepared::with_lent(kept_type, work)
    } else {
        // SAFETY: the only thing that these functions keep.
        work(unsafe { call.kept() })
    }
}

/// The text of a value, of which the image was taken; empty if it has no text.
fn text(image: &[u8], value_type: Type) -> Result<&[u8]> {
    Ok(match value_type {
        Type::Text => image,
        Type::Array => &[],
        Type::Document => match Document::from_bytes(image)?.content {
            Content::Text(_, text) => text,
            Content::Set(_) | Content::Signature(_) => &[],
        },
    })
}

/// The bytes that tell a value from any other of its type.
///
/// # Safety
/// `value` must be a non-null value of that type, valid for `'a`.
unsafe fn bytes_of<'a>(value: Datum, value_type: Type) -> &'a [u8] {
    // SAFETY: the caller's promise; an array is aligned when all of it is detoasted.
    unsafe {
        match value_type {
            Type::Text | Type::Document => bytes::read(value),
            Type::Array => bytes::read(array::detoast(value).0),
        }
    }
}

/// Makes ready a value, of which the image was taken.
fn prepare(value: Datum, image: &[u8], value_type: Type) -> Result<(f64, Prepared)> {
    match value_type {
        Type::Document => {
            let document = Document::from_bytes(image)?;
            Ok((document.threshold.get(), Prepared::document(&document)?))
        }
        Type::Text => {
            Ok((settings::threshold().get(), Prepared::text(Options::default().config()?)))
        }
        Type::Array => {
            // SAFETY: a non-null array.
            let hashes = unsafe { element::hashes(value, ElementHash::default()) }?;
            Ok((settings::threshold().get(), Prepared::set(hashes)?))
        }
    }
}

/// The other side of a comparison with something prepared.
enum Other<'a> {
    Text(&'a [u8]),
    Array(Datum),
    Document(Document<'a>),
}

impl Other<'_> {
    /// # Safety
    /// `value` must be a non-null value of that type, and live as long as the result.
    unsafe fn read(value: Datum, value_type: Type) -> Result<Self> {
        // SAFETY: the caller's promise.
        Ok(unsafe {
            match value_type {
                Type::Text => Self::Text(bytes::read(value)),
                Type::Array => Self::Array(value),
                Type::Document => Self::Document(Document::read(value)?),
            }
        })
    }
}

/// The outcome of a comparison.
enum Outcome {
    Similarity(f64),
    /// Less than was asked for; or both are empty, and there is none.
    TooLow,
    /// Of another kind, or signatures of different lengths.
    Incomparable,
}

/// Both sides of a comparison.
struct Sides<'a> {
    prepared: &'a mut Prepared,
    /// The text that is prepared; empty if there is no text.
    text: &'a [u8],
    other: Other<'a>,
}

impl Sides<'_> {
    /// The similarity, if it is at least `least`.
    fn measure(&mut self, least: Option<f64>) -> Result<Outcome> {
        let similarity = match (&mut *self.prepared, &self.other) {
            (Prepared::Text(own), Other::Text(text)) => own.with(self.text, text, least)?,
            (Prepared::Text(own), Other::Document(Document { content, .. })) => {
                let Content::Text(options, text) = content else {
                    return Ok(Outcome::Incomparable);
                };
                let other = options.config()?;
                if !same(own.config(), &other) {
                    return Err(different_options(
                        &Canonical::of(&other),
                        &Canonical::of(own.config()),
                    ));
                }
                own.with(self.text, text, least)?
            }
            (Prepared::Set(set), Other::Array(array)) => {
                // SAFETY: a non-null array.
                let hashes = unsafe { element::hashes(*array, ElementHash::default()) }?;
                set.with_hashes(hashes, least)?
            }
            (
                Prepared::Set(set),
                Other::Document(Document { content: Content::Set(stored), .. }),
            ) => set.with_hashes(image::hashes(stored)?, least)?,
            (Prepared::Signature(slots), Other::Array(array)) => {
                // SAFETY: a non-null array.
                return Ok(share_of_equal(slots, unsafe { signature(*array) }, least));
            }
            (
                Prepared::Signature(slots),
                Other::Document(Document { content: Content::Signature(stored), .. }),
            ) => return Ok(share_of_equal(slots, Some(image::slots(stored)), least)),
            _ => return Ok(Outcome::Incomparable),
        };
        Ok(similarity.map_or(Outcome::TooLow, Outcome::Similarity))
    }
}

fn share_of_equal(a: &[i32], b: Option<Vec<i32>>, least: Option<f64>) -> Outcome {
    match b.map(|b| sketch::estimate_jaccard(a, &b)) {
        Some(Ok(share)) if least.is_none_or(|least| share >= least) => Outcome::Similarity(share),
        Some(Ok(_)) => Outcome::TooLow,
        Some(Err(_)) | None => Outcome::Incomparable,
    }
}

/// The slots of an array that is a signature: integers, of which none is NULL.
///
/// # Safety
/// `array` must be a non-null array.
unsafe fn signature(array: Datum) -> Option<Vec<i32>> {
    // SAFETY: the caller's promise; the elements are of the type that the array itself says.
    unsafe {
        let (array, element_type) = array::detoast(array);
        if base_type(element_type) != pg_sys::INT4OID {
            return None;
        }
        let slots = array::each_element(array);
        slots.map(|slot| slot.map(|slot| slot.value() as i32)).collect()
    }
}

fn different_options(a: &Canonical, b: &Canonical) -> SqlError {
    invalid_parameter("documents with different options cannot be compared")
        .set_detail(format!("One has {a}; the other has {b}."))
        .set_hint("Create both with the same options.")
}

fn incomparable(prepared: &Prepared) -> SqlError {
    let expected = match prepared {
        Prepared::Text(..) => "a text".to_owned(),
        Prepared::Set(_) => "a set".to_owned(),
        Prepared::Signature(slots) => format!("a signature of {} slots", slots.len()),
    };
    invalid_parameter(format!("cannot compare the value with a document that is {expected}"))
        .set_hint(
            "Use minlsh_document() for texts and sets, and minlsh_signature() for signatures.",
        )
}
