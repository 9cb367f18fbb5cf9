//! Passages to search for: the type `minlsh_passage` as bytes and as text, the operators `~>` and `<~`, the entries of
//! a text in an index of passages, and the search for a passage.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | version of this layout: 1 |
//! | 8 | coverage, binary64 |
//! | 2 | min_match |
//! | up to a zero byte | normalization in canonical form, UTF-8 |
//! | the rest | the passage, in the database's encoding |
//!
//! Numbers are little-endian. A damaged page may hold anything, so everything is checked when it is read. The text form
//! is a JSON object, such as `{"coverage": 0.8, "min_match": 50, "normalization": "nfkc casefold whitespace",
//! "passage": "..."}`. Any other text is a passage with the default options.
//!
//! The operators do not fail for any value. `sql/minlsh.sql` explains why they are not LEAKPROOF.

use std::borrow::Cow;
use std::cell::RefCell;

use sketch::passage::{
    Bound, Characters, Fingerprints, Sought, needed, valid_coverage, valid_min_match, valid_normalization,
};
use sketch::{Config, DEFAULT_COVERAGE, DEFAULT_MIN_MATCH, Normalization, sort_by};

use super::form::{JsonReader, Read, TypeForm, damaged, syntax, write_member};
use super::image::until_zero;
use super::similar::KeptValue;
use super::value::BandSearch;
use crate::options::IndexOptions;
use crate::prelude::*;

sql_function!(minlsh_passage_of_text, of_text);
sql_function!(minlsh_passage_in, |call| FORM.input(call));
sql_function!(minlsh_passage_out, |call| FORM.output(call));
sql_function!(minlsh_passage_recv, |call| FORM.receive(call));
sql_function!(minlsh_passage_send, |call| FORM.send(call));
// `text ~> minlsh_passage`, and the other way round
sql_function!(minlsh_text_contains_passage, |call| contains(call, 0, 1));
sql_function!(minlsh_passage_within_text, |call| contains(call, 1, 0));
sql_function!(minlsh_passage_hashes, passage_hashes);

const VERSION: u8 = 1;

/// A passage to search for, read in place.
#[derive(Clone, Copy)]
pub struct Passage<'a> {
    /// The share of it that a text must contain.
    pub coverage: f64,
    /// The minimum length of a common part.
    pub min_match: usize,
    /// The steps, in canonical form.
    pub normalization: &'a str,
    /// The passage in the database's encoding.
    pub text: &'a [u8],
}

impl<'a> Passage<'a> {
    /// Reads a passage from bytes with any content.
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

    /// The steps of its normalization.
    pub fn steps(&self) -> Result<Normalization> {
        Ok(valid_normalization(self.normalization)?)
    }
}

/// `minlsh_passage(text, coverage, min_match, normalization) → minlsh_passage`
fn of_text(call: &Call) -> Result<Option<Datum>> {
    let (text, coverage) = (call.bytes(0).given()?, call.float8(1).given()?);
    let (min_match, steps) = (call.int4(2).given()?, call.text(3).given()?);
    write(text, coverage, min_match.into(), steps).map(Some)
}

/// Makes a datum of a passage in the database's encoding with these options, in the current memory context.
fn write(text: &[u8], coverage: f64, min_match: i64, steps: &str) -> Result<Datum> {
    Ok(bytes::concatenate(&[
        &[VERSION],
        &valid_coverage(coverage)?.to_le_bytes(),
        &(valid_min_match(min_match)? as u16).to_le_bytes(),
        valid_normalization(steps)?.to_string().as_bytes(),
        b"\0",
        text,
    ]))
}

static FORM: TypeForm = TypeForm {
    name: "minlsh_passage",
    start: "{\"coverage\":",
    meaning: "a passage",
    read: read_literal,
    write: |value| write_literal(&Passage::from_bytes(value)?),
};

fn write_literal(passage: &Passage) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let Passage { coverage, min_match, .. } = passage;
    memory::extend(&mut out, format!("{{\"coverage\": {coverage}, \"min_match\": {min_match}").as_bytes())?;
    write_member(&mut out, "normalization", text::encode(passage.normalization))?;
    write_member(&mut out, "passage", passage.text)?;
    memory::extend(&mut out, b"}")?;
    Ok(out)
}

