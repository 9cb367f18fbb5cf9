//! `minlsh_recall()`: audits how many near-duplicates are found, by comparing each document of a sample with all
//! documents.
//!
//! [`audit`] compares documents exactly, and counts. This module has the finders: an index that is searched for each
//! document, or, without an index, shared bands as in a whole-corpus job. Both see what the caller sees.

mod audit;

use std::collections::HashMap;
use std::rc::Rc;

use sketch::dedup::Verify;
use sketch::{Sketcher, estimate_jaccard};

use crate::corpus::jobs::criteria;
use crate::corpus::source::Source;
use crate::corpus::source::arguments::{Arguments, is_query, relation_named};
use crate::corpus::source::keyed_rows::Sampling;
use crate::corpus::source::reader::Criteria;
use crate::error::out_of_memory;
use crate::indexed::Indexed;
use crate::lookup::find;
use crate::lookup::search::Asked;
use crate::prelude::*;
use audit::{Bands, ENTRY, NearFinder, Similar, audit};

set_function!(minlsh_recall, recall);

/// Positions of two arguments that lookups have too.
const THRESHOLD: usize = 1;
const VERIFY: usize = 3;

/// `minlsh_recall(source, threshold, sample, verify, sample_seed, body, key_column, scope, options ...)`: a row for all
/// pairs, and a row for each band of similarity.
fn recall(call: &Call, result: &ResultRows) -> Result<()> {
    let arguments = Arguments::of(call);
    let wanted = Sampling::of(&arguments)?;
    let target = index(call, &arguments)?;
    // Keys are compared as text.
    let (_exact_text, session) = (LocalSettings::of_exact_text(), Session::open());
    let bands = match &target {
        Some(target) => {
            let threshold = find::threshold(call, THRESHOLD, target)?;
            let verify = find::verify(call, VERIFY)?;
            let asked = Asked::new(target, threshold, verify, None)?;
            let source = Source::of_index(&session, &arguments, target.clone(), "source")?;
            let bands = Bands::above(threshold.get(), verify.unwrap_or(Verify::Exact));
            let mut finder = ByIndex { asked, found: HashMap::new() };
            audit((&session, &source), &target.options.config, &mut finder, wanted, bands)
        }
        None => {
            let source = Source::read(&session, &arguments, "source", false)?;
            let criteria = criteria(&session, &arguments, std::slice::from_ref(&source))?;
            let bands = Bands::above(criteria.threshold.get(), criteria.verify);
            let config = criteria.config.clone();
            let (sketcher, members) = (Sketcher::new(config.clone()), Vec::new());
            let is_whole = !source.has_more_rows(&session, criteria.whole)?;
            let mut finder = ByBands { criteria, is_whole, sketcher, members, buckets: Default::default() };
            audit((&session, &source), &config, &mut finder, wanted, bands)
        }
    };
    bands?.write(result)
}

/// The audited index: the named one, or the index of a table. `None` for a query, for a table without an index, and if
/// options are passed, which only a job can apply.
fn index(call: &Call, arguments: &Arguments) -> Result<Option<Rc<Indexed>>> {
    let Some(name) = arguments.raw("source") else { return find::only(call).map(Some) };
    let is_job = arguments.text("source")?.is_some_and(|source| is_query(source.as_bytes()))
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

/// An index, with the near-duplicates that it has found for each key as text.
struct ByIndex<'a> {
    asked: Asked<'a>,
    found: HashMap<String, Vec<Similar>>,
}

impl NearFinder for ByIndex<'_> {
    fn begin(&mut self) {
        self.found.clear();
    }

    fn take(&mut self, number: u32, key: TypedValue, _value: TypedValue) -> Result<usize> {
        let mut bytes = 0;
        let mut visit = |name: &str, similarity: f64| {
            bytes += ENTRY + name.len();
            self.found.try_reserve(1).map_err(|_| out_of_memory())?;
            let found = self.found.entry(memory::owned(name)?).or_default();
            Ok(memory::push(found, (number, similarity))?)
        };
        // The query that reads the rows continues after this one, in another session.
        self.asked.each_of_row(&Session::open(), key, &mut visit)?;
        Ok(bytes)
    }

    fn find(&mut self, name: &str, _value: TypedValue, _near: &[Similar], found: &mut Vec<Similar>) -> Result<()> {
        Ok(memory::extend(found, self.found.get(name).map_or(&[], Vec::as_slice))?)
    }
}

