//! The second reading of a suggestion: which document of the source is the nearest one to each of the sample.
//!
//! Documents that share a band with one of the sample are compared with it by their signatures. The nearest is kept,
//! and compared exactly at the end: once for each document of the sample, however many are like it. Exact copies have
//! the same fingerprint: texts that are equal after normalization, and equal sets.

use std::cmp::Reverse;

use sketch::{
    Banding, Config, DEFAULT_RECALL, Histogram, Sketcher, WithinOrigin, estimate_jaccard,
};

use super::sample::{NEAREST, Sample, Taken};
use crate::corpus::reading::columns::{Scope, Scopes};
use crate::corpus::reading::keyed_rows::{KeyedRows, SampleBuckets};
use crate::corpus::source::reader::Reader;
use crate::document::kind::Kind;
use crate::pg::job::{Counter, Progress};
use crate::prelude::*;

/// Pairs that are estimated lower are not looked at: 128 slots are three standard errors off at most.
const LEAST_ESTIMATE: f64 = 0.37;

#[derive(Default)]
pub struct Neighbors {
    /// The number of documents of the source without shingles.
    pub empty: u64,
    /// The number of documents of the sample that have an exact copy.
    pub copies: u64,
    /// The similarities of those nearest to the documents of the sample, which are not exact copies.
    pub nearest: Histogram,
    /// The similarity of random pairs within an origin, and the number of the column that explains it, if one does.
    /// `None` if there are too few documents to say.
    pub common: Option<(Option<usize>, WithinOrigin)>,
}

struct SampleMember {
    key: String,
    taken: Taken,
    signature: Vec<i32>,
    fingerprint: u128,
    has_copy: bool,
    nearest: Option<Nearest>,
}

struct Nearest {
    estimate: f64,
    key: String,
    /// The bytes by which it is compared, if they are not too many to be kept.
    bytes: Option<Vec<u8>>,
}

/// The sample, where its bands are found, and what it takes to compare a document with it.
struct NearestSearch {
    members: Vec<SampleMember>,
    buckets: SampleBuckets,
    reader: Reader,
    config: Config,
    banding: Banding,
    sketcher: Sketcher,
    hashes: Vec<u64>,
}

/// The signature and the bands of a document.
type Signed = (Vec<i32>, Vec<i64>);

impl Neighbors {
    /// Compares the sample with all rows of the source.
    pub fn search(
        rows: &KeyedRows,
        reader: Reader,
        config: &Config,
        (scopes, progress): (&mut Scopes, &Progress),
        sample: &mut Sample,
    ) -> Result<Self> {
        let slots = config.num_perm() as i64;
        let mut search = NearestSearch {
            members: Vec::new(),
            buckets: SampleBuckets::default(),
            reader,
            config: config.clone(),
            banding: Banding::for_recall(Histogram::LEAST, slots, DEFAULT_RECALL)?,
            sketcher: Sketcher::new(config.clone()),
            hashes: Vec::new(),
        };
        let mut taken = std::mem::take(&mut sample.taken).into_iter();
        taken.try_for_each(|(key, document)| search.add(key, document))?;
        search.buckets.finish();
        let common = search.common(sample.documents)?;
        let mut found = Self { common, ..Self::default() };
        let (mut compared, mut bytes) = (0, Vec::new());
        rows.each(|row| {
            compared += 1;
            progress.set(Counter::Compared, compared);
            bytes.clear();
            // SAFETY: a value of the source's column of documents, by whose type the reader was made.
            unsafe { reader.document(row.document) }.append(&mut bytes)?;
            let Some(signed) = search.sign(&bytes)? else {
                found.empty += 1;
                return Ok(());
            };
            let scope = scopes.of(|place| row.scope(place))?;
            scope.map_or(Ok(()), |scope| search.compare(row.name, &bytes, signed, scope))
        })?;
        found.count(search)
    }

    /// Compares the members with the nearest of each.
    fn count(mut self, search: NearestSearch) -> Result<Self> {
        let NearestSearch { members, reader, config, .. } = search;
        let set = |bytes: &[u8]| reader.set(&config, bytes, &mut check_interrupts);
        for SampleMember { taken, has_copy, nearest, .. } in members {
            check_interrupts();
            self.copies += u64::from(has_copy);
            let Some(Nearest { estimate, bytes, .. }) = nearest else { continue };
            let exact = match bytes {
                Some(bytes) => set(&taken.bytes)?.jaccard(&set(&bytes)?),
                None => None,
            };
            self.nearest.add(exact.unwrap_or(estimate));
        }
        Ok(self)
    }
}

