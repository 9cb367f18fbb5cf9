//! A bound on the texts that can have a passage, by an index of fingerprints: which entries to look up, so that every
//! text that has enough of the passage has one of them, and how much a text can have that lacks some. No frequent entry
//! is left out, so nothing is missed.

use std::ops::Range;

use super::characters::Characters;
use super::winnow::{Fingerprints, Stretch};
use crate::hash::sort_by_key;
use crate::{Check, Result, memory};

/// The least number of characters, of a passage of `length`, that is this share of it. Of 0.8 * 5,
/// which is 4.000000001, it is 4.
pub fn needed(coverage: f64, length: usize) -> usize {
    ((coverage * length as f64 - 1e-9).ceil() as usize).clamp(1, length.max(1))
}

/// The entries of a passage, and the search that they allow.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    stretches: Vec<Stretch>,
    /// Of each stretch, its place among the distinct entries.
    place: Vec<u32>,
    entries: Vec<u64>,
    length: usize,
    t: usize,
    /// The number of characters that a text must have. `None` asks for every window.
    need: Option<usize>,
}

impl Bound {
    /// The search for a passage in an index of windows of `t` characters, as many as the passage
    /// has at least. The windows that count for coverage are of `min_match`, at least `t`.
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

    /// The distinct entries of the passage, in ascending order.
    pub fn entries(&self) -> &[u64] {
        &self.entries
    }

    /// The cheapest entries, by their places in [`Self::entries`], of which every text that has enough of the passage
    /// has one. `cost` is `None` for an entry that cannot be asked for; `None` if it takes such entries.
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
            // What is out of reach grows with each stretch that is added.
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

    /// A text without any of these stretches has less than is needed.
    fn is_enough(&self, range: Range<usize>) -> bool {
        let Some(need) = self.need else { return true };
        let (from, to) = (self.stretches[range.start].from, self.stretches[range.end - 1].to);
        // Characters that lie in no other windows.
        let first = if from == 0 { 0 } else { from + self.t - 1 };
        let end = if range.end == self.stretches.len() { self.length } else { to };
        end.saturating_sub(first) + need > self.length
    }

    /// True if a text can have enough of the passage that has only those entries, by their places
    /// in [`Self::entries`], that are not `absent`.
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
