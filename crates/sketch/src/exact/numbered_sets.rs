//! Exact similarities of sets, each small: sets of numbers instead of hashes.
//!
//! A shingle gets a number when it first comes. A set is a bit set of these numbers, of which only the words that are
//! not empty are kept. Shingles that came together have numbers in a row, and documents that are alike share most of
//! their words. So two sets of 8,000 shingles are compared in some hundred steps, instead of the 16,000 of a merge of
//! hashes, and take a fraction of the memory.
//!
//! When memory is full, all sets are forgotten, and numbers start again.

use super::shingle_set::add_to_hash;
use crate::error::Error;
use crate::memory;
use crate::simd::Level;

const BITS: usize = u64::BITS as usize;

/// Places of the table of numbers, at first.
const FIRST: usize = 1 << 12;

/// Places of a table, and words, for which room is kept when all sets are forgotten.
const KEPT: usize = 1 << 16;

/// In a table with more places than the second-level cache holds, the place of a hash is fetched this many hashes
/// ahead. That takes a quarter of the time with two million numbers, and would slow smaller tables.
const CACHED: usize = 1 << 17;
const AHEAD: usize = 16;

/// Words that are compared between two looks at what can still be shared.
const STRIDE: usize = 64;

/// Sets by document, as far as memory goes.
///
/// ```
/// use sketch::corpus::NumberedSets;
///
/// let mut sets = NumberedSets::new(1 << 20);
/// // Hashes of shingles, in any order and with any repeats.
/// sets.add(0, &[10, 20, 30, 40, 10])?;
/// sets.add(1, &[20, 30, 40])?;
/// assert_eq!(sets.similarity(0, 1, 0.5), Some(0.75));
/// assert_eq!(sets.similarity(0, 1, 0.8), None);
/// # Ok::<(), sketch::Error>(())
/// ```
pub struct NumberedSets {
    level: Level,
    /// At a place found by the hash, an entry; or 0.
    table: Vec<u32>,
    entries: EntryForm,
    /// By number.
    hashes: Vec<u64>,
    most: usize,
    /// By document, those that are there.
    sets: Vec<Option<Set>>,
    /// Words that are not empty, set after set, each with its place.
    words: Vec<(u32, u64)>,
    most_words: usize,
    /// The words of the set that is being made, by place.
    scratch: Vec<u64>,
}

/// The place of a set's words, and the number of its elements.
#[derive(Clone, Copy)]
struct Set {
    start: usize,
    end: usize,
    elements: u32,
}

impl NumberedSets {
    /// None yet; they may take about `memory` bytes.
    #[must_use]
    pub fn new(memory: usize) -> Self {
        // A table that is three quarters full, of four bytes for each place, beside the hashes.
        let most = (memory / 2 / 40 * 3).clamp(FIRST, u32::MAX as usize);
        Self {
            level: Level::best(),
            table: Vec::new(),
            entries: EntryForm::up_to(most),
            hashes: Vec::new(),
            most,
            sets: Vec::new(),
            words: Vec::new(),
            most_words: memory / 2 / size_of::<(u32, u64)>(),
            scratch: Vec::new(),
        }
    }

    /// True if a set of so many hashes can be one of them.
    #[must_use]
    pub fn can_hold(&self, hashes: usize) -> bool {
        hashes <= self.most / 2 && hashes <= self.most_words / 2
    }

    /// True if a set of so many hashes can be added without forgetting the others.
    #[must_use]
    pub fn has_room(&self, hashes: usize) -> bool {
        self.hashes.len() + hashes <= self.most && self.words.len() + hashes <= self.most_words
    }

    /// True if the set of a document is there.
    #[must_use]
    pub fn has(&self, document: u32) -> bool {
        self.set(document).is_some()
    }

    /// [`ShingleSet::hash`](crate::ShingleSet::hash) of the set of a document; `None` if it is not there.
    #[must_use]
    pub fn hash(&self, document: u32) -> Option<u64> {
        let own = self.set(document)?;
        let mut sum = 0;
        for &(place, mut word) in &self.words[own.start..own.end] {
            while word != 0 {
                let number = place as usize * BITS + word.trailing_zeros() as usize;
                sum = add_to_hash(sum, self.hashes[number]);
                word &= word - 1;
            }
        }
        Some(sum)
    }

