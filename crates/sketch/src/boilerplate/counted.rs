//! The part of a document that counts.

use super::documents::Shingled;
use crate::hash::count_distinct;
use crate::simd::{Level, places_of};
use crate::{Check, Result, memory};

/// A document is no more than boilerplate if fewer shingles count, and fewer than one of so many.
const LITTLE: usize = 20;

/// Moves of hashes to their other places before one is given none.
const MOVES: usize = 100;

/// The shingles of an origin that do not count.
///
/// Each hash is at one of two places of a table (cuckoo hashing: Pagh, Rodler 2004). Both are read without a branch,
/// since whether a shingle counts is as good as random. The table is small: documents of different origins alternate,
/// and each time it is fetched from memory.
pub struct Boilerplate {
    /// Two of five places are taken.
    table: Vec<u64>,
    /// The number in free places, which no hash is.
    free: u64,
    /// Hashes without a place: hardly ever one.
    others: Vec<u64>,
}

impl Boilerplate {
    /// The shingles of such hashes, which ascend.
    pub fn new(hashes: &[u64]) -> Result<Self> {
        // The least number that no hash is.
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
            // Whoever was there goes to the other place.
            hash = std::mem::replace(&mut self.table[at], hash);
            if hash == self.free {
                return Ok(());
            }
            let [first, second] = places_of(hash, self.table.len());
            at = if at == first { second } else { first };
        }
        memory::push(&mut self.others, hash)
    }

    /// The number of places for so many shingles.
    fn places(count: usize) -> usize {
        (count / 2 * 5 + 4).min(u32::MAX as usize)
    }

    /// The number of bytes that so many shingles take.
    pub fn bytes(count: usize) -> usize {
        Self::places(count) * size_of::<u64>()
    }

    /// Has the processor fetch it while a document is cut into shingles.
    fn fetch(&self) {
        /// Words that the cache holds beside a document.
        const FEW: usize = 4096;
        Level::best().fetch(&self.table[..self.table.len().min(FEW)]);
    }

    /// Removes its shingles from `hashes`.
    fn leave_out(&self, hashes: &mut Vec<u64>, check: Check) {
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

/// Replaces `out` by the hashes of what counts of a document, with repeats: all, or those without the boilerplate of
/// its origin. There are some if it has shingles.
pub fn counted(
    boilerplate: Option<&Boilerplate>,
    content: Shingled,
    out: &mut Vec<u64>,
    check: Check,
) -> Result<()> {
    out.clear();
    boilerplate.iter().for_each(|boilerplate| boilerplate.fetch());
    content.hashes(out, check)?;
    let Some(boilerplate) = boilerplate else { return Ok(()) };
    boilerplate.leave_out(out, check);
    // Hashes that end differently are distinct, and of so many nearly always enough do.
    let ends = out.iter().take(4 * LITTLE).fold(0_u64, |ends, hash| ends | 1 << (hash % 64));
    if ends.count_ones() as usize >= LITTLE {
        return Ok(());
    }
    let left = count_distinct(out, check)?;
    if left < LITTLE {
        let mut all = Vec::new();
        content.hashes(&mut all, check)?;
        if left * LITTLE < count_distinct(&mut all, check)? {
            out.clear();
            out.extend(content.fingerprint(check)?);
        }
    }
    Ok(())
}
