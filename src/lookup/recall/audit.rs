//! The comparison of each document of a sample with all documents, of the truth with what is found, and the counts of
//! that, for each document of the sample by bands of similarity.
//!
//! The rows of the source are read once for the keys of the sample. For each part of the sample that memory holds, they
//! are read once for its documents, and once more for all that these are compared with.

use std::collections::HashSet;

use sketch::{Config, ElementHash, ShingleSet, estimate_jaccard};

use crate::corpus::reading::keyed_rows::{KeyedRows, LeastHashes, Sampling};
use crate::corpus::reading::scopes::{Scope, Scopes};
use crate::corpus::source::Source;
use crate::document::value::Value;
use crate::memory::of_sample;
use crate::options::Verify;
use crate::prelude::*;
use crate::row_key::KeyValue;

/// About what a key and what belongs to it take, beside its letters.
pub const ENTRY: usize = 64;

/// About what a document of the sample takes until the end, beside its key: its counts.
const KEPT: usize = 512;

/// A document of the sample by its number, and how similar it is to another one.
pub type Similar = (u32, f64);

/// A way to find near-duplicates, which is audited.
pub trait NearFinder {
    /// Forgets the documents that it has taken.
    fn begin(&mut self);

    /// Takes the next document of the sample by its key and its value; returns about how many bytes it keeps of it.
    fn take(&mut self, key: KeyValue, value: Datum) -> Result<usize>;

    /// Is called when it has taken the documents of a part of the sample.
    fn taken(&mut self) {}

    /// Appends in their order the documents of the sample that are found to be near-duplicates of a document, each with
    /// the similarity that is given; `near` are those that are.
    fn find(
        &mut self,
        name: &str,
        value: Datum,
        near: &[Similar],
        found: &mut Vec<Similar>,
    ) -> Result<()>;
}

/// The documents that are audited.
pub struct Audited<'a> {
    pub session: &'a Session,
    pub source: &'a Source,
    /// The options by which texts are cut.
    pub config: &'a Config,
}

struct AuditedDocument {
    name: String,
    scope: Option<Scope>,
    /// The least similarity that it asks for itself.
    least: f64,
    tally: Tally,
}

impl Audited<'_> {
    /// Audits a finder: adds what is counted to `bands`.
    pub fn audit(
        &self,
        finder: &mut dyn NearFinder,
        wanted: Sampling,
        bands: &mut Bands,
    ) -> Result<()> {
        let rows = KeyedRows::of(self.session, self.source)?;
        let mut scopes = Scopes::new("scope", &self.source.scope_types())?;
        let mut left = chosen(&rows, wanted)?;
        let key_type = catalog::base_type(self.source.key_column().0);
        loop {
            let (before, room) = (left.len(), of_sample());
            let (mut truth, mut members, mut bytes) = (Truth::default(), Vec::new(), 0);
            finder.begin();
            rows.each(|row| {
                let full = truth.bytes + bytes >= room;
                if full && !members.is_empty() || !left.remove(row.name) {
                    return Ok(());
                }
                let (document, least) = self.read(row.document)?;
                truth.push(document, self.config)?;
                // SAFETY: a key of the source, which is of the type of its column, and lives as long as its row.
                let key = unsafe { KeyValue::new(row.key, key_type) };
                bytes += finder.take(key, row.document)? + ENTRY + row.name.len();
                let scope = scopes.of(|place| row.scope(place))?;
                let name = memory::owned(row.name)?;
                let member = AuditedDocument { name, scope, least, tally: Tally::default() };
                Ok(memory::push(&mut members, member)?)
            })?;
            finder.taken();
            let (mut near, mut found): (Vec<Similar>, Vec<Similar>) = Default::default();
            bands.population = 0;
            rows.each(|row| {
                bands.population += 1;
                let (document, least) = self.read(row.document)?;
                let scope = scopes.of(|place| row.scope(place))?;
                let is_other = |member: &AuditedDocument| {
                    member.name != row.name && scope.is_some() && member.scope == scope
                };
                near.clear();
                found.clear();
                let least = bands.least().max(least);
                truth.similar_to(document, self.config, least, &mut near)?;
                near.retain(|&(number, similarity)| {
                    let member = &members[number as usize];
                    is_other(member) && similarity >= member.least
                });
                finder.find(row.name, row.document, &near, &mut found)?;
                for &(number, similarity) in &near {
                    let given = found.binary_search_by_key(&number, |(member, _)| *member).ok();
                    let given = given.map(|place| found[place].1);
                    members[number as usize].tally.pair(bands, similarity, given);
                }
                for &(number, given) in &found {
                    let is_near = near.binary_search_by_key(&number, |(member, _)| *member).is_ok();
                    let member = &mut members[number as usize];
                    if !is_near && is_other(member) {
                        member.tally.wrong(bands, given);
                    }
                }
                Ok(())
            })?;
            members.into_iter().try_for_each(|member| bands.add(member.tally))?;
            // A volatile query may not give a row once more.
            if left.is_empty() || left.len() == before {
                return Ok(());
            }
        }
    }

    /// Reads a document, and the least similarity that it asks for itself.
    fn read<'d>(&self, value: Datum) -> Result<(Value<'d>, f64)> {
        // SAFETY: a value of the column of the documents, of which texts are read as `text`. What is made of it is
        // used while its row is looked at.
        let (value, own) = unsafe { self.source.kind.read(value, ElementHash::default())? };
        Ok((value, own.map_or(0.0, |own| own.threshold.get())))
    }
}

