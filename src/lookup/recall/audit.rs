//! Compares each document of a sample with all documents, and the true near-duplicates with those found. Counts the
//! results for each document of the sample by bands of similarity.
//!
//! The source is read once for the keys of the sample. For each part of the sample that fits into memory, it is read
//! once for the part's documents, and again for the documents that they are compared with.

use std::collections::HashSet;
use std::ops::Range;

use sketch::dedup::Verify;
use sketch::{Config, ElementHash, ShingleSet, estimate_jaccard};

use crate::corpus::source::Source;
use crate::corpus::source::keyed_rows::{KeyedRows, LeastHashes, Sampling};
use crate::corpus::source::omitted::{Omitted, Reason, notice_omitted};
use crate::corpus::source::scopes::Scopes;
use crate::document::value::Value;
use crate::memory::of_sample;
use crate::prelude::*;
use sketch::dedup::Scope;

/// Approximate bytes of a key with its data, besides its characters.
pub const ENTRY: usize = 64;

/// Approximate bytes of the counts of a document in the sample, which are kept to the end.
const KEPT: usize = 512;

/// Number of a document in the sample, and its similarity to another document.
pub type Similar = (u32, f64);

/// A way to find near-duplicates, to be audited.
pub trait NearFinder {
    /// Removes all documents.
    fn begin(&mut self);

    /// Adds the next document of the sample, with its number, key and value. Returns about how many bytes it keeps.
    fn take(&mut self, number: u32, key: TypedValue, value: TypedValue) -> Result<usize>;

    /// Called after it has taken all documents of a part of the sample.
    fn taken(&mut self) {}

    /// Finds the documents of the sample that are near-duplicates of another document. Appends them in order, each with
    /// the reported similarity. `near` are the true near-duplicates.
    fn find(&mut self, name: &str, value: TypedValue, near: &[Similar], found: &mut Vec<Similar>) -> Result<()>;
}

struct AuditedDocument {
    name: String,
    scope: Option<Scope>,
    /// The document's own threshold.
    least: f64,
    exact: Exact,
    tally: Tally,
}

/// Audits a finder on the documents of a source, whose texts are split by `config`. Adds the counts to `bands`.
pub fn audit(
    (session, source): (&Session, &Source),
    config: &Config,
    finder: &mut dyn NearFinder,
    wanted: Sampling,
    mut bands: Bands,
) -> Result<Bands> {
    let rows = KeyedRows::of(session, source, source.scopes.len())?;
    let mut scopes = Scopes::new("scope", &source.scope_types())?;
    let (mut left, mut omitted) = chosen(&rows, wanted)?;
    // A document, and its own threshold.
    let read = |value: TypedValue| -> Result<(Exact, f64)> {
        let (value, own) = value.read_as(source.kind, ElementHash::default())?;
        Ok((Exact::of(value, config)?, own.map_or(0.0, |own| own.threshold.get())))
    };
    loop {
        let (before, room) = (left.len(), of_sample());
        let (mut members, mut bytes) = (Vec::new(), 0);
        finder.begin();
        rows.each(|row| {
            if bytes >= room && !members.is_empty() || !left.remove(row.name) {
                return Ok(());
            }
            let (exact, least) = read(row.document)?;
            let taken = finder.take(members.len() as u32, row.key, row.document)?;
            bytes += exact.bytes() + taken + ENTRY + row.name.len();
            let scope = scopes.of(|place| row.scope(place))?;
            let (name, tally) = (memory::owned(row.name)?, Tally::default());
            let member = AuditedDocument { name, scope, least, exact, tally };
            Ok(memory::push(&mut members, member)?)
        })?;
        finder.taken();
        let (mut near, mut found): (Vec<Similar>, Vec<Similar>) = Default::default();
        let mut empty = 0;
        bands.population = 0;
        rows.each(|row| {
            bands.population += 1;
            let (document, least) = read(row.document)?;
            empty += usize::from(document.is_empty());
            let scope = scopes.of(|place| row.scope(place))?;
            let is_other =
                |member: &AuditedDocument| member.name != row.name && scope.is_some() && member.scope == scope;
            near.clear();
            found.clear();
            let least = bands.starts[0].max(least);
            for (number, member) in (0..).zip(&members) {
                let similarity = document.similarity(&member.exact, least.max(member.least));
                if let Some(similarity) = similarity.filter(|_| is_other(member)) {
                    memory::push(&mut near, (number, similarity))?;
                }
            }
            finder.find(row.name, row.document, &near, &mut found)?;
            for &(number, similarity) in &near {
                let given = found.binary_search_by_key(&number, |(member, _)| *member).ok();
                let given = given.map(|place| found[place].1);
                members[number as usize].tally.pair(&bands, similarity, given);
            }
            for &(number, given) in &found {
                let is_near = near.binary_search_by_key(&number, |(member, _)| *member).is_ok();
                let member = &mut members[number as usize];
                if !is_near && is_other(member) {
                    // It does not reach the threshold.
                    member.tally.band(&bands, given).returned += 1;
                }
            }
            Ok(())
        })?;
        for member in members {
            memory::push(&mut bands.tallies, member.tally)?;
        }
        // A volatile query may not return a row again.
        if left.is_empty() || left.len() == before {
            omitted.add(Reason::Empty, empty);
            notice_omitted(&[omitted], "");
            return Ok(bands);
        }
    }
}

