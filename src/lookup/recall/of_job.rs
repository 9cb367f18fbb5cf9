//! The audit of a whole-corpus job, without an index: what is found is what shares a band.
//!
//! The rows of the source are gone through: once for the keys of the sample, then, for each part of
//! the sample that memory holds, once for its documents and once more for all that they are compared
//! with.

use std::collections::{BinaryHeap, HashSet};

use pgrx::pg_sys::Datum;
use sketch::{ShingleSet, Sketcher, estimate_jaccard, memory};

use super::tally::{Bands, Tally};
use super::truth::Truth;
use super::{ENTRY, Sampling};
use crate::corpus::arguments::Criteria;
use crate::corpus::keyed_rows::{KeyedRows, sample_order};
use crate::corpus::scopes::{Scope, Scopes};
use crate::corpus::source::Source;
use crate::document::kind::Kind;
use crate::error::{Result, out_of_memory};
use crate::lookup::operand::Measured;
use crate::memory::of_sample;
use crate::options::Verify;
use crate::pg::interrupts::check_interrupts;
use crate::pg::spi::Session;

/// Audits what a job over `source` would find.
pub fn audit(
    session: &Session,
    source: &Source,
    criteria: Criteria,
    wanted: Sampling,
) -> Result<Bands> {
    let rows = KeyedRows::of(session, source)?;
    let mut audit = Audit {
        scopes: Scopes::new(&source.scope_types())?,
        sketcher: Sketcher::new(criteria.config.clone()),
        bands: Bands::above(criteria.threshold.get(), criteria.verify),
        criteria,
        part: Part::default(),
        document: Document::default(),
    };
    let mut left = chosen(&rows, wanted)?;
    loop {
        let before = left.len();
        audit.take(&rows, &mut left)?;
        audit.compare_with_all(&rows)?;
        // A volatile query may not give a row once more.
        if left.is_empty() || left.len() == before {
            return Ok(audit.bands);
        }
    }
}

