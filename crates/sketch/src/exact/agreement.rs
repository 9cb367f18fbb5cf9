//! Sets of elements that two documents must share, beside what their texts have in common: product codes, for example.

use crate::hash::hash128;
use crate::{Result, memory};

/// True if two sets, each in ascending order, share an element, or if one of them is empty.
pub fn agree(a: &[u128], b: &[u128]) -> bool {
    if a.is_empty() || b.is_empty() {
        return true;
    }
    let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    // A set of many elements is searched, and what comes before the last place is not looked at again.
    let mut rest = many;
    few.iter().any(|element| {
        rest = &rest[rest.partition_point(|other| other < element)..];
        rest.first() == Some(element)
    })
}

/// A hash of a set, which is in ascending order; 0 of an empty one.
pub fn agreement_hash(set: &[u128]) -> Result<u64> {
    if set.is_empty() {
        return Ok(0);
    }
    let mut bytes = memory::with_capacity(size_of_val(set))?;
    set.iter().for_each(|element| bytes.extend_from_slice(&element.to_le_bytes()));
    Ok(hash128(&bytes) as u64)
}