/// The keys of the sample, and the counts of rows that take no part.
fn chosen(rows: &KeyedRows, wanted: Sampling) -> Result<(HashSet<String>, Omitted)> {
    let mut sample = LeastHashes::new(wanted, of_sample());
    let omitted = rows.each(|row| sample.add(row.name, 2 * row.name.len() + KEPT, || Ok(())))?;
    let mut keys = HashSet::new();
    sample.finish().try_for_each(|(key, ())| memory::insert(&mut keys, key).map(drop))?;
    Ok((keys, omitted))
}

/// A document for exact comparison: its set, or its signature if that is all there is.
enum Exact {
    Set(ShingleSet),
    Signature(Vec<i32>),
}

impl Exact {
    fn of(document: Value, config: &Config) -> Result<Self> {
        Ok(match document {
            Value::Signature(slots) => Self::Signature(memory::copied(&slots)?),
            other => Self::Set(other.into_set(config)?),
        })
    }

    /// True if there is nothing to compare.
    fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// Its approximate size in bytes.
    fn bytes(&self) -> usize {
        match self {
            Self::Set(set) => set.len() * size_of::<u64>(),
            Self::Signature(slots) => size_of_val(&**slots),
        }
    }

    /// The similarity of two documents, if it is at least `threshold`; `None` for signatures of different lengths.
    fn similarity(&self, other: &Self, threshold: f64) -> Option<f64> {
        match (self, other) {
            (Self::Set(a), Self::Set(b)) => a.jaccard_at_least(b, threshold),
            (Self::Signature(a), Self::Signature(b)) => {
                estimate_jaccard(a, b).ok().filter(|similarity| *similarity >= threshold)
            }
            _ => None,
        }
    }
}

/// Width of a band of similarity.
const WIDTH: f64 = 0.05;

/// The counts of a document in the sample, for its pairs with other documents.
#[derive(Default)]
struct Tally {
    /// By band of similarity.
    counts: Vec<BandCounts>,
    /// Pairs of similarity 1. Any index finds them, so they show nothing about recall.
    copies: u64,
    /// Pairs of similarity 1 that were found.
    copies_found: u64,
}

/// Counts of a document's pairs in a band.
#[derive(Clone, Copy, Default)]
struct BandCounts {
    /// Pairs with a true similarity in the band, without copies.
    pairs: u32,
    /// The pairs that were found.
    found: u32,
    /// Pairs with a reported similarity in the band, without copies.
    returned: u32,
    /// The reported pairs that reach the threshold.
    right: u32,
}

/// The bands of similarity above a threshold, with the counts of each document.
pub struct Bands {
    /// The lower bounds of the bands, from the threshold; the last band ends at 1.
    starts: Vec<f64>,
    tallies: Vec<Tally>,
    /// Number of documents.
    population: u64,
    verify: Verify,
}

impl Tally {
    /// Counts a pair with this true similarity; `given` is the reported similarity if it was found.
    fn pair(&mut self, bands: &Bands, similarity: f64, given: Option<f64>) {
        if similarity >= 1.0 {
            self.copies += 1;
            self.copies_found += u64::from(given.is_some());
            return;
        }
        let counts = self.band(bands, similarity);
        counts.pairs += 1;
        counts.found += u32::from(given.is_some());
        if let Some(given) = given {
            let counts = self.band(bands, given);
            counts.returned += 1;
            counts.right += 1;
        }
    }

