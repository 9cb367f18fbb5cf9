//! From bytes to 64-bit hashes: what is the same for every text, configuration and scheme.

mod element;
pub(crate) mod mix;
mod sort;
pub(crate) mod xxh3;

pub use element::{Element, ElementHash};
pub(crate) use sort::sort;
pub use sort::{Keyed, part_by_key, sort_by_key};
