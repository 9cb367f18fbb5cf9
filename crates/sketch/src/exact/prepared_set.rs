//! Compares one set with many texts: the exact check of a query's candidates.
//!
//! The query's shingles are in a hash table, and a candidate's hashes are looked up as they are computed from its text.
//! A candidate of 1 kB takes two to three microseconds, or less if it soon turns out that it cannot reach the
//! threshold.
//!
//! A candidate with `m` shingles that are not among the query's `n` has a similarity of at most `n / (n + m)`. Beyond
//! `n (1 - t) / t` such misses it cannot reach the threshold `t`. So the distinct misses need no more entries than
//! that.
//!
//! A table takes 64 bytes for each element. So a large set is a sorted list with a directory, which takes 11 bytes for
//! each element. Many misses are a list that is sorted and cleared of repeats when it is full, of 16 bytes for each.

use std::ops::ControlFlow;

use super::directory::Directory;
use super::shingle_set::ShingleSet;
use crate::hash::mix::GOLDEN;
use crate::scheme::Scheme;
use crate::shingle::{CHUNK, append_elements, normalize_text, text_hashes};
use crate::simd::Level;
use crate::{Check, Config, Result, memory};

/// A set of shingles, prepared for comparison with texts.
///
/// ```
/// use minlsh_sketch::{Config, PreparedSet};
///
/// let config = Config::default();
/// let mut query = PreparedSet::from_text(&config, "abcdefgh", &mut || ())?;
/// assert_eq!(query.similarity(&config, "abcdefghi", 0.5, &mut || ())?, Some(0.8));
/// assert_eq!(query.similarity(&config, "something else", 0.5, &mut || ())?, None);
/// # Ok::<(), minlsh_sketch::Error>(())
/// ```
pub struct PreparedSet {
    len: usize,
    members: Elements,
    misses: Table,
    /// The misses, if the set is large or if more of them are tolerated than a table holds.
    many: Vec<u64>,
    /// Identifies the current candidate.
    stamp: u64,
    buffer: Vec<u64>,
}

/// The elements of the set. Those that the current candidate has are marked.
enum Elements {
    Table(Table),
    Sorted { elements: Vec<u64>, directory: Directory, seen: Vec<u64> },
}

/// Maximum number of elements or misses in a table, which then takes 16 MB.
const MOST_IN_TABLE: usize = 1 << 18;

impl PreparedSet {
    /// Prepares a set.
    pub fn new(set: ShingleSet) -> Result<Self> {
        let len = set.len();
        let members = if len > MOST_IN_TABLE {
            let elements = set.into_hashes();
            let directory = Directory::of(elements.iter().copied())?;
            Elements::Sorted { elements, directory, seen: memory::filled(0, len.div_ceil(BITS))? }
        } else {
            let mut table = Table::with_room(len)?;
            set.iter().for_each(|hash| {
                table.insert(hash, FIRST_STAMP);
            });
            Elements::Table(table)
        };
        let (misses, many, buffer) = (Table::with_room(0)?, Vec::new(), Vec::new());
        Ok(Self { len, members, misses, many, stamp: FIRST_STAMP, buffer })
    }

    /// Prepares the shingles of a text.
    pub fn from_text(config: &Config, text: &str, check: Check) -> Result<Self> {
        Self::new(ShingleSet::from_text(config, text, check)?)
    }