/// The keys of the sample.
fn chosen(rows: &KeyedRows, wanted: Sampling) -> Result<HashSet<String>> {
    let mut sample = LeastHashes::new(wanted, of_sample());
    rows.each(|row| sample.add(row.name, 2 * row.name.len() + KEPT, || Ok(())))?;
    let mut keys = HashSet::new();
    sample.finish().try_for_each(|(key, ())| memory::insert(&mut keys, key).map(drop))?;
    Ok(keys)
}

/// The truth about the documents of a sample, numbered from 0 in the order in which they were added: their exact
/// similarities with others.
#[derive(Default)]
struct Truth {
    sets: Vec<(u32, ShingleSet)>,
    signatures: Vec<(u32, Vec<i32>)>,
    /// About how many bytes they take.
    bytes: usize,
}

impl Truth {
    fn push(&mut self, document: Value, config: &Config) -> Result<()> {
        let number = (self.sets.len() + self.signatures.len()) as u32;
        if let Value::Signature(slots) = document {
            self.bytes += size_of_val(&*slots);
            let slots = memory::copied(&slots)?;
            return Ok(memory::push(&mut self.signatures, (number, slots))?);
        }
        let set = document.into_set(config)?;
        self.bytes += set.len() * size_of::<u64>();
        Ok(memory::push(&mut self.sets, (number, set))?)
    }

    /// Appends the documents that are at least `threshold` similar to another one, in their order: by the sets, or by
    /// the signatures where these are all there is.
    fn similar_to(
        &self,
        other: Value,
        config: &Config,
        threshold: f64,
        near: &mut Vec<Similar>,
    ) -> Result<()> {
        if let Value::Signature(slots) = other {
            for (number, own) in &self.signatures {
                // Signatures of other lengths have no similarity.
                let similarity = estimate_jaccard(own, &slots).unwrap_or(0.0);
                if similarity >= threshold {
                    memory::push(near, (*number, similarity))?;
                }
            }
            return Ok(());
        }
        let set = other.into_set(config)?;
        for (number, own) in &self.sets {
            if let Some(similarity) = set.jaccard_at_least(own, threshold) {
                memory::push(near, (*number, similarity))?;
            }
        }
        Ok(())
    }
}

/// The width of a band of similarity.
const WIDTH: f64 = 0.05;

/// The counts of one document of the sample; a pair is one of it with any other document.
#[derive(Clone, Default)]
pub struct Tally {
    /// By band.
    counts: Vec<BandCounts>,
    /// Pairs of similarity 1: no index could miss them, so they prove nothing.
    copies: u64,
    /// Those of them that were found.
    copies_found: u64,
}

/// Numbers of pairs of one document in one band.
#[derive(Clone, Copy, Default)]
struct BandCounts {
    /// Those whose similarity is in the band, but are not copies.
    pairs: u32,
    /// Those of them that were found.
    found: u32,
    /// Those that were given a similarity in the band, but are not copies.
    returned: u32,
    /// Those of them that reach the threshold.
    right: u32,
}

/// The bands of similarity from a threshold up, and what was counted of each document.
pub struct Bands {
    /// The similarities where they begin; the last one ends at 1.
    starts: Vec<f64>,
    tallies: Vec<Tally>,
    /// The number of documents.
    pub population: u64,
    verify: Verify,
}

/// Recall and precision, each with its 95 % interval, of a range of similarities.
pub struct Shares {
    pub from: f64,
    pub to: f64,
    /// Pairs in it, but for copies.
    pub pairs: u64,
    /// Those of them that were found.
    pub pairs_found: u64,
    /// The share that was found, and its interval; nothing where there is nothing to find.
    pub recall: [Option<f64>; 3],
    /// Pairs that were given a similarity in the range, but for copies.
    pub returned: u64,
    /// The share of them that reach the threshold, and its interval.
    pub precision: [Option<f64>; 3],
    /// Copies, and those that were found: for the whole range only.
    pub copies: Option<u64>,
    pub copies_found: Option<u64>,
}