/// The keys of the sample: those of the least hashes, as the audit of an index takes them.
fn chosen(rows: &KeyedRows, wanted: Sampling) -> Result<HashSet<String>> {
    let mut least: BinaryHeap<(i64, String)> = BinaryHeap::new();
    let count = usize::try_from(wanted.count).unwrap_or(0);
    rows.each(&mut |key, _, _| {
        let hash = sample_order(key, wanted.seed);
        if least.len() == count {
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

/// A document, signed. Without shingles it has no bands, and shares none.
#[derive(Default)]
struct Document {
    signature: Vec<i32>,
    bands: Vec<i64>,
    bytes: Vec<u8>,
    /// The least similarity that it asks for itself.
    least: f64,
}

/// A document of the sample.
struct Member {
    name: String,
    scope: Option<Scope>,
    /// The least similarity that it asks for itself.
    least: f64,
    signature: Vec<i32>,
    tally: Tally,
}

/// The part of the sample at hand, which fits maintenance_work_mem.
#[derive(Default)]
struct Part {
    truth: Truth,
    members: Vec<Member>,
    /// The bands of all members, each by its number and its hash.
    buckets: Vec<(u32, i64, u32)>,
    bytes: usize,
}

struct Audit {
    criteria: Criteria,
    scopes: Scopes,
    sketcher: Sketcher,
    bands: Bands,
    part: Part,
    /// The document at hand.
    document: Document,
}

impl Audit {
    /// Takes in documents of the sample, as many as memory holds.
    fn take(&mut self, rows: &KeyedRows, left: &mut HashSet<String>) -> Result<()> {
        let room = of_sample();
        rows.each(&mut |name, value, scope| {
            let full = self.part.truth.bytes() + self.part.bytes >= room;
            if full && !self.part.members.is_empty() || !left.remove(name) {
                return Ok(());
            }
            let measured = self.sign(value)?;
            let number = self.part.members.len() as u32;
            for (band, hash) in (0..).zip(&self.document.bands) {
                memory::push(&mut self.part.buckets, (band, *hash, number))?;
            }
            let signature = memory::copied(&self.document.signature)?;
            self.part.bytes += ENTRY + name.len() + size_of_val(&*signature);
            self.part.truth.push(measured)?;
            let member = Member {
                name: memory::owned(name)?,
                scope: self.scopes.of(scope)?,
                least: self.document.least,
                signature,
                tally: Tally::default(),
            };
            memory::push(&mut self.part.members, member).map_err(Into::into)
        })?;
        self.part.buckets.sort_unstable();
        Ok(())
    }

    /// Compares the part of the sample at hand with all documents, and forgets it.
    fn compare_with_all(&mut self, rows: &KeyedRows) -> Result<()> {
        let mut part = std::mem::take(&mut self.part);
        let (mut read, mut sharing) = (0, Vec::new());
        let mut similar: Vec<(u32, f64)> = Vec::new();
        rows.each(&mut |name, value, scope| {
            read += 1;
            let (measured, scope) = (self.sign(value)?, self.scopes.of(scope)?);
            part.sharing(&self.document.bands, &mut sharing)?;
            similar.clear();
            let mut outcome = Ok(());
            part.truth.similar_to(&measured, self.bands.least(), &mut |member, similarity| {
                let pushed = memory::push(&mut similar, (member, similarity));
                outcome = std::mem::replace(&mut outcome, Ok(())).and(pushed);
            });
            outcome?;
            similar.sort_unstable_by_key(|(member, _)| *member);
            let others =
                |member: &Member| member.name != name && scope.is_some() && member.scope == scope;
            for &(number, similarity) in &similar {
                let member = &mut part.members[number as usize];
                let least = member.least.max(self.document.least);
                if others(member) && similarity >= least {
                    let shares = sharing.binary_search(&number).is_ok();
                    let given = if shares { self.given(member, Some(similarity)) } else { None };
                    member.tally.pair(&self.bands, similarity, given);
                }
            }
            for &number in &sharing {
                let member = &mut part.members[number as usize];
                let is_true = similar.binary_search_by_key(&number, |(member, _)| *member).is_ok();
                if let (false, true, Some(given)) =
                    (is_true, others(member), self.given(member, None))
                {
                    member.tally.wrong(&self.bands, given);
                }
            }
            Ok(())
        })?;
        self.bands.population = read;
        part.members
            .into_iter()
            .try_for_each(|member| self.bands.add(member.tally))
            .map_err(Into::into)
    }

    /// The similarity that the job gives a pair of a member and the document at hand, which share a
    /// band; none if it takes them for no near-duplicates. `exact` is what is true, if that reaches
    /// the threshold.
    fn given(&self, member: &Member, exact: Option<f64>) -> Option<f64> {
        match self.criteria.verify {
            Verify::Exact => exact,
            Verify::Signature => {
                let estimate = estimate_jaccard(&member.signature, &self.document.signature);
                let least = self.bands.least().max(member.least).max(self.document.least);
                estimate.ok().filter(|estimate| *estimate >= least)
            }
        }
    }

    /// Makes a value the document at hand, and says what it is compared by.
    fn sign(&mut self, value: Datum) -> Result<Measured<'static>> {
        let Self { criteria, sketcher, document, .. } = self;
        let Document { signature, bands, bytes, least } = document;
        *least = 0.0;
        signature.clear();
        bands.clear();
        bytes.clear();
        // SAFETY: a value of the kind that the criteria were made for.
        if let Some(sketched) = unsafe { criteria.reader.sketch(value, sketcher)? } {
            memory::extend(signature, &sketched.signature)?;
            criteria.banding.hashes(&sketched.signature, bands)?;
            *least = sketched.least;
        }
        if criteria.reader.kind == Kind::Signature {
            return Ok(Measured::Signature(memory::copied(signature)?.into()));
        }
        // SAFETY: as above.
        unsafe { criteria.reader.append(value, bytes)? };
        let set: ShingleSet =
            criteria.reader.set(&criteria.config, bytes, &mut check_interrupts)?;
        Ok(Measured::Set(set))
    }
}

impl Part {
    /// Lists the members that share a band with a document, in order.
    fn sharing(&self, bands: &[i64], members: &mut Vec<u32>) -> Result<()> {
        members.clear();
        for (band, &hash) in (0..).zip(bands) {
            let start = self.buckets.partition_point(|(b, h, _)| (*b, *h) < (band, hash));
            let bucket =
                self.buckets[start..].iter().take_while(|(b, h, _)| (*b, *h) == (band, hash));
            for (_, _, member) in bucket {
                memory::push(members, *member)?;
            }
        }
        members.sort_unstable();
        members.dedup();
        Ok(())
    }
}
