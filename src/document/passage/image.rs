//! A passage as bytes, and `minlsh_passage()`, which makes it.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | version of this layout: 1 |
//! | 8 | coverage, binary64 |
//! | 2 | min_match |
//! | up to a zero byte | normalization in canonical form, UTF-8 |
//! | the rest | the passage, in the database's encoding |
//!
//! Numbers have their least significant byte first. A damaged page may hold anything: what is read is
//! checked.

use std::cell::RefCell;

use pgrx::pg_sys::Datum;
use sketch::Normalization;
use sketch::passage::{valid_coverage, valid_min_match, valid_normalization};

use crate::document::form::{damaged, until_zero};
use crate::error::Result;
use crate::options::Recent;
use crate::pg::bytes;
use crate::pg::call::{Call, sql_function};

sql_function!(minlsh_passage_of_text, of_text);

const VERSION: u8 = 1;

/// A passage that is sought, read where it lies.
#[derive(Clone, Copy)]
pub struct Passage<'a> {
    /// The share of it that a text must have.
    pub coverage: f64,
    /// The minimum length of what they have in common.
    pub min_match: usize,
    /// Steps in canonical form.
    pub normalization: &'a str,
    /// The passage in the database's encoding.
    pub text: &'a [u8],
}

impl<'a> Passage<'a> {
    /// Reads a passage.
    ///
    /// # Safety
    /// `datum` must be a non-null varlena, valid for `'a`; of whatever content.
    pub unsafe fn read(datum: Datum) -> Result<Self> {
        // SAFETY: the caller's promise.
        Self::from_bytes(unsafe { bytes::read(datum) })
    }

    /// Reads a passage out of its bytes.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self> {
        Self::parse(bytes).ok_or_else(|| damaged("minlsh_passage"))
    }

    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (&[VERSION], rest) = bytes.split_first_chunk()? else { return None };
        let (coverage, rest) = rest.split_first_chunk()?;
        let (min_match, rest) = rest.split_first_chunk()?;
        let (normalization, text) = until_zero(rest)?;
        let min_match = u16::from_le_bytes(*min_match);
        let passage = Self {
            coverage: valid_coverage(f64::from_le_bytes(*coverage)).ok()?,
            min_match: valid_min_match(min_match.into()).ok()?,
            normalization,
            text,
        };
        passage.steps().is_ok().then_some(passage)
    }

    /// The passage as a datum, in the current memory context.
    pub fn write(&self) -> Datum {
        bytes::concatenate(&[
            &[VERSION],
            &self.coverage.to_le_bytes(),
            &(self.min_match as u16).to_le_bytes(),
            self.normalization.as_bytes(),
            b"\0",
            self.text,
        ])
    }

    /// The steps of its normalization.
    pub fn steps(&self) -> Result<Normalization> {
        normalization(self.normalization)
    }
}

thread_local! {
    /// Reading steps takes longer than a look at a short text.
    static READ: RefCell<Recent<(String, Normalization)>> = const { RefCell::new(Recent::new()) };
}

/// The normalization of passages that is written so, kept for the next call.
pub fn normalization(steps: &str) -> Result<Normalization> {
    let kept = READ.with_borrow_mut(|kept| kept.take(|(written, _)| written == steps));
    let read = match kept {
        Some(read) => read,
        None => (steps.to_owned(), valid_normalization(steps)?),
    };
    let normalization = read.1.clone();
    READ.with_borrow_mut(|kept| kept.keep(read));
    Ok(normalization)
}

/// `minlsh_passage(text, coverage, min_match, normalization) → minlsh_passage`
fn of_text(call: &Call) -> Result<Option<Datum>> {
    let (Some(text), Some(coverage), Some(min_match), Some(steps)) =
        (call.bytes(0), call.float8(1), call.int4(2), call.text(3)?)
    else {
        return Ok(None);
    };
    let passage = Passage {
        coverage: valid_coverage(coverage)?,
        min_match: valid_min_match(min_match.into())?,
        normalization: &normalization(steps)?.to_string(),
        text,
    };
    Ok(Some(passage.write()))
}
