//! Pairs of every similarity, and their number in a source: compares a sample of its documents with all.
//!
//! The engine compares each document with the whole sample. For each 0.02 of similarity some pairs, selected by a hash,
//! represent the others: some whose codes agree, and some whose codes do not. If the engine gives an estimate, these
//! pairs are compared exactly. The weight of a pair is the inverse of the probability that the sample has one of its
//! two documents.
//!
//! Very similar pairs are rare, so for them a larger sample is compared, with as many documents as memory holds.

use std::mem::take;

use ahash::AHashMap;
use sketch::labels::{Fit, Judgement, Label, PairCounts, Plateaus, Reservoirs, pair_hash};
use sketch::{Config, SampledSets, SimilarMember, hash128, memory};

use super::decided::{LabelDocuments, Labeled};
use crate::corpus::source::arguments::label;
use crate::corpus::source::keyed_rows::{KeyedRows, LeastHashes, Sampling};
use crate::corpus::source::omitted::{Omitted, Reason, notice_omitted};
use crate::corpus::source::reader::{Codes, Reader};
use crate::corpus::source::scopes::Scopes;
use crate::corpus::source::{Source, common};
use crate::memory::of_suggestion;
use crate::pg::job::{Counter, JobPhase, Progress};
use crate::prelude::*;
use sketch::dedup::Scope;

/// Minimum similarity from which the larger sample is compared, and its size as a multiple of the requested one.
const SPLIT: f64 = 0.5;
const LARGER: usize = 10;
/// Number of pairs within the sample for which no larger one is needed.
const MANY: usize = 100;
/// Maximum number of pairs kept for each 0.02 of similarity, and bytes of a pair.
const MOST_KEPT: usize = 200;
const KEPT: usize = 200;
/// Number of strata of 0.02 that may be in use.
const STRATA: usize = 128;
/// Approximate bytes of a member, besides its document, its key and its kept hashes: codes, and sizes of its set.
const MEMBER: usize = 512;
/// A document that takes more than this part of memory is left out, to make room for others.
const PARTS: usize = 16;

/// Two documents by their keys.
pub struct Candidate {
    pub keys: [String; 2],
    pub similarity: f64,
    /// True if their codes agree.
    pub agrees: bool,
}

#[derive(Default)]
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
    /// Similarity from which the larger sample was compared.
    pub split: f64,
    /// Number of documents that were too large for the sample.
    pub large: u64,
}

impl Candidates {
    /// Fits answers, for all pairs of some sources. Codes must agree where that is better.
    pub fn judged(&self, labeled: &Labeled, sources: &[Source]) -> Result<Judgement> {
        let fit = |labels: &[Label], pairs| Fit::new(labels.iter().copied(), pairs, Plateaus::Usual);
        let body = |source: &Source| label(&source.columns[source.body].name);
        // `agree` is one expression for all sources. The document of an index is not always a column.
        let may_agree = sources.iter().all(|source| source.named.is_none() && body(source) == body(&sources[0]));
        let rule = may_agree.then(|| fit(&labeled.agreeing, &self.agreeing)).transpose()?;
        let all = fit(&labeled.labels, &self.counts)?;
        Ok(Judgement::new(all, rule.map(|fit| (fit, labeled.answers))))
    }
}

/// A document of the sample. Its order is the sample's.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Drawn {
    bytes: Vec<u8>,
    scope: Option<Scope>,
}

struct Sampled {
    key: String,
    hash: u64,
    taken: Drawn,
    codes: Codes,
}

/// The members of the sample, and their sets: one part that is compared from the lowest similarity up, and one where
/// pairs are rare.
struct Samples {
    all: Vec<Sampled>,
    /// Each part with the number of its first member.
    parts: [(usize, SampledSets); 2],
}

/// A kept pair: the member, the key of the other document, and the bits of the exact similarity, which sort like it.
type KeptPair = (usize, String, u64);

/// The pairs to find in a range of similarities.
struct Range {
    from: f64,
    to: f64,
    /// Number of documents of the sample that take part, from the first.
    sample: u64,
    /// The pairs whose codes do not agree, and the pairs whose codes agree.
    kept: [Reservoirs<KeptPair>; 2],
}

/// A search of a source for pairs.
pub struct Search {
    pub reader: Reader,
    pub config: Config,
    pub wanted: Sampling,
    pub lowest: f64,
}