fn read_literal(literal: &[u8]) -> Read<Datum> {
    let (mut coverage, mut min_match) = (DEFAULT_COVERAGE, DEFAULT_MIN_MATCH as i64);
    let (mut steps, mut passage) = (Cow::Borrowed("plain"), None);
    if FORM.is_object(literal) {
        JsonReader::new(literal).object(|name, reader| {
            match name {
                b"coverage" => coverage = reader.number()?,
                b"min_match" => min_match = reader.number()?,
                b"normalization" => steps = reader.utf8()?,
                b"passage" => passage = Some(reader.string()?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
    } else {
        passage = Some(literal.into());
    }
    let Some(text) = &passage else { return syntax("It has no \"passage\".") };
    Ok(write(text, coverage, min_match, &steps)?)
}

/// A passage prepared for comparison, which most calls of a query share.
struct PreparedPassage {
    normalization: Normalization,
    sought: Sought,
    /// Number of its characters that a text must contain.
    needed: usize,
}

fn contains(call: &Call, body: usize, passage: usize) -> Result<Option<Datum>> {
    let (Some(body), Some(image)) = (call.datum(body), call.bytes(passage)) else {
        return Ok(None);
    };
    // SAFETY: these functions always ask for this type, once in a call.
    let kept: &mut KeptValue<PreparedPassage> = unsafe { call.kept() };
    let prepared = kept.get(image, || prepare(image))?;
    // SAFETY: `sql/minlsh.sql` declares the argument as text, which lives as long as the call.
    let body = lossless::decode(unsafe { bytes::read(body) })?;
    let body = Characters::of(&prepared.normalization, &body, &mut check_interrupts)?;
    let body = body.without_text();
    let sought = &mut prepared.sought;
    let contains = !sought.is_empty() && sought.covered(&body, &mut check_interrupts)? >= prepared.needed;
    Ok(Some(Datum::from(contains)))
}

fn prepare(image: &[u8]) -> Result<PreparedPassage> {
    let passage = Passage::from_bytes(image)?;
    let normalization = passage.steps()?;
    let text = lossless::decode(passage.text)?;
    let characters = Characters::of(&normalization, &text, &mut check_interrupts)?;
    let needed = needed(passage.coverage, characters.len());
    let sought = Sought::new(characters, passage.min_match, &mut check_interrupts);
    Ok(PreparedPassage { normalization, sought: sought?, needed })
}

thread_local! {
    static SCRATCH: RefCell<Option<(Fingerprints, Vec<u64>)>> = const { RefCell::new(None) };
}

/// The fingerprints of a row's text; none if it is shorter than a passage.
pub fn entries(text: &str, config: &Config, min_match: usize) -> Result<Vec<i64>> {
    // They are put back at the end, so that a cancelled call leaves no partial result.
    let (mut fingerprints, mut found) = match SCRATCH.take() {
        Some(kept) => kept,
        None => (Fingerprints::new()?, Vec::new()),
    };
    let text = Characters::of(config.normalization(), text, &mut check_interrupts);
    let text = text?;
    fingerprints.append(&text, min_match, &mut found, &mut check_interrupts)?;
    let entries = memory::collect(found.iter().map(|entry| *entry as i64))?;
    found.clear();
    found.shrink_to(1 << 16);
    SCRATCH.set(Some((fingerprints, found)));
    Ok(entries)
}

/// `passage_hashes(text, min_match, normalization) → bigint[]`: the distinct hashes, ascending.
fn passage_hashes(call: &Call) -> Result<Option<Datum>> {
    let min_match = valid_min_match(call.int4(1).given()?.into())?;
    let steps = valid_normalization(call.text(2).given()?)?;
    let config = Config::default().with_normalization(steps)?;
    let mut hashes = entries(call.text(0).given()?, &config, min_match)?;
    sort_by(&mut hashes, Ord::cmp, &mut check_interrupts);
    hashes.dedup();
    Ok(Some(array::write(&hashes)))
}

/// The search for a passage in an index with these options. A value of a foreign type is left to the operator.
pub fn search(sought: TypedValue, options: &IndexOptions) -> Result<BandSearch> {
    let (Some(image), Some(min_match)) = (sought.passage(), options.min_match) else {
        return Ok(BandSearch::Everything);
    };
    let passage = Passage::from_bytes(image)?;
    let normalization = options.config.normalization();
    if passage.steps()? != *normalization || passage.min_match < min_match {
        return Ok(BandSearch::Everything);
    }
    let text = lossless::decode(passage.text)?;
    let text = Characters::of(normalization, &text, &mut check_interrupts)?;
    if text.is_empty() {
        return Ok(BandSearch::Nothing);
    }
    if text.len() < min_match {
        return Ok(BandSearch::Everything);
    }
    let (coverage, at_least) = (passage.coverage, passage.min_match);
    Bound::new(&text, coverage, at_least, min_match, &mut check_interrupts).map(BandSearch::Passage).map_err(Into::into)
}
