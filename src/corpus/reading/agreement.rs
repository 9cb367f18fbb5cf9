//! The sets of `agree`: what documents must share to be similar, beside their texts. Two sets agree if they have an
//! element in common, or if one of them is empty.
//!
//! An element is 128 bits, by the equality of its type as scopes have it: a hash of its bytes where equal values have
//! equal bytes, else its number among the values that were met. Sets are written one after the other, in memory and
//! beyond it in a temporary file.

use crate::corpus::reading::columns::ColumnValues;
use crate::pg::temp_file::Spool;
use crate::prelude::*;

/// The sets of documents, in the order in which they were read.
pub struct Agreement {
    values: ColumnValues,
    /// Values that are kept.
    kept: Memory,
    /// Memory for one array.
    context: Memory,
    /// The set that was read last.
    set: Vec<u128>,
    piece: Vec<u64>,
    /// The number of elements of each set, and its elements, of two numbers each.
    sets: Spool<u64>,
    /// The place of the set of each document that has shingles.
    places: Vec<u64>,
}

impl Agreement {
    /// No sets yet, of arrays with elements of that type and collation; `memory` bytes for them.
    pub fn new(element: (Oid, Oid), memory: usize) -> Result<Self> {
        Ok(Self {
            values: ColumnValues::new("agree", element)?,
            kept: Memory::scratch(c"minlsh values of agree"),
            context: Memory::scratch(c"minlsh array of agree"),
            set: Vec::new(),
            piece: Vec::new(),
            sets: Spool::new(memory),
            places: Vec::new(),
        })
    }

    /// Puts aside the set of a document, which an array has, or NULL. Returns its place.
    pub fn put(&mut self, array: Option<Datum>) -> Result<u64> {
        let Self { values, kept, context, set, piece, .. } = self;
        set.clear();
        if let Some(array) = array {
            context.run_and_reset(|| {
                // SAFETY: a value of the expression of `agree`, whose type `Source` has found to be an array.
                let elements = unsafe { array::each_element(array) };
                for element in elements.flatten() {
                    memory::push(set, values.element(element, kept)?)?;
                }
                Ok::<_, SqlError>(())
            })?;
        }
        set.sort_unstable();
        set.dedup();
        piece.clear();
        memory::reserve(piece, 1 + 2 * set.len())?;
        piece.push(set.len() as u64);
        piece.extend(set.iter().flat_map(|element| [*element as u64, (*element >> 64) as u64]));
        // One long array is no reason to keep so much room.
        set.shrink_to(LONG);
        let place = self.sets.append(&self.piece)?;
        self.piece.shrink_to(LONG);
        Ok(place)
    }

    /// Takes the next document, whose set is at that place.
    pub fn take(&mut self, place: u64) -> Result<()> {
        memory::push(&mut self.places, place).map_err(Into::into)
    }

    /// The bytes that the set of a document takes at most.
    pub fn size(&self, document: usize) -> usize {
        let next = self.places.get(document + 1).copied();
        let next = next.unwrap_or_else(|| self.sets.len());
        (next - self.places[document]) as usize * size_of::<u64>()
    }

    /// The set of a document, ascending. Documents are asked for when all are known.
    pub fn set(&mut self, document: u32) -> Result<&[u128]> {
        let Self { sets, places, set, piece, .. } = self;
        let (place, mut count) = (places[document as usize], [0]);
        sets.read(place, &mut count)?;
        sets.copy(place + 1, 2 * count[0] as usize, piece)?;
        set.clear();
        let elements = piece.as_chunks::<2>().0.iter();
        memory::reserve(set, elements.len())?;
        set.extend(elements.map(|&[low, high]| u128::from(high) << 64 | u128::from(low)));
        Ok(set)
    }
}

/// Elements for which room is kept.
const LONG: usize = 1 << 12;
