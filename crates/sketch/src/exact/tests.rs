//! Hashes for the tests of sets, and the answers of sorted sets about them.

use std::ops::Range;

use proptest::prelude::*;

use crate::ShingleSet;
use crate::hash::mix::mix64;

/// The hashes of some sets of fewer than `most` out of `ids` elements, with repeats.
pub(super) fn hashes(
    sets: Range<usize>,
    ids: u64,
    most: usize,
) -> impl Strategy<Value = Vec<Vec<u64>>> {
    // mix64(0) is 0: also the hash 0 is a hash.
    let set = prop::collection::vec((0..ids).prop_map(mix64), 0..most);
    prop::collection::vec(set, sets)
}

pub(super) fn thresholds() -> impl Strategy<Value = f64> {
    prop_oneof![0.0_f64..=1.0, Just(0.5), Just(1.0)]
}

/// The Jaccard similarity of two sets, if it is at least `threshold`, from sorted hashes.
pub(super) fn similarity(a: &[u64], b: &[u64], threshold: f64) -> Option<f64> {
    let sorted = |hashes: &[u64]| ShingleSet::from_hashes(hashes.to_vec(), &mut || ());
    sorted(a).jaccard(&sorted(b)).filter(|jaccard| *jaccard >= threshold)
}