impl Search {
    /// Compares a sample of the first source with all documents of the last one. Keeps documents with a decision in
    /// `documents`.
    pub fn run(
        &self,
        session: &Session,
        sources: &[Source],
        documents: &mut LabelDocuments,
        progress: &Progress,
    ) -> Result<Candidates> {
        let mut scopes = Scopes::new("scope", &common("scope", sources, Source::scope_types)?)?;
        let keyed = |source: &Source| KeyedRows::of(session, source, source.scopes.len());
        let rows = memory::collect(sources.iter().map(keyed))?;
        let rows = rows.into_iter().collect::<Result<Vec<_>>>()?;
        let mut found = Candidates::default();
        let (taken, omitted) = self.take(&rows[0], &mut scopes, documents, progress, &mut found)?;
        let mut members = self.members(taken, found.sample as usize)?;
        found.split = self.split(&mut members)?;
        let mut ranges = self.ranges(&found);
        progress.enter(JobPhase::Neighbors);
        let is_one = sources.len() == 1;
        let numbers = members.all.iter().map(|member| member.hash).zip(0..);
        let mut by_hash = AHashMap::new();
        for (hash, number) in numbers.filter(|_| is_one) {
            memory::insert_at(&mut by_hash, hash, number)?;
        }
        let (mut compared, mut empty) = (0, 0);
        let (mut bytes, mut hashes) = (Vec::new(), Vec::new());
        let of_last = rows[sources.len() - 1].each(|row| {
            compared += 1;
            progress.set(Counter::Compared, compared);
            self.reader.read(row.document, &mut bytes)?;
            if !is_one {
                documents.add(1, row.name, &bytes)?;
            }
            self.reader.hashes(&self.config, &bytes, &mut hashes)?;
            if hashes.is_empty() {
                empty += 1;
                return Ok(());
            }
            let Some(scope) = scopes.of(|place| row.scope(place))? else { return Ok(()) };
            let hash = self.hash(row.name);
            let own = by_hash.get(&hash).copied();
            let codes = Codes::of(self.reader, &bytes, Codes::MIN_LENGTH)?;
            let other = Other { hashes: &hashes, name: row.name, bytes: &bytes, hash, own, scope, codes };
            self.compare(&mut members, &other, &mut ranges, is_one)
        })?;
        let mut all_omitted = vec![of_last];
        all_omitted[0].add(Reason::Empty, empty);
        if !is_one {
            all_omitted.insert(0, omitted);
        }
        notice_omitted(&all_omitted, "");
        for range in ranges {
            self.finish(range, &members.all, is_one, &mut found)?;
        }
        let mut pairs = memory::collect(take(&mut found.pairs).into_iter().map(|pair| {
            let [a, b] = [&pair.keys[0], &pair.keys[1]].map(|key| self.hash(key));
            (pair, pair_hash(a.min(b), a.max(b)))
        }))?;
        pairs.sort_unstable_by(|(a, x), (b, y)| a.similarity.total_cmp(&b.similarity).then(x.cmp(y)));
        found.pairs = memory::collect(pairs.into_iter().map(|(pair, _)| pair))?;
        Ok(found)
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
    ) -> Result<(Vec<(String, Drawn)>, Omitted)> {
        let (mut bytes, room) = (Vec::new(), of_suggestion() / 2);
        let wanted = Sampling { count: self.wanted.count.saturating_mul(LARGER), ..self.wanted };
        let mut taken = LeastHashes::new(wanted, room);
        let omitted = rows.each(|row| {
            found.documents += 1;
            progress.set(Counter::Read, found.documents);
            self.reader.read(row.document, &mut bytes)?;
            documents.add(0, row.name, &bytes)?;
            let kept = SampledSets::BYTES * self.reader.form().elements(bytes.len()).min(2 * SampledSets::MOST);
            let cost = bytes.len() + row.name.len() + kept + MEMBER;
            if cost > room / PARTS {
                found.large += 1;
                return Ok(());
            }
            taken.add(row.name, cost, || {
                let scope = scopes.of(|place| row.scope(place))?;
                Ok(Drawn { bytes: memory::copied(&bytes)?, scope })
            })
        })?;
        let taken = taken.finish_distinct()?;
        found.larger = taken.len() as u64;
        found.sample = found.larger.min(self.wanted.count as u64);
        Ok((taken, omitted))
    }

    /// The ranges of similarities, each with its sample.
    fn ranges(&self, found: &Candidates) -> [Range; 2] {
        let most = (of_suggestion() / 4 / STRATA / KEPT).clamp(8, MOST_KEPT);
        let kept = || [Reservoirs::new(most), Reservoirs::new(most)];
        let range = |from, to, sample| Range { from, to, sample, kept: kept() };
        [range(self.lowest, found.split, found.sample), range(found.split, f64::INFINITY, found.larger)]
    }

    /// Makes the sets of the sample. The first `sample` documents are compared from the lowest similarity up.
    fn members(&self, taken: Vec<(String, Drawn)>, sample: usize) -> Result<Samples> {
        let (mut all, mut hashes) = (Vec::new(), Vec::new());
        let mut parts = [0, sample].map(|first| (first, SampledSets::default()));
        for (key, taken) in taken {
            self.reader.hashes(&self.config, &taken.bytes, &mut hashes)?;
            let (_, sets) = &mut parts[usize::from(all.len() >= sample)];
            sets.add(&hashes, &mut check_interrupts)?;
            let (hash, codes) = (self.hash(&key), Codes::of(self.reader, &taken.bytes, Codes::MIN_LENGTH)?);
            memory::push(&mut all, Sampled { key, hash, taken, codes })?;
        }
        parts.iter_mut().try_for_each(|(_, sets)| sets.finish())?;
        Ok(Samples { all, parts })
    }

