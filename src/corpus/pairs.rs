//! `near_duplicate_pairs()`: every pair of near-duplicates, once.

use pgrx::pg_sys::Datum;
use sketch::corpus::{Identical, LeftOut, Side, pairs};

use crate::corpus::arguments::{Arguments, Places};
use crate::corpus::group::Group;
use crate::corpus::members::Members;
use crate::corpus::work::{Work, report};
use crate::error::Result;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::interrupts::check_interrupts;
use crate::pg::result_rows::ResultRows;
use crate::pg::spi::Session;
use crate::settings::bucket_limit;

sql_function!(minlsh_near_duplicate_pairs, near_duplicate_pairs);

const PLACES: Places = Places { threshold: 1, verify: 2, options: 6 };

/// `near_duplicate_pairs(source, threshold, [key], verify, body, ...) → (doc_a, doc_b, similarity)`
fn near_duplicate_pairs(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let session = Session::open();
    let Work { members, mut batches } = Work::of_one(&session, &Arguments::of(call, PLACES), None)?;
    let writer = Writer { members: &members, result: &result };
    let mut left_out = LeftOut::default();
    batches.each(&mut |group| {
        left_out += writer.group(group)?;
        Ok(())
    })?;
    report(left_out);
    Ok(None)
}

struct Writer<'a> {
    members: &'a Members,
    result: &'a ResultRows,
}

impl Writer<'_> {
    /// Gives out the pairs of a group.
    fn group(&self, group: &mut Group) -> Result<LeftOut> {
        let identical = Identical::group(group)?;
        self.copies(group, &identical);
        pairs(group, &identical, &|_| Side::Both, bucket_limit(), &mut |group, pair| {
            for a in identical.members(pair.a) {
                check_interrupts();
                for b in identical.members(pair.b) {
                    self.pair(group.name(a), group.name(b), pair.similarity);
                }
            }
            Ok(())
        })
    }

    /// The pairs among exact copies.
    fn copies(&self, group: &Group, identical: &Identical) {
        for (leader, copies) in identical.groups() {
            let mut rest = std::iter::once(leader).chain(copies);
            while let Some(a) = rest.next() {
                check_interrupts();
                for b in rest.clone() {
                    self.pair(group.name(a), group.name(b), 1.0);
                }
            }
        }
    }

    /// Gives out a pair, the lesser key first.
    fn pair(&self, a: u32, b: u32, similarity: f64) {
        let (a, b) = if self.members.compare(a, b).is_lt() { (a, b) } else { (b, a) };
        let row = [self.members.key(a), self.members.key(b), float8_datum(similarity)];
        self.result.push(&row.map(Some));
    }
}
