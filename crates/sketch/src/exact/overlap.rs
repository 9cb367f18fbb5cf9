//! Compares two sets of any elements: their sizes, and the number of shared elements; or whether they agree, as sets of
//! product codes must in addition to similar texts.

use std::cmp::Ordering;

use crate::hash::hash128;
use crate::{Check, Result, memory};

/// Number of comparisons between two calls of `check`: one may take a microsecond.
const RUN: usize = 4096;

/// The sizes of two sets and of their intersection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Overlap {
    /// Distinct elements of the first set.
    pub a: usize,
    /// Distinct elements of the second set.
    pub b: usize,
    /// Elements that both have.
    pub shared: usize,
}

impl Overlap {
    /// Counts elements that are given in any order and with any repeats. `compare` must be a total order of them.
    /// `check` is called for every few thousand comparisons.
    pub fn count<T>(mut a: Vec<T>, mut b: Vec<T>, compare: impl Fn(&T, &T) -> Ordering, check: Check) -> Self {
        let mut compared = 0;
        let mut compare = |a: &T, b: &T| {
            compared += 1;
            if compared % RUN == 0 {
                check();
            }
            compare(a, b)
        };
        for elements in [&mut a, &mut b] {
            elements.sort_unstable_by(&mut compare);
            elements.dedup_by(|a, b| compare(a, b).is_eq());
        }
        let (mut i, mut j, mut shared) = (0, 0, 0);
        while i < a.len() && j < b.len() {
            let order = compare(&a[i], &b[j]);
            shared += usize::from(order.is_eq());
            i += usize::from(order.is_le());
            j += usize::from(order.is_ge());
        }
        Self { a: a.len(), b: b.len(), shared }
    }

    /// The Jaccard similarity; `None` if both sets are empty.
    pub fn jaccard(self) -> Option<f64> {
        let united = self.a + self.b - self.shared;
        (united > 0).then(|| self.shared as f64 / united as f64)
    }

    /// The overlap with the two sets exchanged.
    #[must_use]
    pub fn flipped(self) -> Self {
        Self { a: self.b, b: self.a, shared: self.shared }
    }

    /// The containment |A ∩ B| / |A| of the first set in the second; `None` if the first is empty.
    pub fn containment(self) -> Option<f64> {
        (self.a > 0).then(|| self.shared as f64 / self.a as f64)
    }
}

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
