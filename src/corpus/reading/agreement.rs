//! The sets of `agree`, which documents must share in addition to similar texts. Two sets agree if they share an
//! element, or if one of them is empty.
//!
//! An element has 128 bits, and is equal for values that are equal by their type, like a scope: a hash of the bytes if
//! equal values have equal bytes, otherwise a number for each value. Sets are written one after another, in memory and
//! beyond it in a temporary file.

use crate::corpus::reading::columns::ColumnValues;
use crate::pg::temp_file::Spool;
use crate::prelude::*;

/// The sets of documents, in the order of reading.
pub struct Agreement {
    values: ColumnValues,
    /// Memory for kept values.
    kept: Memory,
    /// Memory for one array.
    context: Memory,
    /// The last set that was read.
    set: Vec<u128>,
    /// For each set its number of elements, then its elements.
    sets: Spool<u128>,
    /// The place of the set of each document with shingles.
    places: Vec<u64>,
}

impl Agreement {
    /// No sets yet, of arrays with elements of this type and collation, with `memory` bytes for them.
    pub fn new(element: (Oid, Oid), memory: usize) -> Result<Self> {
        Ok(Self {
            values: ColumnValues::new("agree", element)?,
            kept: Memory::scratch(c"minlsh values of agree"),
            context: Memory::scratch(c"minlsh array of agree"),
            set: Vec::new(),
            sets: Spool::new(memory),
            places: Vec::new(),
        })
    }

    /// Stores the set of a document, from an array or NULL. Returns its place.
    pub fn put(&mut self, array: Option<Datum>) -> Result<u64> {
        let Self { values, kept, context, set, sets, .. } = self;
        set.clear();
        if let Some(array) = array {
            context.run_and_reset(|| {
                // SAFETY: a value of the expression `agree`, whose type `Source` found to be an array.
                let elements = unsafe { array::each_element(array) };
                for element in elements.flatten() {
                    memory::push(set, values.element(element, kept)?)?;
                }
                Ok::<_, SqlError>(())
            })?;
        }
        set.sort_unstable();
        set.dedup();
        memory::reserve(set, 1)?;
        set.insert(0, set.len() as u128);
        let place = sets.append(set)?;
        // Does not keep so much memory after one long array.
        set.clear();
        set.shrink_to(LONG);
        Ok(place)
    }

    /// Adds the next document, whose set is at `place`.
    pub fn take(&mut self, place: u64) -> Result<()> {
        memory::push(&mut self.places, place).map_err(Into::into)
    }

    /// Maximum size of a document's set.
    pub fn size(&self, document: usize) -> usize {
        let next = self.places.get(document + 1).copied();
        let next = next.unwrap_or_else(|| self.sets.len());
        (next - self.places[document]) as usize * size_of::<u128>()
    }

    /// The set of a document, ascending. Only valid after all documents were added.
    pub fn set(&mut self, document: u32) -> Result<&[u128]> {
        let (place, mut count) = (self.places[document as usize], [0]);
        self.sets.read(place, &mut count)?;
        self.sets.copy(place + 1, count[0] as usize, &mut self.set)?;
        Ok(&self.set)
    }
}

/// Number of elements for which memory is kept.
const LONG: usize = 1 << 12;
