//! From bytes to hashes, of 64 bits as a rule: what is the same for every text, configuration and scheme.

mod element;
pub(crate) mod mix;
mod sort;
pub(crate) mod xxh3;

pub use element::{Element, ElementHash};
pub(crate) use sort::count_distinct;
pub use sort::{Keyed, SortParts, sort_by, sort_by_key};

/// XXH3 of 128 bits, seed 0: for values that are taken for equal if their hashes are.
pub fn hash128(bytes: &[u8]) -> u128 {
    xxhash_rust::xxh3::xxh3_128(bytes)
}
