//! Pairs of every similarity, and their number in a source: compares a sample of its documents with all.
//!
//! Documents that share a band with a sampled one are compared with it by signatures. For each 0.02 of the estimate
//! some pairs, selected by a hash, are compared exactly, and represent the others. The weight of a pair is the inverse
//! of the probability that one of its documents is in the sample and that the two share a band.
//!
//! Pairs are rare from 0.5 up, so there a larger sample is compared, with as many documents as memory holds.

use ahash::AHashMap;
use sketch::labels::{PairCounts, Reservoirs, pair_hash};
use sketch::{Banding, Config, DEFAULT_RECALL, ShingleSet, Sketcher, estimate_jaccard, hash128, memory};

use super::decided::LabelDocuments;
use crate::corpus::codes::Codes;
use crate::corpus::reading::columns::{Scope, Scopes, twice_there};
use crate::corpus::reading::keyed_rows::{KeyedRow, KeyedRows, LeastHashes, SampleBuckets, Sampling};
use crate::corpus::reading::omitted::{Omitted, Reason, notice_omitted};
use crate::corpus::source::reader::Reader;
use crate::corpus::source::{Source, common};
use crate::error::shortened;
use crate::memory::of_suggestion;
use crate::pg::job::{Counter, JobPhase, Progress};
use crate::prelude::*;

/// Similarity from which the larger sample is compared, and its size as a multiple of the requested one.
const SPLIT: f64 = 0.5;
const LARGER: usize = 10;
/// Share of the pairs at `lowest` that share a band. The weights compensate for the others.
const LOW_RECALL: f64 = 0.45;
/// Three standard errors of an estimate.
const ERROR: f64 = 0.13;
/// Maximum number of pairs kept for each 0.02 of the estimate, and bytes of a pair.
const MOST_KEPT: usize = 200;
const KEPT: usize = 200;
/// Number of reservoirs of 0.02 that may be in use.
const RESERVOIRS: usize = 64;
/// Approximate bytes of a member, besides its document and its key: signature and bands.
const MEMBER: usize = 2048;
/// A document that takes more than this part of memory is left out, to make room for others.
const PARTS: usize = 16;

/// Two documents by their keys.
pub struct Candidate {
    pub keys: [String; 2],
    pub similarity: f64,
}

pub struct Candidates {
    /// By similarity, ascending; independent of the order of rows.
    pub pairs: Vec<Candidate>,
    /// All pairs of the source from `lowest` up.
    pub counts: PairCounts,
    /// The pairs whose codes agree.
    pub agreeing: PairCounts,
    /// Number of documents in the (first) source, and in the samples for lower and higher similarities.
    pub documents: u64,
    pub sample: u64,
    pub larger: u64,
    /// Number of documents that were too large for the sample.
    pub large: u64,
}

/// A document of the sample. Its order is the sample's.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Taken {
    bytes: Vec<u8>,
    scope: Option<Scope>,
}

struct Member {
    key: String,
    hash: u64,
    taken: Taken,
    signature: Vec<i32>,
}

/// An exactly compared pair: the member, the key of the other document, the bits of the similarity, which sort like it,
/// and true if their codes agree.
type Compared = (u32, String, u64, bool);

/// The pairs to find in a range of similarities.
struct Range {
    from: f64,
    to: f64,
    banding: Banding,
    buckets: SampleBuckets,
    /// Number of members that take part, from the first, and number of documents in their sample.
    members: u32,
    sample: u64,
    kept: Reservoirs<Compared>,
}

/// A search of a source for pairs.
pub struct Search {
    pub reader: Reader,
    pub config: Config,
    wanted: Sampling,
    lowest: f64,
    sketcher: Sketcher,
}

impl Search {
    pub fn new(reader: Reader, config: Config, wanted: Sampling, lowest: f64) -> Result<Self> {
        let sketcher = Sketcher::new(config.clone());
        Ok(Self { reader, config, wanted, lowest, sketcher })
    }

