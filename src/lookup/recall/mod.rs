//! `minlsh_recall()`: an audit of what is found, against a comparison of each document of a sample with all documents.
//!
//! [`audit`] compares, by the exact similarity of the documents. [`finders`] find: by an index that is asked for the
//! near-duplicates of each document, or where there is none, by shared bands, as in a whole-corpus job. Both see what
//! the caller sees. [`tally`] counts.

mod audit;
mod finders;
mod tally;

use std::rc::Rc;

use pgrx::pg_sys::Datum;

use crate::corpus::reading::keyed_rows::Sampling;
use crate::corpus::source::Source;
use crate::corpus::source::arguments::{Arguments, raw_text};
use crate::corpus::source::criteria::criteria;
use crate::corpus::source::named::{is_query, relation_named};
use crate::error::Result;
use crate::indexed::Indexed;
use crate::lookup::find;
use crate::lookup::near_duplicates::Asked;
use crate::options::Verify;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::catalog;
use crate::pg::guc::LocalSettings;
use crate::pg::result_rows::ResultRows;
use crate::pg::spi::Session;
use audit::Audited;
use finders::{ByBands, ByIndex};
use tally::Bands;

sql_function!(minlsh_recall, recall);

/// The places of two arguments that lookups have, too.
const THRESHOLD: usize = 1;
const VERIFY: usize = 3;

/// `minlsh_recall(source, threshold, sample, verify, sample_seed, body, key_column, scope, options
/// ...)`: a row for all pairs, and one for each band of similarity.
fn recall(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let arguments = Arguments::of(call);
    let wanted = Sampling::of(&arguments)?;
    let target = index(call, &arguments)?;
    let (settings, session) = (LocalSettings::open(), Session::open());
    // Keys are compared as texts.
    settings.write_exact_text();
    let bands = match &target {
        Some(target) => {
            let threshold = find::threshold(call, THRESHOLD, target)?;
            let verify = find::verify(call, VERIFY)?;
            let asked = Asked::new(target, threshold, verify)?;
            let source = Source::of_index(&session, &arguments, target.clone(), "source")?;
            let mut bands = Bands::above(threshold.get(), verify.unwrap_or(Verify::Exact));
            let audited =
                Audited { session: &session, source: &source, config: &target.options.config };
            audited.audit(&mut ByIndex::new(asked), wanted, &mut bands)?;
            bands
        }
        None => {
            let source = [Source::read(&session, &arguments, "source", false)?];
            let criteria = criteria(&session, &arguments, &source)?;
            let mut bands = Bands::above(criteria.threshold.get(), criteria.verify);
            let (source, config) = (&source[0], &criteria.config.clone());
            let audited = Audited { session: &session, source, config };
            audited.audit(&mut ByBands::new(criteria), wanted, &mut bands)?;
            bands
        }
    };
    write(&bands, &result);
    Ok(None)
}

/// The index that is audited: the one that is named, or that a table has. None of a query, without an index, and where
/// options are passed, which only a job can follow.
fn index(call: &Call, arguments: &Arguments) -> Result<Option<Rc<Indexed>>> {
    let Some(name) = arguments.raw("source") else { return find::only(call).map(Some) };
    let is_job = is_query(raw_text(name).to_bytes())
        || arguments.has_options()
        || arguments.has(&["body", "key_column", "scope", "wanted_recall"]);
    if is_job {
        return Ok(None);
    }
    let relation = relation_named(name, "source")?;
    match catalog::relation_kind(relation) {
        b'v' | b'f' => Ok(None),
        _ => find::of_relation(call, relation),
    }
}

/// A row for all pairs, and one for each band of similarity.
fn write(bands: &Bands, result: &ResultRows) {
    let count = |count: u64| Some(Datum::from(count as i64));
    for shares in bands.shares() {
        let [recall, recall_low, recall_high] = shares.recall.map(|share| share.map(float8_datum));
        let [precision, precision_low, precision_high] =
            shares.precision.map(|share| share.map(float8_datum));
        result.push(&[
            Some(float8_datum(shares.from)),
            Some(float8_datum(shares.to)),
            count(bands.sampled()),
            count(bands.population),
            count(shares.pairs),
            count(shares.pairs_found),
            recall,
            recall_low,
            recall_high,
            count(shares.returned),
            precision,
            precision_low,
            precision_high,
            shares.copies.and_then(count),
            shares.copies_found.and_then(count),
        ]);
    }
}