impl Tally {
    /// Counts a pair of that exact similarity, which was found with a similarity, or not.
    pub fn pair(&mut self, bands: &Bands, similarity: f64, given: Option<f64>) {
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

    /// Counts a pair that was found with that similarity, but does not reach the threshold.
    pub fn wrong(&mut self, bands: &Bands, given: f64) {
        self.band(bands, given).returned += 1;
    }

    fn band(&mut self, bands: &Bands, similarity: f64) -> &mut BandCounts {
        self.counts.resize(bands.starts.len(), BandCounts::default());
        let place = bands.starts.partition_point(|start| *start <= similarity).max(1) - 1;
        &mut self.counts[place]
    }
}

impl Bands {
    /// Bands from `threshold` to 1, of pairs that are verified so.
    pub fn above(threshold: f64, verify: Verify) -> Self {
        let first = (threshold / WIDTH).floor() as usize + 1;
        let inner = (first..).map(|n| n as f64 * WIDTH).take_while(|start| *start < 1.0 - 1e-9);
        // Without one of no width, where the threshold is a multiple of the width but for rounding.
        let inner = inner.filter(|start| start - threshold > 1e-9);
        let starts =
            std::iter::once(threshold).chain(inner.map(|start| (start * 100.0).round() / 100.0));
        Self { starts: starts.collect(), tallies: Vec::new(), population: 0, verify }
    }

    /// The threshold.
    pub fn least(&self) -> f64 {
        self.starts[0]
    }

    /// Adds what was counted of a document.
    pub fn add(&mut self, tally: Tally) -> Result<()> {
        Ok(memory::push(&mut self.tallies, tally)?)
    }

    /// The number of documents that were looked at.
    pub fn sampled(&self) -> u64 {
        self.tallies.len() as u64
    }

    /// For all similarities, then for each band.
    pub fn shares(&self) -> Result<Vec<Shares>> {
        let bands = self.starts.len();
        let mut all = self.shares_of(0..bands)?;
        all.copies = Some(self.tallies.iter().map(|tally| tally.copies).sum());
        all.copies_found = Some(self.tallies.iter().map(|tally| tally.copies_found).sum());
        let each = (0..bands).map(|band| self.shares_of(band..band + 1));
        std::iter::once(Ok(all)).chain(each).collect()
    }

    fn shares_of(&self, bands: std::ops::Range<usize>) -> Result<Shares> {
        let sums = |part: fn(&BandCounts) -> u32, whole: fn(&BandCounts) -> u32| {
            let of = |tally: &Tally| {
                let counts = tally.counts.get(bands.clone()).unwrap_or_default();
                let sum =
                    |of: fn(&BandCounts) -> u32| counts.iter().map(|c| u64::from(of(c))).sum();
                (sum(part), sum(whole))
            };
            memory::collect::<(u64, u64)>(self.tallies.iter().map(of))
        };
        let recall = sums(|counts| counts.found, |counts| counts.pairs)?;
        let precision = sums(|counts| counts.right, |counts| counts.returned)?;
        Ok(Shares {
            from: self.starts[bands.start],
            to: self.starts.get(bands.end).copied().unwrap_or(1.0),
            pairs: recall.iter().map(|(_, whole)| whole).sum(),
            pairs_found: recall.iter().map(|(part, _)| part).sum(),
            recall: self.share(&recall),
            returned: precision.iter().map(|(_, whole)| whole).sum(),
            precision: self.precision(&precision),
            copies: None,
            copies_found: None,
        })
    }

    /// The share of what was given that is right. Texts that are compared exactly leave no doubt: if all
    /// of it is right, then because it was verified, and not by chance.
    fn precision(&self, documents: &[(u64, u64)]) -> [Option<f64>; 3] {
        let given = documents.iter().any(|(_, whole)| *whole > 0);
        let all_right = documents.iter().all(|(part, whole)| part == whole);
        match self.verify {
            Verify::Exact if given && all_right => [Some(1.0); 3],
            _ => self.share(documents),
        }
    }

    /// A share with its 95 % interval, from what each document of the sample adds to part and whole.
    fn share(&self, documents: &[(u64, u64)]) -> [Option<f64>; 3] {
        let sum = |of: fn(&(u64, u64)) -> u64| documents.iter().map(of).sum::<u64>();
        let (part, whole) = (sum(|(part, _)| *part), sum(|(_, whole)| *whole));
        match sketch::ratio_interval(documents, self.population) {
            Some((low, high)) => [part as f64 / whole as f64, low, high].map(Some),
            None => [None; 3],
        }
    }
}
