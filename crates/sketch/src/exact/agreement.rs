//! Sets of elements that two documents must share in addition to similar texts, such as product codes.

use crate::hash::hash128;
use crate::{Result, memory};

/// True if two ascending sets share an element, or if one of them is empty.
pub fn agree(a: &[u128], b: &[u128]) -> bool {
    if a.is_empty() || b.is_empty() {
        return true;
    }
    let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    // Searches the larger set; elements before the last position are not compared again.
    let mut rest = many;
    few.iter().any(|element| {
        rest = &rest[rest.partition_point(|other| other < element)..];
        rest.first() == Some(element)
    })
}

/// A hash of an ascending set; 0 for an empty one.
pub fn agreement_hash(set: &[u128]) -> Result<u64> {
    if set.is_empty() {
        return Ok(0);
    }
    let mut bytes = memory::with_capacity(size_of_val(set))?;
    set.iter().for_each(|element| bytes.extend_from_slice(&element.to_le_bytes()));
    Ok(hash128(&bytes) as u64)
}