/// A signed document. Without shingles it has no bands, and shares none.
#[derive(Default)]
struct SignedMember {
    signature: Vec<i32>,
    bands: Vec<i64>,
    /// The document's own threshold.
    least: f64,
}

/// The documents of a sample by their bands, of the kind for which the criteria were made.
struct ByBands {
    criteria: Criteria,
    /// True if the job compares every pair.
    is_whole: bool,
    sketcher: Sketcher,
    members: Vec<SignedMember>,
    buckets: SampleBuckets,
}

impl ByBands {
    fn sign(&mut self, value: TypedValue) -> Result<SignedMember> {
        let Self { criteria, sketcher, .. } = self;
        let signed = criteria.reader.sketch(value, sketcher, |signature, least| {
            let mut bands = Vec::new();
            criteria.banding.hashes(signature, &mut bands)?;
            Ok(SignedMember { signature: memory::copied(signature)?, bands, least })
        })?;
        Ok(signed.unwrap_or_default())
    }
}

impl NearFinder for ByBands {
    fn begin(&mut self) {
        self.members.clear();
        self.buckets = SampleBuckets::default();
    }

    fn take(&mut self, number: u32, _key: TypedValue, value: TypedValue) -> Result<usize> {
        let signed = self.sign(value)?;
        self.buckets.add(&signed.bands, number)?;
        let bytes = size_of_val(&*signed.signature) + size_of_val(&*signed.bands);
        memory::push(&mut self.members, signed)?;
        Ok(bytes)
    }

    fn taken(&mut self) {
        self.buckets.finish();
    }

    /// Finds the documents that the job would compare and report as near-duplicates.
    fn find(&mut self, _name: &str, value: TypedValue, near: &[Similar], found: &mut Vec<Similar>) -> Result<()> {
        let signed = self.sign(value)?;
        let all = || memory::collect(0..self.members.len() as u32);
        for number in if self.is_whole { all()? } else { self.buckets.sharing(&signed.bands)? } {
            let member = &self.members[number as usize];
            let given = match self.criteria.verify {
                Verify::Exact => {
                    let exact = near.binary_search_by_key(&number, |(near, _)| *near).ok();
                    exact.map(|place| near[place].1)
                }
                Verify::Signature => {
                    let estimate = estimate_jaccard(&member.signature, &signed.signature);
                    let least = self.criteria.threshold.get().max(member.least).max(signed.least);
                    estimate.ok().filter(|estimate| *estimate >= least)
                }
            };
            if let Some(given) = given {
                memory::push(found, (number, given))?;
            }
        }
        Ok(())
    }
}

/// The bands of a sample's documents, each by its number and its hash.
#[derive(Default)]
struct SampleBuckets(Vec<(u32, i64, u32)>);

impl SampleBuckets {
    /// Adds the bands of document number `document` of the sample.
    fn add(&mut self, bands: &[i64], document: u32) -> Result<()> {
        let mut each = (0..).zip(bands);
        Ok(each.try_for_each(|(band, hash)| memory::push(&mut self.0, (band, *hash, document)))?)
    }

    /// Ends the list of documents.
    fn finish(&mut self) {
        self.0.sort_unstable();
    }

    /// Lists the documents of the sample that share a band with another document, in order.
    fn sharing(&self, bands: &[i64]) -> Result<Vec<u32>> {
        let mut documents = Vec::new();
        for (band, &hash) in (0..).zip(bands) {
            let start = self.0.partition_point(|(b, h, _)| (*b, *h) < (band, hash));
            let mut bucket = self.0[start..].iter().take_while(|(b, h, _)| (*b, *h) == (band, hash));
            bucket.try_for_each(|(.., document)| memory::push(&mut documents, *document))?;
        }
        documents.sort_unstable();
        documents.dedup();
        Ok(documents)
    }
}
