//! `shared_passages()` and `passage_coverage()`: what of one text is in another.

use std::ops::Range;

use pgrx::pg_sys::{self, Datum};
use sketch::Normalization;
use sketch::passage::{
    CharacterOffsets, Characters, Sought, shared_runs, valid_min_match, valid_normalization,
};

use crate::error::Result;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::interrupts::check_interrupts;
use crate::pg::result_rows::ResultRows;
use crate::pg::text;

sql_function!(minlsh_shared_passages, shared_passages);
sql_function!(minlsh_passage_coverage, passage_coverage);

/// `shared_passages(a text, b text, min_match, normalization)
/// → (a_from, a_length, b_from, b_length integer, passage text)`
fn shared_passages(call: &Call) -> Result<Option<Datum>> {
    let Some(arguments) = Arguments::read(call)? else { return Ok(None) };
    let rows = ResultRows::start(call)?;
    arguments.each_passage(&mut |passage: SharedPassage| {
        let place = |range: &Range<usize>| {
            let (from, length) = (range.start + 1, range.len());
            [from, length].map(|number| Some(Datum::from(number as i32)))
        };
        let ([a_from, a_length], [b_from, b_length]) = (place(&passage.a), place(&passage.b));
        text::lent(passage.text, |text| {
            rows.push(&[a_from, a_length, b_from, b_length, Some(text)]);
        });
        Ok(())
    })?;
    Ok(None)
}

/// `passage_coverage(passage text, body text, min_match, normalization) → double precision`
fn passage_coverage(call: &Call) -> Result<Option<Datum>> {
    let Some(Arguments { a, b, min_match, normalization }) = Arguments::read(call)? else {
        return Ok(None);
    };
    let read = |text| Characters::of(&normalization, text, &mut check_interrupts);
    let (passage, body) = (read(a)?, read(b)?);
    let length = passage.len();
    if length == 0 {
        return Ok(None);
    }
    let mut sought = Sought::new(passage, min_match, &mut check_interrupts)?;
    let covered = sought.covered(&body, &mut check_interrupts)?;
    Ok(Some(float8_datum(covered as f64 / length as f64)))
}

/// Two texts, and what counts as a passage.
struct Arguments<'a> {
    a: &'a str,
    b: &'a str,
    min_match: usize,
    normalization: Normalization,
}

/// A passage that two texts have in common, with its characters in both, from 0.
struct SharedPassage<'a> {
    a: Range<usize>,
    b: Range<usize>,
    text: &'a str,
}

impl<'a> Arguments<'a> {
    fn read(call: &'a Call) -> Result<Option<Self>> {
        let (Some(a), Some(b), Some(min_match), Some(normalization)) =
            (call.text(0)?, call.text(1)?, call.int4(2), call.text(3)?)
        else {
            return Ok(None);
        };
        Ok(Some(Self {
            a,
            b,
            min_match: valid_min_match(min_match.into())?,
            normalization: valid_normalization(normalization)?,
        }))
    }

    /// Calls `f` for each passage that both have, by place in the first text.
    fn each_passage(&self, f: &mut dyn FnMut(SharedPassage) -> Result<()>) -> Result<()> {
        let Self { a, b, min_match, ref normalization } = *self;
        let read = |text| Characters::with_places(normalization, text, &mut check_interrupts);
        let (read_a, read_b) = (read(a)?, read(b)?);
        let offsets = |text| CharacterOffsets::of(text);
        let runs = shared_runs(&read_a, &read_b, min_match, &mut check_interrupts);
        let (bytes_a, bytes_b) = (offsets(a)?, offsets(b)?);
        for run in runs? {
            check_interrupts();
            let in_a = read_a.original(run.a..run.a + run.length);
            let in_b = read_b.original(run.b..run.b + run.length);
            let text = &a[bytes_a.bytes(&in_a)];
            let passage = if characters_are_bytes() {
                SharedPassage { a: bytes_a.bytes(&in_a), b: bytes_b.bytes(&in_b), text }
            } else {
                SharedPassage { a: in_a, b: in_b, text }
            };
            f(passage)?;
        }
        Ok(())
    }
}

/// `substr()` counts bytes in SQL_ASCII, whatever they are.
fn characters_are_bytes() -> bool {
    // SAFETY: the encoding is fixed for the life of the backend.
    unsafe { pg_sys::GetDatabaseEncoding() == pg_sys::pg_enc::PG_SQL_ASCII as i32 }
}