    fn set(&self, document: u32) -> Option<Set> {
        *self.sets.get(document as usize)?
    }

    /// Adds the set of a document, by its hashes in any order and with any repeats; they must be as many as
    /// [`Self::can_hold`] allows. If there is no room, all others are forgotten first.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn add(&mut self, document: u32, hashes: &[u64]) -> Result<(), Error> {
        if !self.has_room(hashes.len()) {
            self.forget();
        }
        self.reserve(hashes.len())?;
        let words = (self.hashes.len() + hashes.len()).div_ceil(BITS);
        if self.scratch.len() < words.max(1) {
            memory::resize(&mut self.scratch, words.max(1), 0)?;
        }
        grow(&mut self.words, hashes.len(), self.most_words)?;
        if self.sets.len() <= document as usize {
            memory::resize(&mut self.sets, document as usize + 1, None)?;
        }
        let start = self.words.len();
        let is_cached = self.table.len() <= CACHED;
        let (mut next, mut word, mut bits) = (usize::MAX, 0, 0);
        for (i, &hash) in hashes.iter().enumerate() {
            if !is_cached && let Some(&later) = hashes.get(i + AHEAD) {
                let place = place(&self.table, later);
                self.level.fetch(&self.table[place..=place]);
            }
            // Documents that are alike have most shingles in the same order: of the next number, and of the same word.
            let number = match self.hashes.get(next) {
                Some(known) if *known == hash => next,
                _ => self.entries.number(&mut self.table, &mut self.hashes, hash),
            };
            next = number + 1;
            if number / BITS != word {
                self.mark(word, std::mem::take(&mut bits));
                word = number / BITS;
            }
            bits |= 1 << (number % BITS);
        }
        self.mark(word, bits);
        let own = &mut self.words[start..];
        own.sort_unstable_by_key(|(place, _)| *place);
        let mut elements = 0;
        for (place, word) in own {
            *word = std::mem::take(&mut self.scratch[*place as usize]);
            elements += word.count_ones();
        }
        self.sets[document as usize] = Some(Set { start, end: self.words.len(), elements });
        Ok(())
    }

    /// Adds bits to a word of the set that is being made.
    #[inline(always)]
    fn mark(&mut self, place: usize, bits: u64) {
        let word = &mut self.scratch[place];
        if *word == 0 && bits != 0 {
            self.words.push((place as u32, 0));
        }
        *word |= bits;
    }

    /// The Jaccard similarity of two documents that are there, if it is at least `threshold`: bit for bit that of
    /// [`ShingleSet::jaccard`](crate::ShingleSet::jaccard). `None` if one is not there.
    ///
    /// # Complexity
    ///
    /// Linear in the words of both sets, up to where it is seen that the threshold is out of reach. A word has up to
    /// 64 elements.
    #[must_use]
    pub fn similarity(&self, a: u32, b: u32, threshold: f64) -> Option<f64> {
        let (a, b) = (self.set(a)?, self.set(b)?);
        self.level.compiled(
            #[inline(always)]
            || self.similarity_of(a, b, threshold),
        )
    }

    #[inline(always)]
    fn similarity_of(&self, a: Set, b: Set, threshold: f64) -> Option<f64> {
        let total = a.elements + b.elements;
        let jaccard = |common: u32| f64::from(common) / f64::from(total - common);
        let reaches = |common: u32| total > common && jaccard(common) >= threshold;
        let (own, other) = (&self.words[a.start..a.end], &self.words[b.start..b.end]);
        let (mut i, mut j, mut common) = (0, 0, 0);
        // Elements behind the places that were reached.
        let (mut left, mut right) = (a.elements, b.elements);
        loop {
            if !reaches(common + left.min(right)) {
                return None;
            }
            for _ in 0..STRIDE {
                let (Some(&(x, own)), Some(&(y, other))) = (own.get(i), other.get(j)) else {
                    return reaches(common).then(|| jaccard(common));
                };
                // No branch on which is the lesser: it is as good as random.
                common += if x == y { (own & other).count_ones() } else { 0 };
                left -= if x <= y { own.count_ones() } else { 0 };
                right -= if y <= x { other.count_ones() } else { 0 };
                i += usize::from(x <= y);
                j += usize::from(y <= x);
            }
        }
    }

    /// Forgets all sets. Room for small ones stays, and more than that does not.
    pub fn forget(&mut self) {
        if self.table.len() > KEPT || self.words.capacity() > KEPT {
            (self.table, self.hashes, self.words) = (Vec::new(), Vec::new(), Vec::new());
            self.scratch = Vec::new();
        }
        self.table.fill(0);
        self.hashes.clear();
        self.sets.clear();
        self.words.clear();
    }

    /// Makes the table large enough for `additional` more numbers.
    fn reserve(&mut self, additional: usize) -> Result<(), Error> {
        let needed = self.hashes.len() + additional;
        grow(&mut self.hashes, additional, self.most)?;
        if needed <= self.table.len() / 4 * 3 {
            return Ok(());
        }
        let places = |numbers: usize| numbers / 3 * 4 + 8;
        let places = places(needed).max((2 * self.table.len()).min(places(self.most))).max(FIRST);
        self.table = Vec::new();
        self.table = memory::filled(0, places)?;
        for (number, &hash) in (1..).zip(&self.hashes) {
            let mut at = place(&self.table, hash);
            while self.table[at] != 0 {
                at = behind(&self.table, at);
            }
            self.table[at] = self.entries.of(number, hash);
        }
        Ok(())
    }
}

