//! Sets that documents must share, in addition to similar content. Two sets agree if they share an element, or if one
//! of them is empty.
//!
//! Sets are written one after another, in memory and beyond it in a temporary file.

use crate::spool::{NewFile, Spool};
use crate::{Result, memory};

/// The sets of documents, in the order of reading.
pub(super) struct Agreement {
    /// The last set that was read.
    set: Vec<u128>,
    /// For each set its number of elements, then its elements.
    sets: Spool<u128>,
    /// The place of the set of each document with shingles.
    places: Vec<u64>,
}

impl Agreement {
    /// No sets yet, with `memory` bytes for them.
    pub(super) fn new(memory: usize, new_file: NewFile) -> Self {
        Self { set: Vec::new(), sets: Spool::new(memory, new_file), places: Vec::new() }
    }

    /// Stores the set of a document, given in any order. Returns its place.
    pub(super) fn put(&mut self, elements: &[u128]) -> Result<u64> {
        let Self { set, sets, .. } = self;
        set.clear();
        memory::extend(set, elements)?;
        set.sort_unstable();
        set.dedup();
        memory::reserve(set, 1)?;
        set.insert(0, set.len() as u128);
        let place = sets.append(set)?;
        // Does not keep so much memory after one long set.
        set.clear();
        set.shrink_to(LONG);
        Ok(place)
    }

    /// Adds the next document, whose set is at `place`.
    pub(super) fn take(&mut self, place: u64) -> Result<()> {
        memory::push(&mut self.places, place)
    }

    /// Maximum size of a document's set.
    pub(super) fn size(&self, document: usize) -> usize {
        let next = self.places.get(document + 1).copied();
        let next = next.unwrap_or_else(|| self.sets.len());
        (next - self.places[document]) as usize * size_of::<u128>()
    }

    /// The set of a document, ascending. Only valid after all documents were added.
    pub(super) fn set(&mut self, document: u32) -> Result<&[u128]> {
        let (place, mut count) = (self.places[document as usize], [0]);
        self.sets.read(place, &mut count)?;
        self.sets.copy(place + 1, count[0] as usize, &mut self.set)?;
        Ok(&self.set)
    }
}

/// Number of elements for which memory is kept.
const LONG: usize = 1 << 12;
