//! `near_duplicate_pairs()`: every pair of near-duplicates, once.

use pgrx::pg_sys::Datum;
use sketch::corpus::Identical;

use crate::error::Result;
use crate::functions::checkpoint;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::keys::Keys;
use crate::pg::rows::ResultRows;
use crate::pg::spi::Session;
use crate::query::corpus::collection::Collection;
use crate::query::corpus::verifier::Verifier;
use crate::query::question::Question;

sql_function!(minlsh_near_duplicate_pairs, near_duplicate_pairs);

/// `near_duplicate_pairs(index, threshold, verify) → (doc_a, doc_b, similarity)`
fn near_duplicate_pairs(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let question = Question::read(call, 0, 1, 2)?;
    let session = Session::open();
    let Collection { mut keys, signatures, bands, hashes } = Collection::read(&question, &session)?;
    let names: Vec<Datum> = (0..keys.len() as u32)
        .map(|document| {
            let key = keys.datum(document);
            keys.as_text(key)
        })
        .collect();
    let mut verifier = Verifier::new(&question, &session, &keys, signatures);
    let identical = verifier.identical(&hashes)?;
    let writer = Writer { keys: &keys, names: &names, result: &result };
    copies(&identical, &writer);
    let mut failure = None;
    bands.pairs(&identical, &mut checkpoint, &mut |a, b| {
        if failure.is_some() {
            return;
        }
        match verifier.similarity(a, b) {
            Ok(Some(similarity)) => {
                for a in identical.members(a) {
                    checkpoint();
                    for b in identical.members(b) {
                        writer.pair(a, b, similarity);
                    }
                }
            }
            Ok(None) => {}
            Err(report) => failure = Some(report),
        }
    });
    failure.map_or(Ok(None), Err)
}

/// The pairs among exact copies.
fn copies(identical: &Identical, writer: &Writer) {
    for leader in identical.leaders() {
        let mut rest = identical.members(leader);
        while let Some(a) = rest.next() {
            checkpoint();
            for b in rest.clone() {
                writer.pair(a, b, 1.0);
            }
        }
    }
}

struct Writer<'a> {
    keys: &'a Keys,
    /// The keys as text.
    names: &'a [Datum],
    result: &'a ResultRows,
}

impl Writer<'_> {
    /// Gives out a pair, the lesser key first.
    fn pair(&self, a: u32, b: u32, similarity: f64) {
        let (a, b) = if self.keys.compare(a, b).is_lt() { (a, b) } else { (b, a) };
        let name = |document: u32| Some(self.names[document as usize]);
        self.result.push(&[name(a), name(b), Some(float8_datum(similarity))]);
    }
}
