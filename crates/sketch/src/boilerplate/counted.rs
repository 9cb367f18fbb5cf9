//! The part of a document that counts.

use super::documents::Shingled;
use crate::hash::count_distinct;
use crate::simd::{BLOCK, Level, NOTHING_PACKED, place_in_filter};
use crate::{Check, Result, memory};

/// A document is no more than boilerplate if fewer shingles count, and fewer than one of so many.
const LITTLE: usize = 20;

/// Moves of hashes to their other places before one is given none.
const MOVES: usize = 100;

/// The shingles of an origin that do not count.
///
/// Each hash is in one of two buckets of two (cuckoo hashing: Pagh, Rodler 2004; Dietzfelbinger, Weidling 2007). All
/// four places are read without a branch, since whether a shingle counts is as good as random. Most shingles count, so
/// a bit filter that fits the cache is asked first. Both are small: documents of different origins alternate, and each
/// time they are fetched from memory.
pub struct Boilerplate {
    /// One bit of so many is set that most of those of other hashes are not.
    bits: Vec<u64>,
    /// One of five places or more is free.
    buckets: Vec<[u64; 2]>,
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
        let buckets = memory::filled([free; 2], Self::buckets(hashes.len()))?;
        let bits = memory::filled(0, Self::words(hashes.len()))?;
        let mut own = Self { bits, buckets, free, others: Vec::new() };
        hashes.iter().try_for_each(|hash| own.add(*hash))?;
        Ok(own)
    }

    fn add(&mut self, mut hash: u64) -> Result<()> {
        let (word, bit) = place_in_filter(hash, &self.bits);
        self.bits[word] |= bit;
        let mut at = self.buckets_of(hash)[0];
        for moves in 0..MOVES {
            let bucket = &mut self.buckets[at];
            if let Some(place) = bucket.iter_mut().find(|place| **place == self.free) {
                *place = hash;
                return Ok(());
            }
            // Whoever was there goes to the other bucket.
            hash = std::mem::replace(&mut bucket[moves / 2 % 2], hash);
            let [first, second] = self.buckets_of(hash);
            at = if at == first { second } else { first };
        }
        memory::push(&mut self.others, hash)
    }

    /// The two buckets of a hash: by its lower half, and by its upper.
    #[inline(always)]
    fn buckets_of(&self, hash: u64) -> [usize; 2] {
        let count = self.buckets.len() as u64;
        [hash & u64::from(u32::MAX), hash >> 32].map(|half| ((half * count) >> 32) as usize)
    }

    fn buckets(count: usize) -> usize {
        count / 8 * 5 + 4
    }

    /// The number of words of bits for so many shingles: sixteen bits for each.
    fn words(count: usize) -> usize {
        (count / 4).next_power_of_two()
    }

    /// The number of bytes that so many shingles take.
    pub fn bytes(count: usize) -> usize {
        (2 * Self::buckets(count) + Self::words(count)) * size_of::<u64>()
    }

    /// Has the processor fetch it while a document is cut into shingles.
    fn fetch(&self) {
        /// Words that the cache holds beside a document.
        const FEW: usize = 2048;
        let level = Level::best();
        level.fetch(&self.bits[..self.bits.len().min(FEW)]);
        level.fetch(&self.buckets[..self.buckets.len().min(FEW / 2)]);
    }

    /// True if a shingle is in it.
    #[inline(always)]
    pub fn has(&self, hash: u64) -> bool {
        let [[a, b], [c, d]] = self.buckets_of(hash).map(|bucket| self.buckets[bucket]);
        let is_there = (a == hash) | (b == hash) | (c == hash) | (d == hash);
        (is_there & (hash != self.free)) | self.others.contains(&hash)
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
    leave_out(boilerplate, out, check);
    if has_few(out) {
        let left = count_distinct(out, check)?;
        let mut all = Vec::new();
        content.hashes(&mut all, check)?;
        if left * LITTLE < count_distinct(&mut all, check)? {
            out.clear();
            out.extend(content.fingerprint(check)?);
        }
    }
    Ok(())
}

fn leave_out(boilerplate: &Boilerplate, hashes: &mut Vec<u64>, check: Check) {
    let (level, mut doubtful) = (Level::best(), NOTHING_PACKED);
    let (mut start, mut count) = (0, 0);
    while start < hashes.len() {
        check();
        let end = hashes.len().min(start + BLOCK);
        let (others, doubts) =
            level.part(&mut hashes[start..end], &boilerplate.bits, &mut doubtful);
        hashes.copy_within(start..start + others, count);
        count += others;
        // There is room, for these were read before.
        for &hash in &doubtful[..doubts] {
            hashes[count] = hash;
            count += usize::from(!boilerplate.has(hash));
        }
        start = end;
    }
    hashes.truncate(count);
}

/// True if there are fewer distinct hashes than make a document by themselves.
fn has_few(hashes: &[u64]) -> bool {
    // Hashes that end differently are distinct, and of so many nearly always enough do.
    let ends = hashes.iter().take(4 * LITTLE).fold(0_u64, |ends, hash| ends | 1 << (hash % 64));
    if ends.count_ones() as usize >= LITTLE {
        return false;
    }
    let mut seen = [0; LITTLE];
    let mut count = 0;
    for &hash in hashes {
        if !seen[..count].contains(&hash) {
            seen[count] = hash;
            count += 1;
        }
        if count == LITTLE {
            return false;
        }
    }
    true
}