    /// True if it has no shingles. Then nothing is similar.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The exact Jaccard similarity with the shingles of a text, if it is at least `threshold`. `config` must be the
    /// set's. The result equals [`ShingleSet::jaccard`] bit for bit.
    ///
    /// # Complexity
    ///
    /// Linear in the length of the text, up to the point where the threshold is out of reach.
    pub fn similarity(&mut self, config: &Config, text: &str, threshold: f64, check: Check) -> Result<Option<f64>> {
        let text = normalize_text(config, text, check)?;
        let config = &config.with_scheme(Scheme::Fss);
        let level = Level::best();
        // A text has at most as many shingles as bytes.
        let Some(mut count) = self.start(text.len(), threshold)? else { return Ok(None) };
        let mut buffer = std::mem::take(&mut self.buffer);
        if config.bag() {
            buffer.clear();
            append_elements(config, level, &text, &mut buffer, check)?;
            self.pass_all(&buffer, &mut count, check);
        } else {
            memory::resize(&mut buffer, CHUNK, 0)?;
            let mut sink = |chunk: &mut [u64], _: Check| self.pass(chunk, &mut count);
            text_hashes(config, level, &text, &mut buffer[..CHUNK], check, &mut sink)?;
        }
        self.buffer = buffer;
        self.finish(&mut count);
        Ok(count.jaccard(self.len, threshold))
    }

    /// Like [`Self::similarity`], with a set that is given by the hashes of its elements, in any order and with any
    /// repeats.
    pub fn similarity_of(&mut self, hashes: &[u64], threshold: f64, check: Check) -> Result<Option<f64>> {
        let Some(mut count) = self.start(hashes.len(), threshold)? else { return Ok(None) };
        self.pass_all(hashes, &mut count, check);
        self.finish(&mut count);
        Ok(count.jaccard(self.len, threshold))
    }

    /// An upper bound of the number of other elements in a set with a similarity of at least `threshold`.
    pub fn tolerated(&self, threshold: f64) -> f64 {
        (self.len as f64 * (1.0 - threshold) / threshold * (1.0 + ROUNDING)).max(0.0)
    }

    /// Starts a candidate with at most `most` elements; `None` if it has too few.
    fn start(&mut self, most: usize, threshold: f64) -> Result<Option<Count>> {
        let len = self.len as f64;
        if self.len == 0 || (most as f64) < threshold * len * (1.0 - ROUNDING) {
            return Ok(None);
        }
        let tolerated = self.tolerated(threshold);
        // A candidate has at most as many misses as elements. One more miss than tolerated shows that there are too
        // many.
        let tolerated = if tolerated < most as f64 { tolerated as usize + 1 } else { most };
        self.many.clear();
        let in_table = matches!(self.members, Elements::Table(_)) && tolerated < MOST_IN_TABLE;
        if !in_table {
            // Each time that it is sorted, half of it at least is new.
            let room = most.min(2 * tolerated) + STRIDE;
            memory::reserve(&mut self.many, room)?;
        } else if self.misses.room() < tolerated + 1 {
            self.misses = Table::with_room(tolerated + 1)?;
        }
        self.stamp += 1;
        if let Elements::Sorted { seen, .. } = &mut self.members {
            seen.fill(0);
        }
        Ok(Some(Count { shared: 0, misses: 0, tolerated, in_table }))
    }

    /// Counts all elements of the candidate, or stops when there are too many misses.
    fn pass_all(&mut self, hashes: &[u64], count: &mut Count, check: Check) {
        for part in hashes.chunks(CHUNK) {
            check();
            if self.pass(part, count).is_break() {
                return;
            }
        }
    }