    /// Compares a sample of the first source with all documents of the last one. Keeps documents with a decision in
    /// `documents`.
    pub fn run(
        &mut self,
        session: &Session,
        sources: &[Source],
        documents: &mut LabelDocuments,
        progress: &Progress,
    ) -> Result<Candidates> {
        let mut scopes = Scopes::new("scope", &common("scope", sources, Source::scope_types)?)?;
        let keyed = |source: &Source| KeyedRows::of(session, source, source.scopes.len());
        let rows = memory::collect(sources.iter().map(keyed))?;
        let rows = rows.into_iter().collect::<Result<Vec<_>>>()?;
        let mut found = Candidates {
            pairs: Vec::new(),
            counts: PairCounts::default(),
            agreeing: PairCounts::default(),
            documents: 0,
            sample: 0,
            larger: 0,
            large: 0,
        };
        let (taken, omitted) = self.take(&rows[0], &mut scopes, documents, progress, &mut found)?;
        let mut ranges = self.ranges(&found)?;
        let members = self.members(taken, &mut ranges)?;
        progress.enter(JobPhase::Neighbors);
        let is_one = sources.len() == 1;
        let numbers = members.iter().map(|member| member.hash).zip(0..);
        let mut by_hash = AHashMap::new();
        for (hash, number) in numbers.filter(|_| is_one) {
            memory::insert_at(&mut by_hash, hash, number)?;
        }
        let (mut compared, mut empty, mut bytes) = (0, 0, Vec::new());
        let of_last = rows[sources.len() - 1].each(|row| {
            compared += 1;
            progress.set(Counter::Compared, compared);
            self.read(row, &mut bytes)?;
            if !is_one {
                documents.add(1, row.name, &bytes)?;
            }
            let Some((signature, hashes)) = self.sign(&bytes)? else {
                empty += 1;
                return Ok(());
            };
            let Some(scope) = scopes.of(|place| row.scope(place))? else { return Ok(()) };
            let hash = self.hash(row.name);
            let own = by_hash.get(&hash).copied();
            let mut other =
                Other { name: row.name, bytes: &bytes, hash, own, scope, signature, hashes, set: None, codes: None };
            for range in &mut ranges {
                self.compare(range, &members, &mut other, is_one)?;
            }
            Ok(())
        })?;
        let mut all_omitted = vec![of_last];
        all_omitted[0].add(Reason::Empty, empty);
        if !is_one {
            all_omitted.insert(0, omitted);
        }
        notice_omitted(&all_omitted, "");
        for range in ranges {
            self.finish(range, &members, is_one, &mut found)?;
        }
        let order =
            |a: &(Candidate, u64), b: &(Candidate, u64)| a.0.similarity.total_cmp(&b.0.similarity).then(a.1.cmp(&b.1));
        let mut pairs = memory::collect(std::mem::take(&mut found.pairs).into_iter().map(|pair| {
            let [a, b] = [&pair.keys[0], &pair.keys[1]].map(|key| self.hash(key));
            (pair, pair_hash(a.min(b), a.max(b)))
        }))?;
        pairs.sort_unstable_by(order);
        found.pairs = memory::collect(pairs.into_iter().map(|(pair, _)| pair))?;
        Ok(found)
    }

    /// Reads the compared bytes of a document.
    fn read(&self, row: &KeyedRow, bytes: &mut Vec<u8>) -> Result<()> {
        bytes.clear();
        // SAFETY: a value of the source's document column, for whose type the reader was made.
        unsafe { self.reader.document(row.document) }.append(bytes)
    }

    /// The hash of a key, by which pairs are selected.
    fn hash(&self, key: &str) -> u64 {
        pair_hash(self.wanted.seed as u64, hash128(key.as_bytes()) as u64)
    }

