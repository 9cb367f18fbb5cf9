//! `minlsh_recall()`: an audit of what `near_duplicates()` finds, against a comparison of each
//! document of a sample with all documents.
//!
//! The sample is taken in the order of a hash of the keys: the same seed takes the same documents.
//! What is found is asked of `near_duplicates()` itself; what is true comes from the exact
//! similarity of the stored texts. Both see what the caller sees.

use std::collections::HashSet;

use pgrx::pg_sys::{self, Datum};
use sketch::{Sample, ShingleSet, wilson_interval};

use crate::error::{Result, invalid_parameter};
use crate::functions::checkpoint;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::guc::{LocalSettings, maintenance_work_mem};
use crate::pg::names::quoted;
use crate::pg::rows::ResultRows;
use crate::pg::spi::{Access, Session};
use crate::pg::text;
use crate::query::options::Verify;
use crate::query::question::Question;

sql_function!(minlsh_recall, recall);

/// Documents audited unless told otherwise.
const DEFAULT_SAMPLE: i32 = 1000;

/// `minlsh_recall(index, threshold, sample, verify, seed) → one row`
fn recall(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let question = Question::read(call, 0, 1, 3)?;
    let sample = call.int4(2).unwrap_or(DEFAULT_SAMPLE);
    if sample < 1 {
        return Err(invalid_parameter(format!("sample must be at least 1, not {sample}"))
            .set_hint("It is the number of documents to compare with all others."));
    }
    let seed = call.int8(4).unwrap_or(0);
    let settings = LocalSettings::open();
    settings.write_exact_text();
    let session = Session::open();
    let mut audit = Audit::new(&question, &session);
    audit.run(sample, seed)?;
    let Tally { sampled, documents, pairs, pairs_found, wrong, copies, copies_found } = audit.tally;
    let count = |count: u64| Some(Datum::from(count as i64));
    let mut row = vec![count(sampled), count(documents), count(pairs), count(pairs_found)];
    row.extend(proportion(pairs_found, pairs));
    row.push(count(pairs_found + wrong));
    row.extend(proportion(pairs_found, pairs_found + wrong));
    row.extend([count(copies), count(copies_found)]);
    result.push(&row);
    Ok(None)
}

/// A proportion and its 95 % interval; NULL where there is nothing to take a share of.
fn proportion(successes: u64, trials: u64) -> [Option<Datum>; 3] {
    match wilson_interval(successes, trials) {
        Some((low, high)) => {
            [successes as f64 / trials as f64, low, high].map(|value| Some(float8_datum(value)))
        }
        None => [None; 3],
    }
}

/// What has been counted. A pair is one of a document of the sample with any other document.
#[derive(Default)]
struct Tally {
    /// Documents of the sample.
    sampled: u64,
    /// Documents each was compared with, itself included.
    documents: u64,
    /// Pairs that reach the threshold, but are not copies.
    pairs: u64,
    /// Those of them that were found.
    pairs_found: u64,
    /// Pairs that were found, but do not reach the threshold.
    wrong: u64,
    /// Pairs of similarity 1: no index could miss them, so they prove nothing.
    copies: u64,
    /// Those of them that were found.
    copies_found: u64,
}

struct Audit<'a> {
    question: &'a Question,
    session: &'a Session,
    tally: Tally,
    /// The part of the sample at hand, which fits maintenance_work_mem: its shingles, its keys,
    /// and what was found for each.
    sample: Sample,
    keys: Vec<String>,
    found: Vec<HashSet<String>>,
}

impl<'a> Audit<'a> {
    fn new(question: &'a Question, session: &'a Session) -> Self {
        Self {
            question,
            session,
            tally: Tally::default(),
            sample: Sample::default(),
            keys: Vec::new(),
            found: Vec::new(),
        }
    }

