//! The part of a document that counts.

use std::sync::Arc;

use super::documents::Shingled;
use super::rule::Enough;
use crate::hash::count_distinct;
use crate::hash::mix::{GOLDEN, mix64};
use crate::simd::{Level, places_of};
use crate::{Check, Result, memory};

/// Maximum number of moves (cuckoo evictions) before a hash gets no slot.
const MOVES: usize = 100;

/// A set of shingles that do not count.
///
/// Each hash is in one of two slots of a table (cuckoo hashing: Pagh, Rodler 2004). Both are read without a branch,
/// because a branch on whether a shingle counts would be unpredictable. The table is small: documents of different
/// origins alternate, and each time it is fetched from memory.
pub struct Boilerplate {
    /// Two of five slots are taken.
    table: Vec<u64>,
    /// The value of free slots, which no hash has.
    free: u64,
    /// Hashes without a slot: rarely one.
    others: Vec<u64>,
}

impl Boilerplate {
    /// The set of `hashes`, which ascend.
    pub fn new(hashes: &[u64]) -> Result<Self> {
        // The least number that is not a hash.
        let free = (0..).zip(hashes).find(|(number, hash)| number != *hash);
        let free = free.map_or(hashes.len() as u64, |(number, _)| number);
        let table = memory::filled(free, Self::places(hashes.len()))?;
        let mut own = Self { table, free, others: Vec::new() };
        hashes.iter().try_for_each(|hash| own.add(*hash))?;
        Ok(own)
    }

    fn add(&mut self, mut hash: u64) -> Result<()> {
        let mut at = places_of(hash, self.table.len())[0];
        for _ in 0..MOVES {
            // The hash that was there moves to its other slot.
            hash = std::mem::replace(&mut self.table[at], hash);
            if hash == self.free {
                return Ok(());
            }
            let [first, second] = places_of(hash, self.table.len());
            at = if at == first { second } else { first };
        }
        memory::push(&mut self.others, hash)
    }

    /// Number of slots for `count` shingles.
    fn places(count: usize) -> usize {
        (count / 2 * 5 + 4).min(u32::MAX as usize)
    }

    /// Bytes for `count` shingles.
    pub fn bytes(count: usize) -> usize {
        Self::places(count) * size_of::<u64>()
    }

    /// Its size in bytes.
    pub fn size(&self) -> usize {
        size_of_val(&*self.table)
    }

    /// Prefetches the table while a document is split into shingles.
    fn fetch(&self) {
        /// Size in words up to which the table stays cached together with a document.
        const FEW: usize = 4096;
        Level::best().fetch(&self.table[..self.table.len().min(FEW)]);
    }

    /// Removes its shingles from `hashes`, and keeps the order of the others.
    pub(super) fn leave_out(&self, hashes: &mut Vec<u64>, check: Check) {
        /// Hashes between two calls of `check`.
        const RUN: usize = 1 << 16;
        let mut count = 0;
        for start in (0..hashes.len()).step_by(RUN) {
            check();
            let end = hashes.len().min(start + RUN);
            let kept = Level::best().absent(&mut hashes[start..end], &self.table, self.free);
            hashes.copy_within(start..start + kept, count);
            count += kept;
        }
        hashes.truncate(count);
        if !self.others.is_empty() {
            hashes.retain(|hash| !self.others.contains(hash));
        }
    }
}

/// The shingles that do not count for documents of an origin. For a document without an origin all shingles count.
#[derive(Clone, Default)]
pub struct Frame {
    /// The shingles that many documents of the origin share.
    pub of_origin: Option<Arc<Boilerplate>>,
    /// The shingles that many documents of all origins share.
    pub of_all: Option<Arc<Boilerplate>>,
}

impl Frame {
    fn parts(&self) -> impl Iterator<Item = &Boilerplate> {
        self.of_origin.iter().chain(&self.of_all).map(|part| &**part)
    }

    fn leave_out(&self, hashes: &mut Vec<u64>, check: Check) {
        self.parts().for_each(|part| part.leave_out(hashes, check));
    }
}

/// The extent to which a document counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountedPart {
    /// Number of its shingles.
    pub shingles: usize,
    /// Number of shingles that count.
    pub counted: usize,
    /// True if too few shingles count: the document is compared for equality only.
    pub by_equality: bool,
}

impl CountedPart {
    /// Number of hashes that [`counted()`] returns.
    pub fn hashes(self) -> usize {
        if self.by_equality { 1 } else { self.counted }
    }

    /// True if less than a third of a document is compared.
    pub fn is_small(self) -> bool {
        !self.by_equality && 3 * self.counted < self.shingles
    }
}

/// True if at least `count` of `hashes` are certainly distinct.
pub(super) fn has_distinct(hashes: &[u64], count: usize) -> bool {
    /// Words in a set of the low bits of hashes.
    const WORDS: usize = 16;
    let mut ends = [0_u64; WORDS];
    for hash in hashes.iter().take(4 * count) {
        ends[(hash / 64) as usize % WORDS] |= 1 << (hash % 64);
    }
    ends.iter().map(|ends| ends.count_ones() as usize).sum::<usize>() >= count
}

/// Replaces `out` by the hashes of the counted part of a document, with repeats. There are some if it has shingles.
/// Returns how much counts, with repeats.
///
/// A document that is compared for equality only has one number, which is equal for equal texts. It is mixed again, so
/// that it differs from the hashes of shingles.
pub fn counted(
    frame: &Frame,
    enough: Enough,
    content: Shingled,
    out: &mut Vec<u64>,
    check: Check,
) -> Result<CountedPart> {
    out.clear();
    frame.parts().for_each(Boilerplate::fetch);
    content.hashes(out, check)?;
    let shingles = out.len();
    frame.leave_out(out, check);
    let mut part = CountedPart { shingles, counted: out.len(), by_equality: false };
    if part.counted == shingles || has_distinct(out, enough.few) {
        return Ok(part);
    }
    let counted = count_distinct(out, check)?;
    if counted < enough.few {
        let mut all = Vec::new();
        content.hashes(&mut all, check)?;
        if !enough.suffices(count_distinct(&mut all, check)?, counted) {
            part.by_equality = true;
            out.clear();
            out.extend(content.fingerprint(check)?.map(|hash| mix64(hash.wrapping_add(GOLDEN))));
        }
    }
    Ok(part)
}

/// Counts the distinct shingles of a document, in all and without boilerplate.
pub fn distinct_part(frame: &Frame, enough: Enough, content: Shingled, check: Check) -> Result<CountedPart> {
    let mut hashes = Vec::new();
    content.hashes(&mut hashes, check)?;
    let shingles = count_distinct(&mut hashes, check)?;
    frame.leave_out(&mut hashes, check);
    let counted = count_distinct(&mut hashes, check)?;
    Ok(CountedPart { shingles, counted, by_equality: !enough.suffices(shingles, counted) })
}
