//! The comparison of each document of a sample with all documents, and of the truth with what is found.
//!
//! The rows of the source are read once for the keys of the sample. For each part of the sample that memory holds, they
//! are read once for its documents, and once more for all that these are compared with.

use std::collections::{BinaryHeap, HashSet};

use pgrx::pg_sys::Datum;
use sketch::{Config, ElementHash, ExactSample, estimate_jaccard, memory};

use super::tally::{Bands, Tally};
use crate::corpus::reading::keyed_rows::{KeyedRows, Sampling, sample_order};
use crate::corpus::reading::scopes::{Scope, Scopes};
use crate::corpus::source::Source;
use crate::document::value::Value;
use crate::error::{Result, out_of_memory};
use crate::memory::of_sample;
use crate::pg::catalog;
use crate::pg::spi::Session;
use crate::row_key::KeyValue;

/// About what a key and what belongs to it take, beside its letters.
pub const ENTRY: usize = 64;

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

/// A document of the sample.
struct SampleMember {
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
        let mut scopes = Scopes::new(&self.source.scope_types())?;
        let mut left = chosen(&rows, wanted)?;
        let key_type = catalog::base_type(self.source.key_column().0);
        loop {
            let (before, room) = (left.len(), of_sample());
            let (mut truth, mut members, mut bytes) = (Truth::default(), Vec::new(), 0);
            finder.begin();
            rows.each(|row| {
                let full = truth.bytes() + bytes >= room;
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
                let member = SampleMember { name, scope, least, tally: Tally::default() };
                Ok(memory::push(&mut members, member)?)
            })?;
            finder.taken();
            let (mut near, mut found): (Vec<Similar>, Vec<Similar>) = Default::default();
            bands.population = 0;
            rows.each(|row| {
                bands.population += 1;
                let (document, least) = self.read(row.document)?;
                let scope = scopes.of(|place| row.scope(place))?;
                let is_other = |member: &SampleMember| {
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

/// The keys of the sample: those of the least hashes, so that the same seed takes the same documents.
fn chosen(rows: &KeyedRows, wanted: Sampling) -> Result<HashSet<String>> {
    let mut least: BinaryHeap<(i64, String)> = BinaryHeap::new();
    rows.each(|row| {
        let (key, hash) = (row.name, sample_order(row.name, wanted.seed));
        if least.len() == wanted.count {
            if least.peek().is_none_or(|(most, last)| (hash, key) >= (*most, last.as_str())) {
                return Ok(());
            }
            least.pop();
        }
        least.try_reserve(1).map_err(|_| out_of_memory())?;
        least.push((hash, memory::owned(key)?));
        Ok(())
    })?;
    let mut keys = HashSet::new();
    least.into_iter().try_for_each(|(_, key)| memory::insert(&mut keys, key).map(drop))?;
    Ok(keys)
}

/// The truth about the documents of a sample, numbered from 0 in the order in which they were added: their exact
/// similarities with others.
#[derive(Default)]
struct Truth {
    sets: ExactSample,
    /// The number of each set.
    numbers: Vec<u32>,
    signatures: Vec<(u32, Vec<i32>)>,
    slots: usize,
}

impl Truth {
    fn push(&mut self, document: Value, config: &Config) -> Result<()> {
        let number = (self.numbers.len() + self.signatures.len()) as u32;
        if let Value::Signature(slots) = document {
            self.slots += slots.len();
            let slots = memory::copied(&slots)?;
            return Ok(memory::push(&mut self.signatures, (number, slots))?);
        }
        memory::push(&mut self.numbers, number)?;
        Ok(self.sets.push(document.into_set(config)?)?)
    }

    /// About how many bytes they take.
    fn bytes(&self) -> usize {
        self.sets.bytes() + self.slots * size_of::<i32>()
    }

    /// Appends the documents that are at least `threshold` similar to another one, in their order: by the sets, or by
    /// the signatures where these are all there is.
    fn similar_to(
        &mut self,
        other: Value,
        config: &Config,
        threshold: f64,
        near: &mut Vec<Similar>,
    ) -> Result<()> {
        let mut outcome = Ok(());
        if let Value::Signature(slots) = other {
            for (number, own) in &self.signatures {
                // Signatures of other lengths have no similarity.
                let similarity = estimate_jaccard(own, &slots).unwrap_or(0.0);
                if similarity >= threshold {
                    memory::push(near, (*number, similarity))?;
                }
            }
        } else {
            let set = other.into_set(config)?;
            self.sets.similar_to(&set, threshold, |place, similarity| {
                let pushed = memory::push(near, (self.numbers[place as usize], similarity));
                outcome = std::mem::replace(&mut outcome, Ok(())).and(pushed);
            });
        }
        near.sort_unstable_by_key(|(number, _)| *number);
        Ok(outcome?)
    }
}
