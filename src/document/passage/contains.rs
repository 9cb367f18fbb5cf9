//! The operators `~>` and `<~`: whether a text has enough of a passage.
//!
//! They fail for no value, and are not LEAKPROOF all the same: `sql/minlsh.sql` says why.

use pgrx::pg_sys::Datum;
use sketch::Normalization;
use sketch::passage::{Characters, Sought, needed};

use super::image::Passage;
use crate::document::prepared::Kept;
use crate::error::Result;
use crate::pg::bytes;
use crate::pg::call::{Call, sql_function};
use crate::pg::interrupts::check_interrupts;
use crate::pg::lossless;

sql_function!(minlsh_text_contains_passage, text_contains_passage);
sql_function!(minlsh_passage_within_text, passage_within_text);

/// `text ~> minlsh_passage`
fn text_contains_passage(call: &Call) -> Result<Option<Datum>> {
    contains(call, 0, 1)
}

/// `minlsh_passage <~ text`
fn passage_within_text(call: &Call) -> Result<Option<Datum>> {
    contains(call, 1, 0)
}

/// A passage made ready, which most calls of a query share.
struct PreparedPassage {
    normalization: Normalization,
    sought: Sought<'static>,
    /// The number of its characters that a text must have.
    needed: usize,
}

fn contains(call: &Call, body: usize, passage: usize) -> Result<Option<Datum>> {
    let (Some(body), Some(image)) = (call.datum(body), call.bytes(passage)) else {
        return Ok(None);
    };
    // SAFETY: the only thing that these functions keep.
    let kept: &mut Kept<PreparedPassage> = unsafe { call.kept() };
    let prepared = kept.get(image, || prepare(image))?;
    // SAFETY: declared text, and lives as long as the call.
    let body = lossless::decode(unsafe { bytes::read(body) })?;
    let body = Characters::of(&prepared.normalization, &body, &mut check_interrupts);
    let body = body?;
    let sought = &mut prepared.sought;
    let contains = !sought.passage().is_empty()
        && sought.covered(&body, &mut check_interrupts)? >= prepared.needed;
    Ok(Some(Datum::from(contains)))
}

fn prepare(image: &[u8]) -> Result<PreparedPassage> {
    let passage = Passage::from_bytes(image)?;
    let normalization = passage.steps()?;
    let text = lossless::decode(passage.text)?;
    let characters = Characters::of(&normalization, &text, &mut check_interrupts)
        .and_then(Characters::into_owned)?;
    let needed = needed(passage.coverage, characters.len());
    let sought = Sought::new(characters, passage.min_match, &mut check_interrupts);
    Ok(PreparedPassage { normalization, sought: sought?, needed })
}
