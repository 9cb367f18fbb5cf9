//! `near_duplicate_pairs()`: every pair of near-duplicates, once.

use pgrx::pg_sys::Datum;
use sketch::Error;
use sketch::corpus::{Hashes, Identical, LeftOut, Side, pairs};

use crate::corpus::arguments::{Arguments, Places};
use crate::corpus::batches::Emit;
use crate::corpus::group::Group;
use crate::corpus::work::{Work, report};
use crate::error::Result;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::result_rows::ResultRows;
use crate::pg::spi::Session;
use crate::settings::bucket_limit;

sql_function!(minlsh_near_duplicate_pairs, near_duplicate_pairs);

const PLACES: Places = Places { threshold: 1, verify: 2, options: 6 };

/// `near_duplicate_pairs(source, threshold, [key], verify, body, ...) → (doc_a, doc_b, similarity)`
fn near_duplicate_pairs(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let session = Session::open();
    let Work { members, mut batches, .. } =
        Work::of_one(&session, &Arguments::of(call, PLACES)?, None)?;
    let limit = bucket_limit();
    let mut rows = result.many();
    let left_out = batches.each(
        &|group: &mut Group, emit: &mut Emit<Found>| of_group(group, limit, emit),
        &mut |(a, b, similarity)| {
            let (a, b) = if members.compare(a, b).is_lt() { (a, b) } else { (b, a) };
            rows.push([members.key(a), members.key(b), float8_datum(similarity)]);
            Ok(())
        },
    )?;
    rows.finish();
    report(left_out);
    Ok(None)
}

/// Two documents by name, and their similarity.
type Found = (u32, u32, f64);

/// The pairs of a group.
fn of_group(
    group: &mut Group,
    limit: usize,
    emit: &mut Emit<Found>,
) -> std::result::Result<LeftOut, Error> {
    let identical = Identical::group(group)?;
    // Those among exact copies.
    for (leader, copies) in identical.groups() {
        let mut rest = std::iter::once(leader).chain(copies);
        while let Some(a) = rest.next() {
            group.check_interrupts()?;
            rest.clone().try_for_each(|b| emit((group.name(a), group.name(b), 1.0)))?;
        }
    }
    pairs(group, &identical, &|_| Side::Both, limit, &mut |group, pair| {
        for a in identical.members(pair.a) {
            group.check_interrupts()?;
            for b in identical.members(pair.b) {
                emit((group.name(a), group.name(b), pair.similarity))?;
            }
        }
        Ok(())
    })
}
