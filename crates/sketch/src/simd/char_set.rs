//! The characters of a block that are in a set, for UTF-8 of two and three bytes.
//!
//! A set has a bit for each character of two bytes, and one for each 64 consecutive characters of
//! three bytes: all those that have the first two bytes in common. That is few enough bits for the
//! registers of AVX-512, and it is what most writing needs: ideographs, syllables of Hangul and
//! most other letters of three bytes are next to characters like them. The letters of Vietnamese
//! and quotation marks are not, so 512 characters around them have a bit each.

use std::ops::Range;

use super::classes::BLOCK;

/// The characters of three bytes that a set has one by one, each 64 of them as one number: U+1E40 to
/// U+203F.
pub(crate) const SINGLE: Range<usize> = 121..129;

/// A set of characters; of those of three bytes that are not [`SINGLE`] it has 64 in a row or none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct CharSet {
    /// A word for each first byte, a bit for each second one.
    pub(crate) two: [u64; 32],
    /// By the last four bits of the first byte and the upper six of the second, as one number.
    pub(crate) three: [u64; 16],
    /// A word for each 64 characters that are [`SINGLE`].
    pub(crate) single: [u64; SINGLE.end - SINGLE.start],
}

impl CharSet {
    pub(crate) const EMPTY: Self = Self { two: [0; 32], three: [0; 16], single: [0; 8] };

    /// Those of the characters of two and of three bytes that start at `two` and `three` which are
    /// in the set.
    #[inline(always)]
    pub(super) fn portable(&self, block: &[u8; BLOCK], two: u64, three: u64) -> u64 {
        let among_two =
            |[first, second, _]: [u8; 3]| self.two[usize::from(first) % 32] >> (second % 64);
        let among_three = |[first, second, third]: [u8; 3]| {
            let word = usize::from(first % 16) * 64 + usize::from(second % 64);
            match SINGLE.contains(&word) {
                true => self.single[word - SINGLE.start] >> (third % 64),
                false => self.three[word / 64] >> (word % 64),
            }
        };
        chosen(block, two, among_two) | chosen(block, three, among_three)
    }
}

/// Those of the characters that start at `left` for whose bytes `look` has the lowest bit set.
#[inline(always)]
fn chosen(block: &[u8; BLOCK], mut left: u64, look: impl Fn([u8; 3]) -> u64) -> u64 {
    let mut found = 0;
    while left != 0 {
        let at = left.trailing_zeros() as usize;
        let bytes = [block[at], block[(at + 1) % BLOCK], block[(at + 2) % BLOCK]];
        found |= (look(bytes) & 1) << at;
        left &= left - 1;
    }
    found
}