impl NearestSearch {
    /// Signs a document by the bytes that it is compared by; `None` if it has no shingles.
    fn sign(&mut self, bytes: &[u8]) -> Result<Option<Signed>> {
        let Self { reader, config, banding, sketcher, hashes, .. } = self;
        hashes.clear();
        reader.hashes(config, bytes, hashes, &mut check_interrupts)?;
        let Some(slots) = sketcher.sketch_hashes(hashes, &mut check_interrupts)? else {
            return Ok(None);
        };
        let (signature, mut bands) = (memory::copied(slots)?, Vec::new());
        banding.hashes(slots, &mut bands)?;
        Ok(Some((signature, bands)))
    }

    /// Takes a document of the sample.
    fn add(&mut self, key: String, taken: Taken) -> Result<()> {
        let Some((signature, bands)) = self.sign(&taken.bytes)? else { return Ok(()) };
        self.buckets.add(&bands, self.members.len() as u32)?;
        let fingerprint = fingerprint(self.reader, &self.config, &taken.bytes)?;
        let (has_copy, nearest) = (false, None);
        let member = SampleMember { key, taken, signature, fingerprint, has_copy, nearest };
        Ok(memory::push(&mut self.members, member)?)
    }

    /// Looks which column explains best what documents have in common, in a sample of `documents`.
    fn common(&self, documents: u64) -> Result<Option<(Option<usize>, WithinOrigin)>> {
        let within = |origin: &dyn Fn(&Taken) -> Option<Scope>| -> Result<_> {
            let sampled = memory::collect(self.members.iter().filter_map(|member| {
                Some((origin(&member.taken)?.number(), &member.signature[..]))
            }))?;
            Ok(WithinOrigin::of(sampled, documents)?)
        };
        let Some(mut most) = within(&|_| Some(Scope::ALL))? else { return Ok(None) };
        let columns = self.members.first().map_or(0, |member| member.taken.origins.len());
        let mut explained = None;
        for column in 0..columns {
            if let Some(found) = within(&|taken| taken.origins[column])?
                && found.explains_more_than(&most)
            {
                (most, explained) = (found, Some(column));
            }
        }
        Ok(Some((explained, most)))
    }

    /// Compares a document with the members that share a band with it.
    fn compare(
        &mut self,
        key: &str,
        bytes: &[u8],
        (signature, bands): Signed,
        scope: Scope,
    ) -> Result<()> {
        let Self { members, buckets, reader, config, .. } = self;
        let mut print = None;
        for number in buckets.sharing(&bands)? {
            let member = &mut members[number as usize];
            let taken = &member.taken;
            let estimate = estimate_jaccard(&member.signature, &signature)?;
            if member.key == key || taken.scope != Some(scope) || estimate < LEAST_ESTIMATE {
                continue;
            }
            if estimate >= 1.0 {
                if print.is_none() {
                    print = Some(fingerprint(*reader, config, bytes)?);
                }
                if print == Some(member.fingerprint) {
                    member.has_copy = true;
                    continue;
                }
            }
            // Of equal estimates the lowest key, so that the order of the rows does not matter.
            let best =
                member.nearest.as_ref().map(|best| (best.estimate, Reverse(best.key.as_str())));
            if best.is_none_or(|best| (estimate, Reverse(key)) > best) {
                let fits = bytes.len() <= NEAREST * taken.bytes.len();
                let bytes = fits.then(|| memory::copied(bytes)).transpose()?;
                member.nearest = Some(Nearest { estimate, key: memory::owned(key)?, bytes });
            }
        }
        Ok(())
    }
}

/// A value that is the same for texts that are equal after normalization, and for equal sets; for others only with
/// probability 2^-64.
fn fingerprint(reader: Reader, config: &Config, bytes: &[u8]) -> Result<u128> {
    if reader.kind == Kind::Text {
        return Ok(reader.fingerprint(config, bytes, &mut check_interrupts)?);
    }
    let set = reader.set(config, bytes, &mut check_interrupts)?;
    Ok((set.len() as u128) << 64 | u128::from(set.hash()))
}
