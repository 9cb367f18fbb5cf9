//! Hashes of bytes, usually 64 bits long, which do not depend on texts, configurations or schemes.

mod element;
pub(crate) mod mix;
mod sort;
pub(crate) mod xxh3;

pub use element::{Element, ElementHash};
pub(crate) use sort::count_distinct;
pub use sort::{Keyed, SortParts, sort_by, sort_by_key};

/// XXH3_128 with seed 0, for values that count as equal if their hashes are.
pub fn hash128(bytes: &[u8]) -> u128 {
    xxhash_rust::xxh3::xxh3_128(bytes)
}