    /// Counts some elements of the candidate; breaks off when there are too many misses.
    fn pass(&mut self, hashes: &[u64], count: &mut Count) -> ControlFlow<()> {
        let Self { members, misses, stamp, .. } = self;
        let (true, Elements::Table(members)) = (count.in_table, members) else {
            return self.pass_many(hashes, count);
        };
        for part in hashes.chunks(STRIDE) {
            for &hash in part {
                match members.find(hash) {
                    Some(found) => {
                        count.shared += usize::from(*found != *stamp);
                        *found = *stamp;
                    }
                    None if count.misses > count.tolerated => (),
                    None => count.misses += usize::from(misses.insert(hash, *stamp)),
                }
            }
            if count.misses > count.tolerated {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    /// Does the same if the misses are a list.
    fn pass_many(&mut self, hashes: &[u64], count: &mut Count) -> ControlFlow<()> {
        for part in hashes.chunks(STRIDE) {
            if self.many.len() + STRIDE > self.many.capacity() {
                self.finish(count);
                if count.misses > count.tolerated {
                    return ControlFlow::Break(());
                }
            }
            for &hash in part {
                match self.members.see(hash, self.stamp) {
                    Some(is_new) => count.shared += usize::from(is_new),
                    None => self.many.push(hash),
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Counts the distinct misses, if they are a list.
    fn finish(&mut self, count: &mut Count) {
        if !count.in_table {
            self.many.sort_unstable();
            self.many.dedup();
            count.misses = self.many.len();
        }
    }
}

impl Elements {
    /// Marks an element. Returns true if this candidate did not have it before, and `None` if it is not there.
    fn see(&mut self, hash: u64, stamp: u64) -> Option<bool> {
        match self {
            Self::Table(table) => table.find(hash).map(|found| std::mem::replace(found, stamp) != stamp),
            Self::Sorted { elements, directory, seen } => {
                let near = directory.range(hash);
                let place = near.start + elements[near].binary_search(&hash).ok()?;
                let (word, bit) = (&mut seen[place / BITS], 1 << (place % BITS));
                let is_new = *word & bit == 0;
                *word |= bit;
                Some(is_new)
            }
        }
    }
}

/// Elements between two checks of the misses: few enough that they fit.
const STRIDE: usize = 16;

const BITS: usize = u64::BITS as usize;

/// The smallest stamp; 0 marks an empty slot.
const FIRST_STAMP: u64 = 1;

/// More than the relative rounding error of a product.
const ROUNDING: f64 = 1e-12;

/// The counts of a candidate's hashes.
struct Count {
    shared: usize,
    misses: usize,
    tolerated: usize,
    /// True if distinct misses are in a table.
    in_table: bool,
}

impl Count {
    fn jaccard(self, len: usize, threshold: f64) -> Option<f64> {
        let jaccard = self.shared as f64 / (len + self.misses) as f64;
        (self.misses <= self.tolerated && self.shared + self.misses > 0 && jaccard >= threshold).then_some(jaccard)
    }
}

/// Hashes with stamps, each in the first free slot from its own on; three of four slots are always free. In the table
/// of misses an entry with another stamp counts as free, so the table is not cleared.
struct Table {
    places: Vec<(u64, u64)>,
    shift: u32,
}

impl Table {
    fn with_room(count: usize) -> Result<Self> {
        let places = (4 * count).next_power_of_two().max(4);
        let shift = u64::BITS - places.ilog2();
        Ok(Self { places: memory::filled((0, 0), places)?, shift })
    }

    fn room(&self) -> usize {
        self.places.len() / 4
    }

    /// Given hashes need not be random: the multiplication spreads them.
    #[inline(always)]
    fn place(&self, hash: u64) -> usize {
        (hash.wrapping_mul(GOLDEN) >> self.shift) as usize
    }

    /// The stamp of a hash, in a table whose entries are all in use.
    #[inline(always)]
    fn find(&mut self, hash: u64) -> Option<&mut u64> {
        let mask = self.places.len() - 1;
        let mut place = self.place(hash);
        loop {
            let (found, stamp) = self.places[place & mask];
            if stamp == 0 {
                return None;
            }
            if found == hash {
                return Some(&mut self.places[place & mask].1);
            }
            place += 1;
        }
    }

    /// Adds a hash; true if it is new for this stamp. There must be room.
    #[inline(always)]
    fn insert(&mut self, hash: u64, stamp: u64) -> bool {
        let mask = self.places.len() - 1;
        let mut place = self.place(hash);
        loop {
            let entry = &mut self.places[place & mask];
            if entry.1 != stamp {
                *entry = (hash, stamp);
                return true;
            }
            if entry.0 == hash {
                return false;
            }
            place += 1;
        }
    }
}
