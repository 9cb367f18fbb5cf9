//! From a stored text to the entries that an index of passages has of it, and from a passage to the
//! search for it.

use std::cell::RefCell;

use pgrx::pg_sys::Datum;
use sketch::passage::{Bound, Characters, Fingerprints, valid_min_match};
use sketch::{Config, sort_by};

use super::image::{Passage, normalization};
use crate::document::value::BandSearch;
use crate::error::{Result, out_of_memory};
use crate::options::IndexOptions;
use crate::pg::array;
use crate::pg::call::{Call, sql_function};
use crate::pg::interrupts::check_interrupts;
use crate::pg::lossless;

sql_function!(minlsh_passage_hashes, passage_hashes);

thread_local! {
    static SCRATCH: RefCell<Option<(Fingerprints, Vec<u64>)>> = const { RefCell::new(None) };
}

/// Appends the fingerprints of a row's text to `entries`: none if it is shorter than a passage.
pub fn append(text: &str, config: &Config, min_match: usize, entries: &mut Vec<i64>) -> Result<()> {
    // It is put back when the work is done: a cancelled call leaves none.
    let (mut fingerprints, mut found) = match SCRATCH.take() {
        Some(kept) => kept,
        None => (Fingerprints::new()?, Vec::new()),
    };
    let text = Characters::of(config.normalization(), text, &mut check_interrupts);
    let text = text?;
    fingerprints.append(&text, min_match, &mut found, &mut check_interrupts)?;
    entries.try_reserve(found.len()).map_err(|_| out_of_memory())?;
    entries.extend(found.iter().map(|entry| *entry as i64));
    found.clear();
    found.shrink_to(1 << 16);
    SCRATCH.set(Some((fingerprints, found)));
    Ok(())
}

/// `passage_hashes(text, min_match, normalization) → bigint[]`: the distinct ones, in ascending order.
fn passage_hashes(call: &Call) -> Result<Option<Datum>> {
    let (Some(text), Some(min_match), Some(steps)) = (call.text(0)?, call.int4(1), call.text(2)?)
    else {
        return Ok(None);
    };
    let min_match = valid_min_match(min_match.into())?;
    let config = Config::default().with_normalization(normalization(steps)?)?;
    let mut hashes = Vec::new();
    append(text, &config, min_match, &mut hashes)?;
    sort_by(&mut hashes, Ord::cmp, &mut check_interrupts);
    hashes.dedup();
    Ok(Some(array::write_int8(&hashes)))
}

/// The search for a passage in an index with these options.
///
/// # Safety
/// `value` must be a non-null `minlsh_passage`.
pub unsafe fn search(value: Datum, options: &IndexOptions) -> Result<BandSearch> {
    // SAFETY: the caller's promise.
    let passage = unsafe { Passage::read(value) }?;
    let Some(min_match) = options.min_match else { return Ok(BandSearch::Everything) };
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
    Bound::new(&text, coverage, at_least, min_match, &mut check_interrupts)
        .map(BandSearch::Passage)
        .map_err(Into::into)
}
