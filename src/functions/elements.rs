//! The hashes of the elements of a set that is given as an array.

use pgrx::pg_sys::Datum;
use sketch::{ElementHash, memory};

use super::checkpoint;
use crate::error::{Result, engine};
use crate::pg::{array, element};

/// The hashes of the elements of an array but its nulls, in its order and with its repeats.
///
/// # Safety
/// `set` must be a non-null array.
pub(crate) unsafe fn hashes(set: Datum, hash: ElementHash) -> Result<Vec<u64>> {
    // SAFETY: the caller promises an array.
    let (set, element_type) = unsafe { array::detoast(set) };
    // SAFETY: an array of elements of that type, as it says itself.
    let elements = unsafe { array::each_element(set, element_type) };
    let mut hashes = memory::with_capacity(elements.len()).map_err(engine)?;
    for (i, element) in elements.enumerate() {
        if i.is_multiple_of(4096) {
            checkpoint();
        }
        if let Some(element) = element {
            // SAFETY: an element of that type.
            hashes.push(unsafe { element::read(element, element_type) }?.hash(hash));
        }
    }
    Ok(hashes)
}
