//! `minlsh_recall()`: an audit of what `near_duplicates()` finds, against a comparison of each
//! document of a sample with all documents.
//!
//! The sample is taken in the order of a hash of the keys: the same seed takes the same documents.
//! What is found is what `near_duplicates()` gives; what is true comes from the exact similarity of
//! the stored texts. Both see what the caller sees.

use std::collections::HashMap;

use pgrx::pg_sys::Datum;
use sketch::{Sample, ShingleSet, memory};

use crate::error::{Result, engine, invalid_parameter};
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::guc::{LocalSettings, maintenance_work_mem};
use crate::pg::interrupts::checkpoint;
use crate::pg::rows::ResultRows;
use crate::pg::spi::Session;
use crate::query::documents::Documents;
use crate::query::find::Target;
use crate::query::near_duplicates::Asked;
use crate::query::options;
use crate::query::tally::{Bands, Tally};

sql_function!(minlsh_recall, recall);

/// Documents audited unless told otherwise.
const DEFAULT_SAMPLE: i32 = 1000;
/// About what a key and what belongs to it take, beside its letters.
const ENTRY: usize = 64;

/// `minlsh_recall(index, threshold, sample, verify, seed)`: a row for all pairs, and one for each
/// band of similarity.
fn recall(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let target = Target::read(call, 0)?;
    let threshold = options::threshold(call, 1, target.settings(), &target.name())?;
    let verify = options::verify(call, 3)?;
    let count = call.int4(2).unwrap_or(DEFAULT_SAMPLE);
    if count < 1 {
        return Err(invalid_parameter(format!("sample must be at least 1, not {count}"))
            .set_hint("It is the number of documents to compare with all others."));
    }
    let seed = call.int8(4).unwrap_or(0);
    let documents = Documents::of(&target, target.key()?, "minlsh_recall()")?;
    // Keys are compared as texts.
    let settings = LocalSettings::open();
    settings.write_exact_text();
    let session = Session::open();
    let asked = Asked::new(&target, threshold, verify)?;
    let mut audit = Audit {
        target: &target,
        documents: &documents,
        session: &session,
        asked: &asked,
        bands: Bands::above(threshold),
        part: Part::default(),
    };
    audit.run(count, seed)?;
    audit.write(&result);
    Ok(None)
}

/// The part of the sample at hand, which fits maintenance_work_mem.
#[derive(Default)]
struct Part {
    shingles: Sample,
    members: Vec<Member>,
    bytes: usize,
}

/// A document of the sample, and what was found for it.
struct Member {
    name: String,
    scope: String,
    /// Keys as texts, with the similarities that were given.
    found: HashMap<String, f64>,
    tally: Tally,
}

struct Audit<'a> {
    target: &'a Target,
    documents: &'a Documents<'a>,
    session: &'a Session,
    asked: &'a Asked<'a>,
    bands: Bands,
    part: Part,
}

impl Audit<'_> {
    fn run(&mut self, count: i32, seed: i64) -> Result<()> {
        let memory = maintenance_work_mem() as usize * 1024;
        let (documents, session) = (self.documents, self.session);
        documents.sample(session, seed, count, &mut |stored| {
            let mut found = HashMap::new();
            let mut bytes = ENTRY + stored.name.len() + stored.scope.len();
            self.asked.each(session, stored.key, &mut |name, similarity| {
                bytes += ENTRY + name.len();
                memory::insert_at(&mut found, memory::owned(name).map_err(engine)?, similarity)
                    .map_err(engine)?;
                Ok(())
            })?;
            let member = Member {
                name: memory::owned(stored.name).map_err(engine)?,
                scope: memory::owned(stored.scope).map_err(engine)?,
                found,
                tally: Tally::default(),
            };
            self.part.shingles.push(self.set(stored.text)?).map_err(engine)?;
            memory::push(&mut self.part.members, member).map_err(engine)?;
            self.part.bytes += bytes;
            if self.part.shingles.bytes() + self.part.bytes >= memory {
                self.compare_with_all()?;
            }
            Ok(())
        })?;
        self.compare_with_all()
    }

    fn set(&self, text: &str) -> Result<ShingleSet> {
        let config = &self.target.settings().config;
        ShingleSet::from_text(config, text, &mut checkpoint).map_err(engine)
    }

    /// Compares the part of the sample at hand with all documents, and forgets it.
    fn compare_with_all(&mut self) -> Result<()> {
        let Part { mut shingles, mut members, .. } = std::mem::take(&mut self.part);
        let (mut read, bands) = (0, &self.bands);
        self.documents.each(self.session, &mut |stored| {
            read += 1;
            let set = self.set(stored.text)?;
            shingles.similar_to(&set, bands.least(), |document, similarity| {
                let member = &mut members[document as usize];
                if member.name != stored.name && member.scope == stored.scope {
                    let given = member.found.remove(stored.name);
                    member.tally.pair(bands, similarity, given);
                }
            });
            Ok(())
        })?;
        self.bands.population = read;
        for mut member in members {
            // What is left of what was found is not similar enough.
            for similarity in member.found.into_values() {
                member.tally.wrong(&self.bands, similarity);
            }
            self.bands.add(member.tally).map_err(engine)?;
        }
        Ok(())
    }

    /// A row for all pairs, and one for each band of similarity.
    fn write(&self, result: &ResultRows) {
        let count = |count: u64| Some(Datum::from(count as i64));
        for shares in self.bands.shares() {
            let [recall, recall_low, recall_high] =
                shares.recall.map(|share| share.map(float8_datum));
            let [precision, precision_low, precision_high] =
                shares.precision.map(|share| share.map(float8_datum));
            result.push(&[
                Some(float8_datum(shares.from)),
                Some(float8_datum(shares.to)),
                count(self.bands.sampled()),
                count(self.bands.population),
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
}
