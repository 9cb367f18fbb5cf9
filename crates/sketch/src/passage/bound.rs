//! Bounds the texts that can contain a passage, by an index of fingerprints. It selects entries to look up, so that
//! every text that contains enough of the passage has one of them. It also shows how much a text without some entries
//! can contain. Frequent entries are not left out, so nothing is missed.

use std::ops::Range;

use super::characters::Characters;
use super::winnow::{Fingerprints, Stretch};
use crate::hash::sort_by_key;
use crate::{Check, Result, memory};

/// Minimum number of characters that are the share `coverage` of `length`. For 0.8 * 5, which is 4.000000001, it is 4.
pub fn needed(coverage: f64, length: usize) -> usize {
    ((coverage * length as f64 - 1e-9).ceil() as usize).clamp(1, length.max(1))
}

/// The entries of a passage, and the search by them.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    stretches: Vec<Stretch>,
    /// For each stretch, its position among the distinct entries.
    place: Vec<u32>,
    entries: Vec<u64>,
    length: usize,
    t: usize,
    /// Number of characters that a text must contain; `None` if it must contain every window.
    need: Option<usize>,
}

impl Bound {
    /// The search for a passage in an index of windows of `t` characters, which the passage has at least. Windows of
    /// `min_match` characters, at least `t`, count for coverage.
    pub fn new(passage: &Characters, coverage: f64, min_match: usize, t: usize, check: Check) -> Result<Self> {
        let stretches = Fingerprints::new()?.stretches(passage, t, check)?;
        let mut entries = memory::collect(stretches.iter().map(|stretch| stretch.entry))?;
        sort_by_key(&mut entries, check);
        entries.dedup();
        let mut place = memory::with_capacity(stretches.len())?;
        for part in stretches.chunks(4096) {
            check();
            place.extend(part.iter().map(|stretch| entries.partition_point(|entry| *entry < stretch.entry) as u32));
        }
        let length = passage.len();
        let need = (length > min_match).then(|| needed(coverage, length));
        Ok(Self { stretches, place, entries, length, t, need })
    }

    /// The distinct entries of the passage, ascending.
    pub fn entries(&self) -> &[u64] {
        &self.entries
    }

    /// The cheapest set of entries such that every text with enough of the passage has one of them, as positions in
    /// [`Self::entries`]. `cost` returns `None` for an entry that must not be looked up. `None` if there is no set
    /// without such entries.
    pub fn cheapest(&self, cost: impl Fn(usize) -> Option<u64>) -> Result<Option<Vec<usize>>> {
        let mut least: Option<(u64, Range<usize>)> = None;
        let mut costs = memory::filled(0_u64, self.stretches.len() + 1)?;
        let mut refused = memory::filled(0_u32, self.stretches.len() + 1)?;
        for (i, place) in self.place.iter().enumerate() {
            let cost = cost(*place as usize);
            costs[i + 1] = costs[i] + cost.unwrap_or(0);
            refused[i + 1] = refused[i] + u32::from(cost.is_none());
        }
        let mut to = 0;
        for from in 0..self.stretches.len() {
            // Characters out of reach increase with each stretch.
            to = to.max(from + 1);
            while to < self.stretches.len() && !self.is_enough(from..to) {
                to += 1;
            }
            if !self.is_enough(from..to) {
                break;
            }
            let total = costs[to] - costs[from];
            if refused[to] == refused[from] && least.as_ref().is_none_or(|(least, _)| total < *least) {
                least = Some((total, from..to));
            }
        }
        let Some((_, range)) = least else { return Ok(None) };
        let mut places = memory::collect(self.place[range].iter().map(|place| *place as usize))?;
        places.sort_unstable();
        places.dedup();
        Ok(Some(places))
    }

    /// True if a text without any of these stretches contains less than is needed.
    fn is_enough(&self, range: Range<usize>) -> bool {
        let Some(need) = self.need else { return true };
        let (from, to) = (self.stretches[range.start].from, self.stretches[range.end - 1].to);
        // The characters that lie only in these windows.
        let first = if from == 0 { 0 } else { from + self.t - 1 };
        let end = if range.end == self.stretches.len() { self.length } else { to };
        end.saturating_sub(first) + need > self.length
    }

    /// True if a text can contain enough of the passage if it lacks the entries for which `absent` is true, by their
    /// positions in [`Self::entries`].
    pub fn is_possible(&self, absent: impl Fn(usize) -> bool) -> bool {
        match self.need {
            None => !(0..self.entries.len()).any(absent),
            Some(need) => {
                let (mut covered, mut end) = (0, 0);
                for (stretch, place) in self.stretches.iter().zip(&self.place) {
                    if !absent(*place as usize) {
                        let to = stretch.to + self.t - 1;
                        covered += to - end.max(stretch.from);
                        end = to;
                    }
                }
                covered >= need
            }
        }
    }
}
