//! Exact similarities of sets in little memory: sets of numbers instead of hashes.
//!
//! A shingle gets the next number when it first occurs. A set is a bit set of these numbers, stored as its non-empty
//! words. Shingles that occur together have consecutive numbers, and similar documents share most of their words. So
//! two sets of 8,000 shingles are compared in some hundred steps, instead of the 16,000 steps of merging hashes, and
//! take a fraction of the memory.
//!
//! When memory is full, all sets are removed, and numbers start again.

use hashbrown::HashTable;

use super::shingle_set::add_to_hash;
use crate::simd::Level;
use crate::{Result, memory};

const BITS: usize = u64::BITS as usize;

/// Minimum number of slots in the table of numbers.
const LEAST: usize = 1 << 12;

/// Number of words, and of numbers, for which memory is kept when all sets are removed.
const KEPT: usize = 1 << 16;

/// Words that are compared between two checks of the bound.
const STRIDE: usize = 64;

/// Sets by document, as many as memory holds.
///
/// ```
/// use minlsh_sketch::corpus::NumberedSets;
///
/// let mut sets = NumberedSets::new(1 << 20);
/// // Hashes of shingles, in any order and with any repeats.
/// sets.add(0, &[10, 20, 30, 40, 10])?;
/// sets.add(1, &[20, 30, 40])?;
/// assert_eq!(sets.similarity(0, 1, 0.5), Some(0.75));
/// assert_eq!(sets.similarity(0, 1, 0.8), None);
/// # Ok::<(), minlsh_sketch::Error>(())
/// ```
pub struct NumberedSets {
    level: Level,
    numbers: HashTable<u32>,
    /// By number.
    hashes: Vec<u64>,
    most: usize,
    /// By document; `None` for documents without a set here.
    sets: Vec<Option<Set>>,
    /// The non-empty words of set after set, each with its position.
    words: Vec<(u32, u64)>,
    most_words: usize,
    /// The words of the set in progress, by position.
    scratch: Vec<u64>,
}

/// The range of a set's words, and the number of its elements.
#[derive(Clone, Copy)]
struct Set {
    start: usize,
    end: usize,
    elements: u32,
}

impl NumberedSets {
    /// No sets yet, with about `memory` bytes for them.
    pub fn new(memory: usize) -> Self {
        // A table has a power of two of slots with five bytes each, and uses seven of eight; a hash takes eight bytes.
        const PLACE: usize = 13;
        let places = 1 << (memory / 4 * 3 / PLACE).clamp(LEAST, 1 << 31).ilog2();
        Self {
            level: Level::best(),
            numbers: HashTable::new(),
            hashes: Vec::new(),
            most: places / 8 * 7,
            sets: Vec::new(),
            words: Vec::new(),
            most_words: memory.saturating_sub(places * PLACE) / size_of::<(u32, u64)>(),
            scratch: Vec::new(),
        }
    }

    /// True if a set of `hashes` hashes fits at all.
    pub fn can_hold(&self, hashes: usize) -> bool {
        hashes <= self.most / 2 && hashes <= self.most_words / 2
    }

    /// True if a set of `hashes` hashes fits in addition to the others.
    pub fn has_room(&self, hashes: usize) -> bool {
        self.hashes.len() + hashes <= self.most && self.words.len() + hashes <= self.most_words
    }

    /// Bytes of the sets, of the hashes and of their numbers.
    pub fn bytes(&self) -> usize {
        let Self { numbers, hashes, words, .. } = self;
        numbers.len() * size_of::<u32>() + size_of_val(&hashes[..]) + size_of_val(&words[..])
    }

    /// True if it has the set of a document.
    pub fn has(&self, document: u32) -> bool {
        self.set(document).is_some()
    }

    /// [`ShingleSet::hash`](crate::ShingleSet::hash) of a document's set; `None` if it has no set for it.
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