    /// Takes the larger sample, in the order of hashes; its first documents are the smaller one. Also counts the rows
    /// that take no part.
    fn take(
        &self,
        rows: &KeyedRows,
        scopes: &mut Scopes,
        documents: &mut LabelDocuments,
        progress: &Progress,
        found: &mut Candidates,
    ) -> Result<(Vec<(String, Taken)>, Omitted)> {
        let (mut bytes, room) = (Vec::new(), of_suggestion() / 2);
        let wanted = Sampling { count: self.wanted.count.saturating_mul(LARGER), ..self.wanted };
        let mut taken = LeastHashes::new(wanted, room);
        let omitted = rows.each(|row| {
            found.documents += 1;
            progress.set(Counter::Read, found.documents);
            self.read(row, &mut bytes)?;
            documents.add(0, row.name, &bytes)?;
            let cost = bytes.len() + row.name.len() + MEMBER;
            if cost > room / PARTS {
                found.large += 1;
                return Ok(());
            }
            taken.add(row.name, cost, || {
                let scope = scopes.of(|place| row.scope(place))?;
                Ok(Taken { bytes: memory::copied(&bytes)?, scope })
            })
        })?;
        let taken = memory::collect(taken.finish())?;
        found.larger = taken.len() as u64;
        found.sample = found.larger.min(self.wanted.count as u64);
        match taken.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(twice_there("source", &shortened(&pair[0].0))),
            None => Ok((taken, omitted)),
        }
    }

    /// The ranges of similarities, each with its sample.
    fn ranges(&self, found: &Candidates) -> Result<Vec<Range>> {
        let slots = self.config.num_perm() as i64;
        let most = (of_suggestion() / 4 / RESERVOIRS / KEPT).clamp(8, MOST_KEPT);
        let range = |from: f64, to: f64, recall: f64, sample: u64| -> Result<Range> {
            let banding = Banding::for_recall(from, slots, recall)?.trimmed(from, recall);
            let (buckets, kept) = (SampleBuckets::default(), Reservoirs::new(most));
            Ok(Range { from, to, banding, buckets, members: 0, sample, kept })
        };
        let mut ranges = Vec::new();
        if self.lowest < SPLIT {
            ranges.push(range(self.lowest, SPLIT, LOW_RECALL, found.sample)?);
        }
        let from = self.lowest.max(SPLIT);
        ranges.push(range(from, f64::INFINITY, DEFAULT_RECALL, found.larger)?);
        Ok(ranges)
    }

    /// Signs the documents of the sample, and adds their bands to the buckets of their ranges.
    fn members(&mut self, taken: Vec<(String, Taken)>, ranges: &mut [Range]) -> Result<Vec<Member>> {
        let (mut members, mut bands) = (Vec::new(), Vec::new());
        for (place, (key, taken)) in (0..).zip(taken) {
            let Some((signature, _)) = self.sign(&taken.bytes)? else { continue };
            let number = members.len() as u32;
            for range in ranges.iter_mut().filter(|range| place < range.sample) {
                range.banding.hashes(&signature, &mut bands)?;
                range.buckets.add(&bands, number)?;
                range.members = number + 1;
            }
            let hash = self.hash(&key);
            memory::push(&mut members, Member { key, hash, taken, signature })?;
        }
        ranges.iter_mut().for_each(|range| range.buckets.finish());
        Ok(members)
    }

    /// Signs a document by its compared bytes. Returns its signature, and the hashes of its shingles; `None` without
    /// shingles.
    fn sign(&mut self, bytes: &[u8]) -> Result<Option<(Vec<i32>, Vec<u64>)>> {
        let mut hashes = Vec::new();
        self.reader.hashes(&self.config, bytes, &mut hashes, &mut check_interrupts)?;
        let slots = self.sketcher.sketch_hashes(&hashes, &mut check_interrupts)?;
        let signature = slots.map(memory::copied).transpose()?;
        Ok(signature.map(|signature| (signature, hashes)))
    }

    /// Compares a document with the members that share a band with it.
    fn compare(&self, range: &mut Range, members: &[Member], other: &mut Other, is_one: bool) -> Result<()> {
        let mut bands = Vec::new();
        range.banding.hashes(&other.signature, &mut bands)?;
        let own = other.own.filter(|own| *own < range.members);
        for number in range.buckets.sharing(&bands)? {
            let member = &members[number as usize];
            // A pair of two members is found twice, and counts once.
            let is_met_again = own.is_some_and(|own| own <= number);
            if is_met_again || member.taken.scope != Some(other.scope) {
                continue;
            }
            let estimate = estimate_jaccard(&member.signature, &other.signature)?;
            let is_near = (range.from - ERROR..range.to + ERROR).contains(&estimate);
            let (a, b) = (member.hash, other.hash);
            let hash = if is_one { pair_hash(a.min(b), a.max(b)) } else { pair_hash(a, b) };
            if is_near && range.kept.wants(estimate, hash) {
                let set = self.reader.set(&self.config, &member.taken.bytes, &mut check_interrupts)?;
                let similarity = other.set()?.jaccard(&set).unwrap_or(0.0);
                let agrees = Codes::of(self.reader, &member.taken.bytes)?.agree(other.codes(self.reader)?);
                let key = memory::owned(other.name)?;
                range.kept.put(estimate, hash, (number, key, similarity.to_bits(), agrees))?;
            }
        }
        Ok(())
    }

    /// Weights the pairs of a range.
    fn finish(&self, range: Range, members: &[Member], is_one: bool, found: &mut Candidates) -> Result<()> {
        let Range { from, to, banding, sample, kept, .. } = range;
        let (all, outside) = (found.documents as f64, (found.documents - sample) as f64);
        let drawn = if is_one {
            1.0 - outside * (outside - 1.0).max(0.0) / (all * (all - 1.0)).max(1.0)
        } else {
            sample as f64 / all.max(1.0)
        };
        for ((number, key, bits, agrees), weight) in kept.finish()? {
            let similarity = f64::from_bits(bits);
            if !(from..to).contains(&similarity) {
                continue;
            }
            let weight = weight / (banding.probability(similarity) * drawn);
            found.counts.add(similarity, weight);
            if agrees {
                found.agreeing.add(similarity, weight);
            }
            let member = memory::owned(&members[number as usize].key)?;
            let keys = if is_one { in_order(member, key) } else { [member, key] };
            memory::push(&mut found.pairs, Candidate { keys, similarity })?;
        }
        Ok(())
    }
}