    /// The similarity from which at most [`MANY`] pairs of the sample are, rounded up to 0.05.
    fn split(&self, Samples { all, parts }: &mut Samples) -> Result<f64> {
        let [(_, sets), (end, _)] = parts;
        let (mut similarities, mut hashes) = (Vec::new(), Vec::new());
        for (number, member) in all.iter().take(*end).enumerate() {
            self.reader.hashes(&self.config, &member.taken.bytes, &mut hashes)?;
            let similar = sets.compare(&hashes, SPLIT, 0.0, &mut check_interrupts)?.iter();
            let before = similar.filter(|similar| similar.member < number);
            before.map(|similar| similar.similarity).try_for_each(|each| memory::push(&mut similarities, each))?;
        }
        similarities.sort_unstable_by(|a, b| b.total_cmp(a));
        let split = similarities.get(MANY).map_or(SPLIT, |similarity| (similarity * 20.0).ceil() / 20.0);
        Ok(split.max(self.lowest))
    }

    /// Compares a document by its hashes with all members, and keeps pairs in their ranges.
    fn compare(&self, members: &mut Samples, other: &Other, ranges: &mut [Range; 2], is_one: bool) -> Result<()> {
        let Samples { all, parts } = members;
        for (part, (first, sets)) in parts.iter_mut().enumerate() {
            let least = ranges[part].from;
            for similar in sets.compare(other.hashes, least, SampledSets::ERROR, &mut check_interrupts)? {
                let SimilarMember { member, similarity, is_exact } = *similar;
                let number = *first + member;
                let member = &all[number];
                // A pair of two members is found twice, and counts once.
                let is_met_again = other.own.is_some_and(|own| own <= number);
                if is_met_again || member.taken.scope != Some(other.scope) {
                    continue;
                }
                let (a, b) = (member.hash, other.hash);
                let hash = if is_one { pair_hash(a.min(b), a.max(b)) } else { pair_hash(a, b) };
                let agrees = usize::from(member.codes.agree(&other.codes));
                let slack = if is_exact { 0.0 } else { SampledSets::ERROR };
                for Range { from, to, kept, .. } in &mut ranges[part..] {
                    let is_near = *from < *to && (*from - slack..*to + slack).contains(&similarity);
                    if is_near && kept[agrees].wants(similarity, hash) {
                        let exact = if is_exact { similarity } else { self.exact(&member.taken.bytes, other.bytes)? };
                        let pair = (number, memory::owned(other.name)?, exact.to_bits());
                        kept[agrees].put(similarity, hash, pair)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The similarity of two documents.
    fn exact(&self, a: &[u8], b: &[u8]) -> Result<f64> {
        let [a, b] = [a, b].map(|bytes| self.reader.set(&self.config, bytes));
        Ok(a?.jaccard(&b?).unwrap_or(0.0))
    }

    /// Weights the pairs of a range.
    fn finish(&self, range: Range, members: &[Sampled], is_one: bool, found: &mut Candidates) -> Result<()> {
        let Range { from, to, sample, kept } = range;
        let (all, outside) = (found.documents as f64, (found.documents - sample) as f64);
        let drawn = match is_one {
            true => 1.0 - outside * (outside - 1.0).max(0.0) / (all * (all - 1.0)).max(1.0),
            false => sample as f64 / all.max(1.0),
        };
        for (agrees, kept) in [false, true].into_iter().zip(kept) {
            let is_inside = |bits: &u64| (from..to).contains(&f64::from_bits(*bits));
            for ((number, key, bits), weight) in kept.finish()?.into_iter().filter(|((.., bits), _)| is_inside(bits)) {
                let (similarity, weight) = (f64::from_bits(bits), weight / drawn);
                found.counts.add(similarity, weight);
                found.agreeing.add(similarity, if agrees { weight } else { 0.0 });
                let member = memory::owned(&members[number].key)?;
                let keys = if is_one { in_order(member, key) } else { [member, key] };
                memory::push(&mut found.pairs, Candidate { keys, similarity, agrees })?;
            }
        }
        Ok(())
    }
}

/// A document that is compared with the sample.
struct Other<'a> {
    name: &'a str,
    bytes: &'a [u8],
    hashes: &'a [u64],
    hash: u64,
    /// Its number in the sample.
    own: Option<usize>,
    scope: Scope,
    codes: Codes,
}

/// Two keys, the lower one first; integers by value.
fn in_order(a: String, b: String) -> [String; 2] {
    let is_less = match (a.parse::<i64>(), b.parse::<i64>()) {
        (Ok(a), Ok(b)) => a < b,
        _ => a < b,
    };
    if is_less { [a, b] } else { [b, a] }
}
