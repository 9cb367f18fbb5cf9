//! From bytes to hashes, of 64 bits as a rule: what is the same for every text, configuration and scheme.

mod element;
pub(crate) mod mix;
mod sort;
pub(crate) mod xxh3;

pub use element::{Element, ElementHash};
pub(crate) use sort::count_distinct;
pub use sort::{Keyed, SortParts, sort_by, sort_by_key};

/// XXH3 of 128 bits, seed 0: for values that are taken for equal if their hashes are.
#[must_use]
pub fn hash128(bytes: &[u8]) -> u128 {
    xxhash_rust::xxh3::xxh3_128(bytes)
}

#[cfg(test)]
mod tests {
    /// As in Python `xxhash.xxh3_128_hexdigest`.
    #[test]
    fn hashes_of_128_bits_are_those_of_the_specification() {
        assert_eq!(super::hash128(b""), 0x99aa_06d3_0147_98d8_6001_c324_468d_497f);
        assert_eq!(super::hash128(b"a"), 0xa96f_af70_5af1_6834_e6c6_32b6_1e96_4e1f);
    }
}
