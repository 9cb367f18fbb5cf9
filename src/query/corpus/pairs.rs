//! `near_duplicate_pairs()`: every pair of near-duplicates, once.

use pgrx::pg_sys::Datum;
use sketch::corpus::{Identical, Side};

use crate::error::Result;
use crate::functions::checkpoint;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::rows::ResultRows;
use crate::pg::spi::Session;
use crate::query::corpus::collection::Part;
use crate::query::corpus::work::Work;
use crate::query::question::Question;

sql_function!(minlsh_near_duplicate_pairs, near_duplicate_pairs);

/// `near_duplicate_pairs(index, threshold, verify) → (doc_a, doc_b, similarity)`
fn near_duplicate_pairs(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let question = Question::read(call, 0, 1, 2)?;
    let session = Session::open();
    let mut work = Work::start(&question, &session)?;
    let parts = work.parts.clone();
    let writer = Writer { part: &parts[0], result: &result };
    copies(&work.identical, &writer);
    work.pairs(&|_| Side::Both, &mut |identical, pair| {
        for a in identical.members(pair.a) {
            checkpoint();
            for b in identical.members(pair.b) {
                writer.pair(a, b, pair.similarity);
            }
        }
    })?;
    Ok(None)
}

/// The pairs among exact copies.
fn copies(identical: &Identical, writer: &Writer) {
    for (leader, copies) in identical.groups() {
        let mut rest = std::iter::once(leader).chain(copies);
        while let Some(a) = rest.next() {
            checkpoint();
            for b in rest.clone() {
                writer.pair(a, b, 1.0);
            }
        }
    }
}

struct Writer<'a> {
    part: &'a Part,
    result: &'a ResultRows,
}

impl Writer<'_> {
    /// Gives out a pair, the lesser key first.
    fn pair(&self, a: u32, b: u32, similarity: f64) {
        let (a, b) = if self.part.keys.compare(a, b).is_lt() { (a, b) } else { (b, a) };
        let name = |document: u32| Some(self.part.text(document));
        self.result.push(&[name(a), name(b), Some(float8_datum(similarity))]);
    }
}