    fn band(&mut self, bands: &Bands, similarity: f64) -> &mut BandCounts {
        self.counts.resize(bands.starts.len(), BandCounts::default());
        let place = bands.starts.partition_point(|start| *start <= similarity).max(1) - 1;
        &mut self.counts[place]
    }
}

impl Bands {
    /// Bands from `threshold` to 1, for pairs that `verify` verifies.
    pub fn above(threshold: f64, verify: Verify) -> Self {
        let first = (threshold / WIDTH).floor() as usize + 1;
        let inner = (first..).map(|n| n as f64 * WIDTH).take_while(|start| *start < 1.0 - 1e-9);
        // Excludes an empty band, if the threshold is a multiple of the width except for rounding.
        let inner = inner.filter(|start| start - threshold > 1e-9);
        let starts = std::iter::once(threshold).chain(inner.map(|start| (start * 100.0).round() / 100.0));
        Self { starts: starts.collect(), tallies: Vec::new(), population: 0, verify }
    }

    /// Writes a row for all similarities, and a row for each band.
    pub fn write(&self, result: &ResultRows) -> Result<()> {
        let bands = self.starts.len();
        self.write_row(0..bands, true, result)?;
        (0..bands).try_for_each(|band| self.write_row(band..band + 1, false, result))
    }

    /// Writes the counts of some bands. Copies are counted only in the row for all of them.
    fn write_row(&self, bands: Range<usize>, are_all: bool, result: &ResultRows) -> Result<()> {
        let of_documents = |part: fn(&BandCounts) -> u32, whole: fn(&BandCounts) -> u32| {
            let of = |tally: &Tally| {
                let counts = tally.counts.get(bands.clone()).unwrap_or_default();
                let sum = |of: fn(&BandCounts) -> u32| counts.iter().map(|c| u64::from(of(c))).sum();
                (sum(part), sum(whole))
            };
            memory::collect::<(u64, u64)>(self.tallies.iter().map(of))
        };
        let recall = of_documents(|counts| counts.found, |counts| counts.pairs)?;
        let precision = of_documents(|counts| counts.right, |counts| counts.returned)?;
        let ((found, pairs), (_, returned)) = (sums(&recall), sums(&precision));
        let [recall, recall_low, recall_high] = self.share(&recall);
        let [precision, precision_low, precision_high] = self.precision(&precision);
        let count = |count: u64| Some(Datum::from(count as i64));
        let copies = |of: fn(&Tally) -> u64| are_all.then(|| self.tallies.iter().map(of).sum()).and_then(count);
        result.push(&[
            Some(float8_datum(self.starts[bands.start])),
            Some(float8_datum(self.starts.get(bands.end).copied().unwrap_or(1.0))),
            count(self.tallies.len() as u64),
            count(self.population),
            count(pairs),
            count(found),
            recall,
            recall_low,
            recall_high,
            count(returned),
            precision,
            precision_low,
            precision_high,
            copies(|tally| tally.copies),
            copies(|tally| tally.copies_found),
        ]);
        Ok(())
    }

    /// The share of reported pairs that are right. For exactly compared texts it has no uncertainty: all pairs are
    /// right because they were verified, and not by chance.
    fn precision(&self, documents: &[(u64, u64)]) -> [Option<Datum>; 3] {
        let (right, given) = sums(documents);
        match self.verify {
            Verify::Exact if given > 0 && right == given => [Some(float8_datum(1.0)); 3],
            _ => self.share(documents),
        }
    }

    /// A share with its 95 % interval, from the part and the whole that each document of the sample contributes; NULLs
    /// if there is nothing to find.
    fn share(&self, documents: &[(u64, u64)]) -> [Option<Datum>; 3] {
        let (part, whole) = sums(documents);
        match sketch::ratio_interval(documents, self.population) {
            Some((low, high)) => [part as f64 / whole as f64, low, high].map(|share| Some(float8_datum(share))),
            None => [None; 3],
        }
    }
}

/// The sum of the parts, and the sum of the wholes.
fn sums(documents: &[(u64, u64)]) -> (u64, u64) {
    documents.iter().fold((0, 0), |(part, whole), of| (part + of.0, whole + of.1))
}
