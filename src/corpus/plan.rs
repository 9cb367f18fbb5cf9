//! `near_duplicate_plan()`: what to remove so that no near-duplicates remain, and what to keep.

use std::ffi::CString;

use pgrx::pg_sys::Datum;

use crate::corpus::arguments::raw_text;
use crate::corpus::arguments::{Arguments, Positions};
use crate::corpus::clusters::each;
use crate::corpus::grouping::{Ranks, leader_clusters};
use crate::corpus::work::Work;
use crate::error::{Result, invalid_parameter};
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::interrupts::check_interrupts;
use crate::pg::result_rows::ResultRows;
use crate::pg::spi::Session;

sql_function!(minlsh_near_duplicate_plan, near_duplicate_plan);

const POSITIONS: Positions = Positions { threshold: 1, verify: 3, options: 7 };

/// `near_duplicate_plan(source, threshold, keep, verify, body, ...) → (doc_id, kept_id, similarity)`
///
/// The source is read in the order of `keep`, so that it is evaluated once, by the caller, over
/// whatever columns there are.
fn near_duplicate_plan(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let arguments = Arguments::of(call, POSITIONS);
    let keep = arguments.raw(POSITIONS.threshold + 1).map(raw_text);
    if keep.as_ref().is_some_and(is_blank) {
        return Err(invalid_parameter("keep must not be empty").set_hint(
            "Pass an ORDER BY list, such as 'published_at DESC, length(body) DESC', or NULL to keep the \
             lowest key.",
        ));
    }
    let session = Session::open();
    let work = Work::of_one(&session, &arguments, keep.as_deref())?;
    let ranks = if keep.is_some() { Ranks::AsRead } else { Ranks::of(&work.members.sorted())? };
    each(work, leader_clusters, &ranks, &mut |cluster, members| {
        for &(document, similarity) in &cluster.members {
            check_interrupts();
            let [removed, kept] = [document, cluster.representative].map(|name| members.key(name));
            result.push(&[removed, kept, float8_datum(similarity)].map(Some));
        }
    })?;
    Ok(None)
}

fn is_blank(keep: &CString) -> bool {
    keep.to_bytes().trim_ascii().is_empty()
}