    fn run(&mut self, sample: i32, seed: i64) -> Result<()> {
        let index = &self.question.index;
        let memory = maintenance_work_mem() as usize * 1024;
        let documents = self.session.prepare(
            &format!(
                "SELECT d.{key}::pg_catalog.text, d.{body}::pg_catalog.text FROM {table} AS d \
                 WHERE d.{body} IS NOT NULL \
                 ORDER BY pg_catalog.hashtextextended(d.{key}::pg_catalog.text, $1), d.{key} LIMIT $2",
                key = quoted(&index.key.name),
                body = quoted(&index.body.name),
                table = index.rows_of_relation(),
            ),
            &[pg_sys::INT8OID, pg_sys::INT4OID],
        )?;
        let parameters = [Some(Datum::from(seed)), Some(Datum::from(sample))];
        self.session.cursor(&documents, &parameters, Access::Read)?.each(|rows, row| {
            checkpoint();
            self.push(rows.text(row, 1)?, self.set(&rows.text(row, 2)?))?;
            if self.sample.bytes() >= memory {
                self.compare_with_all()?;
            }
            Ok(())
        })?;
        self.compare_with_all()
    }

    fn set(&self, text: &str) -> ShingleSet {
        ShingleSet::from_text(&self.question.index.settings.config, text, &mut checkpoint)
    }

    /// Takes a document into the sample, with what near_duplicates() finds for it.
    fn push(&mut self, key: String, set: ShingleSet) -> Result<()> {
        let index = &self.question.index;
        let verify = match self.question.verify {
            Verify::Signature => "signature",
            Verify::Exact => "exact",
        };
        let plan = index.plan(self.session, ("audited", pg_sys::Oid::INVALID), &TYPES, || {
            format!(
                "SELECT n.doc_id FROM {}.near_duplicates($1, $2, $3, $4) AS n",
                index.home.schema
            )
        })?;
        let parameters = [
            Some(text::write(&key)),
            Some(float8_datum(self.question.threshold)),
            Some(index.storage.into()),
            Some(text::write(verify)),
        ];
        let rows = self.session.execute(&plan, &parameters, Access::Read)?;
        let found: Result<HashSet<String>> = (0..rows.len()).map(|row| rows.text(row, 1)).collect();
        rows.free();
        self.found.push(found?);
        self.keys.push(key);
        self.sample.push(set);
        Ok(())
    }

    /// Compares the part of the sample at hand with all documents, and forgets it.
    fn compare_with_all(&mut self) -> Result<()> {
        let index = &self.question.index;
        let plan = self.session.prepare(
            &format!(
                "SELECT d.{key}::pg_catalog.text, d.{body}::pg_catalog.text FROM {table} AS d \
                 WHERE d.{body} IS NOT NULL",
                key = quoted(&index.key.name),
                body = quoted(&index.body.name),
                table = index.rows_of_relation(),
            ),
            &[],
        )?;
        let mut sample = std::mem::take(&mut self.sample);
        let (keys, mut found) = (std::mem::take(&mut self.keys), std::mem::take(&mut self.found));
        self.tally.sampled += keys.len() as u64;
        self.tally.documents = 0;
        self.session.cursor(&plan, &[], Access::Read)?.each(|rows, row| {
            checkpoint();
            self.tally.documents += 1;
            let key = rows.text(row, 1)?;
            let set = self.set(&rows.text(row, 2)?);
            sample.similar_to(&set, self.question.threshold, |document, similarity| {
                let document = document as usize;
                if keys[document] == key {
                    return;
                }
                let was_found = u64::from(found[document].remove(&key));
                if similarity < 1.0 {
                    self.tally.pairs += 1;
                    self.tally.pairs_found += was_found;
                } else {
                    self.tally.copies += 1;
                    self.tally.copies_found += was_found;
                }
            });
            Ok(())
        })?;
        // What is left of what was found is not similar enough.
        self.tally.wrong += found.iter().map(|found| found.len() as u64).sum::<u64>();
        Ok(())
    }
}

/// Parameters of `near_duplicates(text, double precision, regclass, text)`.
const TYPES: [pg_sys::Oid; 4] =
    [pg_sys::TEXTOID, pg_sys::FLOAT8OID, pg_sys::REGCLASSOID, pg_sys::TEXTOID];
