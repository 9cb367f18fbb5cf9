//! The part of documents that counts, by the definition: every shingle counted in every document that judges.

use std::collections::{BTreeMap, BTreeSet};

use sketch::{Config, Unit};

use crate::documents::Drawn;

/// More than this many percent of all documents, and of an origin at its first level.
const LEVELS: std::ops::RangeInclusive<usize> = 20..=70;

/// Documents with their origins, and the numbers of shingles that are enough.
pub struct Judging<'a> {
    /// The documents of each origin that have different texts, by their fingerprints.
    origins: BTreeMap<usize, BTreeMap<u64, &'a Drawn>>,
    plenty: usize,
    few: usize,
    fewest: usize,
}

/// The shingles that more than `percent` of some documents have, and at least five.
fn shared(documents: &[&Drawn], percent: usize) -> BTreeSet<u64> {
    let mut counts = BTreeMap::new();
    for hash in documents.iter().flat_map(|drawn| drawn.elements()) {
        *counts.entry(hash).or_insert(0) += 1;
    }
    let is_shared = |count: usize| count >= 5 && 100 * count > percent * documents.len();
    counts.into_iter().filter(|(_, count)| is_shared(*count)).map(|(hash, _)| hash).collect()
}

impl<'a> Judging<'a> {
    /// Documents, each with its origin.
    pub fn new(documents: impl Iterator<Item = (usize, &'a Drawn)>, config: &Config, are_sets: bool) -> Self {
        let mut origins: BTreeMap<usize, BTreeMap<u64, &Drawn>> = BTreeMap::new();
        for (origin, drawn) in documents {
            origins.entry(origin).or_default().insert(drawn.fingerprint(), drawn);
        }
        let by_characters = config.unit() == Unit::Char && !are_sets;
        let [plenty, few, fewest] = if by_characters { [150, 60, 20] } else { [30, 12, 4] };
        Self { origins, plenty, few, fewest }
    }

    /// The shingles that are common to the documents of all origins.
    fn common(&self) -> BTreeSet<u64> {
        let having = |each: usize| -> Vec<Vec<(u64, &Drawn)>> {
            let wanted = |own: &&BTreeMap<u64, &'a Drawn>| own.len() >= each.max(5);
            let chosen =
                |own: &BTreeMap<u64, &'a Drawn>| own.iter().take(each).map(|(hash, drawn)| (*hash, *drawn)).collect();
            let mut all: Vec<Vec<(u64, &Drawn)>> = self.origins.values().filter(wanted).map(chosen).collect();
            all.sort_by_key(|own| own.iter().map(|(hash, _)| *hash).collect::<Vec<_>>());
            all.truncate(200 / each);
            all
        };
        let mut best = Vec::new();
        for each in 1..=200 {
            let chosen = having(each);
            if chosen.len() >= 5 && chosen.len() * each > best.len() {
                best = chosen.into_iter().flatten().map(|(_, drawn)| drawn).collect();
            }
        }
        shared(&best, 20)
    }

    /// True if three of four documents keep enough without some shingles.
    fn keep_enough(&self, documents: &[&Drawn], without: &BTreeSet<u64>) -> bool {
        let keeps = |drawn: &&&Drawn| {
            let all = drawn.elements();
            let wanted = (4 * all.len()).div_ceil(5).max(self.fewest).min(self.plenty);
            all.difference(without).count() >= wanted.min(all.len())
        };
        4 * documents.iter().filter(keeps).count() >= 3 * documents.len()
    }

    /// For each origin, the shingles that do not count.
    pub fn frames(&self) -> BTreeMap<usize, BTreeSet<u64>> {
        let common = self.common();
        let frame = |own: &BTreeMap<u64, &Drawn>| {
            let documents: Vec<&Drawn> = own.values().copied().take(200).collect();
            if documents.len() < 5 {
                return common.clone();
            }
            let at = |level| shared(&documents, level).union(&common).copied().collect();
            let mut levels = LEVELS.step_by(5).map(at);
            levels.find(|frame| self.keep_enough(&documents, frame)).unwrap_or_else(|| at(*LEVELS.end()))
        };
        self.origins.iter().map(|(origin, own)| (*origin, frame(own))).collect()
    }

    /// Returns what counts of a document without `frame`; `None` if it is compared for equality only.
    pub fn counted(&self, drawn: &Drawn, frame: &BTreeSet<u64>) -> Option<Vec<u64>> {
        let all = drawn.elements();
        let left: Vec<u64> = all.difference(frame).copied().collect();
        let is_enough = left.len() == all.len()
            || left.len() >= self.few
            || left.len() >= self.fewest && 5 * left.len() >= 4 * all.len();
        is_enough.then_some(left)
    }
}
