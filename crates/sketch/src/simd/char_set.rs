//! The characters of a block that are in a set, for UTF-8 of two and three bytes.
//!
//! A set has a bit for each character of two bytes, and one for each 64 consecutive characters of
//! three bytes: all those that have the first two bytes in common. That is few enough bits for the
//! registers of AVX-512, and it is what most writing needs: ideographs, syllables of Hangul and
//! most other letters of three bytes are next to characters like them.

use super::classes::BLOCK;

/// A set of characters; of those of three bytes it has 64 in a row or none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct CharSet {
    /// A word for each first byte, a bit for each second one.
    pub(crate) two: [u64; 32],
    /// By the last four bits of the first byte and the upper six of the second, as one number.
    pub(crate) three: [u64; 16],
}

impl CharSet {
    pub(crate) const EMPTY: Self = Self { two: [0; 32], three: [0; 16] };

    /// Those of the characters of two and of three bytes that start at `two` and `three` which are
    /// in the set.
    #[inline(always)]
    pub(super) fn portable(&self, block: &[u8; BLOCK], two: u64, three: u64) -> u64 {
        members(&self.two, block, two) | members(&self.three, block, three)
    }
}

/// Those of the characters that start at `left` whose bits are set in the words of their first bytes.
#[inline(always)]
fn members<const WORDS: usize>(words: &[u64; WORDS], block: &[u8; BLOCK], mut left: u64) -> u64 {
    let mut found = 0;
    while left != 0 {
        let at = left.trailing_zeros() as usize;
        let (first, second) = (usize::from(block[at]), usize::from(block[(at + 1) % BLOCK]));
        found |= (words[first % WORDS] >> (second % 64) & 1) << at;
        left &= left - 1;
    }
    found
}
