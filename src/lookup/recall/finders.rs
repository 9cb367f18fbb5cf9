//! The near-duplicates that are audited: what `near_duplicates()` finds by an index, or without one, what shares a band
//! in a whole-corpus job.

use std::collections::HashMap;

use pgrx::pg_sys::Datum;
use sketch::{Sketcher, estimate_jaccard, memory};

use super::audit::{ENTRY, NearFinder, Similar};
use crate::corpus::reading::keyed_rows::SampleBuckets;
use crate::corpus::source::reader::Criteria;
use crate::error::Result;
use crate::lookup::near_duplicates::Asked;
use crate::options::Verify;
use crate::pg::spi::Session;
use crate::row_key::KeyValue;

/// An index that is asked, and what it has found by its name as a text.
pub struct ByIndex<'a> {
    asked: Asked<'a>,
    found: HashMap<String, Vec<Similar>>,
    count: u32,
}

impl<'a> ByIndex<'a> {
    /// Nothing is found yet.
    pub fn new(asked: Asked<'a>) -> Self {
        Self { asked, found: HashMap::new(), count: 0 }
    }
}

impl NearFinder for ByIndex<'_> {
    fn begin(&mut self) {
        self.found.clear();
        self.count = 0;
    }

    fn take(&mut self, key: KeyValue, _value: Datum) -> Result<usize> {
        let (mut bytes, number) = (0, self.count);
        let mut visit = |name: &str, similarity: f64| {
            bytes += ENTRY + name.len();
            if !self.found.contains_key(name) {
                let name = memory::owned(name)?;
                memory::insert_at(&mut self.found, name, Vec::new())?;
            }
            if let Some(found) = self.found.get_mut(name) {
                memory::push(found, (number, similarity))?;
            }
            Ok(())
        };
        // The rows are read by a query that goes on behind this one, in another session.
        self.asked.each(&Session::open(), key, &mut visit)?;
        self.count += 1;
        Ok(bytes)
    }

    fn find(
        &mut self,
        name: &str,
        _value: Datum,
        _near: &[Similar],
        found: &mut Vec<Similar>,
    ) -> Result<()> {
        Ok(memory::extend(found, self.found.get(name).map_or(&[], Vec::as_slice))?)
    }
}

/// A document, signed. Without shingles it has no bands, and shares none.
#[derive(Default)]
struct SignedMember {
    signature: Vec<i32>,
    bands: Vec<i64>,
    /// The least similarity that it asks for itself.
    least: f64,
}

/// The documents of a sample by their bands.
pub struct ByBands {
    criteria: Criteria,
    sketcher: Sketcher,
    members: Vec<SignedMember>,
    buckets: SampleBuckets,
}

impl ByBands {
    /// No documents yet, which are of the kind that the criteria were made for.
    pub fn new(criteria: Criteria) -> Self {
        let sketcher = Sketcher::new(criteria.config.clone());
        Self { criteria, sketcher, members: Vec::new(), buckets: SampleBuckets::default() }
    }

    fn sign(&mut self, value: Datum) -> Result<SignedMember> {
        let mut signed = SignedMember::default();
        let Self { criteria, sketcher, .. } = self;
        let look = |signature: &[i32], least| {
            signed.signature = memory::copied(signature)?;
            signed.least = least;
            Ok(criteria.banding.hashes(signature, &mut signed.bands)?)
        };
        // SAFETY: a value of the kind that the criteria were made for.
        unsafe { criteria.reader.document(value) }.sketch(sketcher, look)?;
        Ok(signed)
    }
}

impl NearFinder for ByBands {
    fn begin(&mut self) {
        self.members.clear();
        self.buckets = SampleBuckets::default();
    }

    fn take(&mut self, _key: KeyValue, value: Datum) -> Result<usize> {
        let (signed, number) = (self.sign(value)?, self.members.len() as u32);
        self.buckets.add(&signed.bands, number)?;
        let bytes = size_of_val(&*signed.signature) + size_of_val(&*signed.bands);
        memory::push(&mut self.members, signed)?;
        Ok(bytes)
    }

    fn taken(&mut self) {
        self.buckets.finish();
    }

    /// Those that share a band, as far as the job takes them for near-duplicates.
    fn find(
        &mut self,
        _name: &str,
        value: Datum,
        near: &[Similar],
        found: &mut Vec<Similar>,
    ) -> Result<()> {
        let signed = self.sign(value)?;
        let mut sharing = Vec::new();
        self.buckets.sharing(&signed.bands, &mut sharing)?;
        for number in sharing {
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