/// The place where to look for a hash first: hashes are uniform in their top bits.
#[inline(always)]
fn place(table: &[u32], hash: u64) -> usize {
    ((u128::from(hash) * table.len() as u128) >> u64::BITS) as usize
}

#[inline(always)]
fn behind(table: &[u32], at: usize) -> usize {
    if at + 1 == table.len() { 0 } else { at + 1 }
}

/// The form of the table's entries: in the low bits a number plus one, above them as many bits of its hash as there is
/// room for. These tell most other hashes apart without waiting for `hashes`.
#[derive(Clone, Copy)]
struct EntryForm {
    numbers: u32,
}

impl EntryForm {
    /// Entries for so many numbers, less than 2^32.
    fn up_to(most: usize) -> Self {
        Self { numbers: u32::MAX >> (most as u32).leading_zeros() }
    }

    /// The entry of a hash with its number plus one.
    #[inline(always)]
    fn of(self, number: u32, hash: u64) -> u32 {
        // Entries are placed by the top bits of their hashes, so these need not be stored.
        hash as u32 & !self.numbers | number
    }

    /// Returns the number of a hash; a hash without a number gets the next one. The table must have room.
    #[inline(always)]
    fn number(self, table: &mut [u32], hashes: &mut Vec<u64>, hash: u64) -> usize {
        let mut at = place(table, hash);
        loop {
            let entry = table[at];
            if entry == 0 {
                hashes.push(hash);
                table[at] = self.of(hashes.len() as u32, hash);
                return hashes.len() - 1;
            }
            let number = (entry & self.numbers).wrapping_sub(1) as usize;
            if (entry ^ hash as u32) & !self.numbers == 0 && hashes[number] == hash {
                return number;
            }
            at = behind(table, at);
        }
    }
}

/// Makes room for more values, but not for more than `most`.
fn grow<T>(vec: &mut Vec<T>, additional: usize, most: usize) -> Result<(), Error> {
    let needed = vec.len() + additional;
    if needed > vec.capacity() {
        let capacity = most.min(2 * vec.capacity()).max(needed);
        vec.try_reserve_exact(capacity - vec.len()).map_err(|_| memory::refused::<T>(capacity))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix::mix64;

    #[test]
    fn what_memory_does_not_hold_is_forgotten() {
        let memory = 4 << 20;
        let mut numbered = NumberedSets::new(memory);
        for document in 0..1000 {
            let hashes: Vec<u64> =
                (0..5000).map(|i| mix64(u64::from(document) << 32 | i)).collect();
            assert!(numbered.can_hold(hashes.len()));
            numbered.add(document, &hashes).unwrap();
            let numbers = 4 * numbered.table.capacity() + 8 * numbered.hashes.capacity();
            let sets = 16 * numbered.words.capacity() + 8 * numbered.scratch.capacity();
            assert!(numbers + sets <= memory, "{numbers} and {sets}");
        }
        assert!(numbered.has(999) && !numbered.has(0));
        assert!(!numbered.can_hold(1 << 20));
    }
}