    /// Adds the set of a document, by its hashes in any order and with any repeats. [`Self::can_hold`] must accept
    /// their number. If they do not fit, all other sets are removed first.
    pub fn add(&mut self, document: u32, hashes: &[u64]) -> Result<()> {
        if !self.has_room(hashes.len()) {
            self.forget();
        }
        self.reserve(document, hashes.len())?;
        let start = self.words.len();
        let (mut next, mut word, mut bits) = (usize::MAX, 0, 0);
        for &hash in hashes {
            // Similar documents have most shingles in the same order: with the next number, in the same word.
            let number = match self.hashes.get(next) {
                Some(known) if *known == hash => next,
                _ => self.number(hash),
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

    /// Makes room for a document's set of `hashes` hashes.
    fn reserve(&mut self, document: u32, hashes: usize) -> Result<()> {
        let Self { numbers, hashes: known, .. } = self;
        let needed = known.len() + hashes;
        if needed > numbers.capacity() {
            let hash = |number: &u32| known[*number as usize];
            let refused = |_| memory::refused::<(u64, u32)>(needed);
            numbers.try_reserve(needed - numbers.len(), hash).map_err(refused)?;
        }
        grow(&mut self.hashes, hashes, self.most)?;
        grow(&mut self.words, hashes, self.most_words)?;
        let places = needed.div_ceil(BITS).max(self.scratch.len()).max(1);
        memory::resize(&mut self.scratch, places, 0)?;
        let documents = self.sets.len().max(document as usize + 1);
        memory::resize(&mut self.sets, documents, None)
    }

    /// The number of a hash; a new hash gets the next one. There must be room.
    #[inline(always)]
    fn number(&mut self, hash: u64) -> usize {
        let Self { numbers, hashes, .. } = self;
        match numbers.find(hash, |number| hashes[*number as usize] == hash) {
            Some(number) => *number as usize,
            None => {
                let number = hashes.len();
                hashes.push(hash);
                numbers.insert_unique(hash, number as u32, |number| hashes[*number as usize]);
                number
            }
        }
    }

    /// Adds bits to a word of the set in progress.
    #[inline(always)]
    fn mark(&mut self, place: usize, bits: u64) {
        let word = &mut self.scratch[place];
        if *word == 0 && bits != 0 {
            self.words.push((place as u32, 0));
        }
        *word |= bits;
    }

    /// The Jaccard similarity of two documents, if it is at least `threshold`, equal to
    /// [`ShingleSet::jaccard`](crate::ShingleSet::jaccard) bit for bit. `None` if one has no set here.
    ///
    /// # Complexity
    ///
    /// Linear in the words of both sets, up to the point where the threshold is out of reach. A word has up to 64
    /// elements.
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
        self.common(a, b, reaches).filter(|common| reaches(*common)).map(jaccard)
    }

    /// The number of elements that two sets share. `None` as soon as `suffices` is false for an upper bound of it.
    #[inline(always)]
    fn common(&self, a: Set, b: Set, suffices: impl Fn(u32) -> bool) -> Option<u32> {
        let (own, other) = (&self.words[a.start..a.end], &self.words[b.start..b.end]);
        let (mut i, mut j, mut common) = (0, 0, 0);
        // Number of elements after the current positions.
        let (mut left, mut right) = (a.elements, b.elements);
        loop {
            if !suffices(common + left.min(right)) {
                return None;
            }
            for _ in 0..STRIDE {
                let (Some(&(x, own)), Some(&(y, other))) = (own.get(i), other.get(j)) else { return Some(common) };
                // Without a branch on the lesser position, which would be unpredictable.
                common += if x == y { (own & other).count_ones() } else { 0 };
                left -= if x <= y { own.count_ones() } else { 0 };
                right -= if y <= x { other.count_ones() } else { 0 };
                i += usize::from(x <= y);
                j += usize::from(y <= x);
            }
        }
    }

    /// The number of elements of a document; 0 if it is not there.
    #[must_use]
    pub fn elements(&self, document: u32) -> u32 {
        self.set(document).map_or(0, |set| set.elements)
    }

    /// The number of elements that two documents share; 0 if one is not there.
    #[must_use]
    pub fn shared(&self, a: u32, b: u32) -> u32 {
        let (Some(a), Some(b)) = (self.set(a), self.set(b)) else { return 0 };
        let common = self.level.compiled(
            #[inline(always)]
            || self.common(a, b, |_| true),
        );
        common.unwrap_or(0)
    }

    /// Removes all sets. Keeps a limited amount of memory.
    pub fn forget(&mut self) {
        if self.numbers.capacity() > KEPT || self.words.capacity() > KEPT {
            (self.numbers, self.hashes) = (HashTable::new(), Vec::new());
            (self.words, self.scratch) = (Vec::new(), Vec::new());
        }
        self.numbers.clear();
        self.hashes.clear();
        self.sets.clear();
        self.words.clear();
    }
}

/// Makes room for more values, up to `most` values in all.
fn grow<T>(vec: &mut Vec<T>, additional: usize, most: usize) -> Result<()> {
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
        let mut sets = NumberedSets::new(memory);
        for document in 0..1000 {
            let hashes: Vec<u64> = (0..5000).map(|i| mix64(u64::from(document) << 32 | i)).collect();
            assert!(sets.can_hold(hashes.len()));
            sets.add(document, &hashes).unwrap();
            let numbers = sets.numbers.allocation_size() + 8 * sets.hashes.capacity();
            let own = 16 * sets.words.capacity() + 8 * sets.scratch.capacity();
            assert!(numbers + own <= memory, "{numbers} and {own}");
        }
        assert!(sets.has(999) && !sets.has(0));
        assert!(!sets.can_hold(1 << 20));
    }
}