/// A document that is compared with the sample.
struct Other<'a> {
    name: &'a str,
    bytes: &'a [u8],
    hash: u64,
    /// Its number in the sample.
    own: Option<u32>,
    scope: Scope,
    signature: Vec<i32>,
    hashes: Vec<u64>,
    set: Option<ShingleSet>,
    codes: Option<Codes>,
}

impl Other<'_> {
    /// Its codes, read on first use.
    fn codes(&mut self, reader: Reader) -> Result<&Codes> {
        let codes = match self.codes.take() {
            Some(codes) => codes,
            None => Codes::of(reader, self.bytes)?,
        };
        Ok(self.codes.insert(codes))
    }

    /// The set of its shingles, made on first use.
    fn set(&mut self) -> Result<&ShingleSet> {
        let Self { hashes, set, .. } = self;
        Ok(set.get_or_insert_with(|| ShingleSet::from_hashes(std::mem::take(hashes), &mut check_interrupts)))
    }
}

/// Two keys, the lower one first; integers by value.
fn in_order(a: String, b: String) -> [String; 2] {
    let is_less = match (a.parse::<i64>(), b.parse::<i64>()) {
        (Ok(a), Ok(b)) => a < b,
        _ => a < b,
    };
    if is_less { [a, b] } else { [b, a] }
}
