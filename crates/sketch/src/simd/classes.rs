//! The classes of ASCII characters that determine word boundaries (Word_Break, UAX 29).

use std::ops::Range;

use super::Level;

/// Bytes in a block: the number of bits of a mask.
pub(crate) const BLOCK: usize = 64;

/// The bytes of a block in each class; the first byte is the lowest bit.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct WordClasses {
    /// ALetter.
    pub(crate) letters: u64,
    /// Numeric.
    pub(crate) digits: u64,
    /// ExtendNumLet.
    pub(crate) low_lines: u64,
    /// MidLetter, MidNumLet and Single_Quote: `: . '`.
    pub(crate) between_letters: u64,
    /// MidNum, MidNumLet and Single_Quote: `, ; . '`.
    pub(crate) between_digits: u64,
}

impl WordClasses {
    #[inline(always)]
    pub(crate) fn of(level: Level, block: &[u8; BLOCK]) -> Self {
        let are = |byte| level.bits(block, |other| other == byte);
        let between = are(b'.') | are(b'\'');
        Self {
            letters: level.bits(block, |byte| byte.is_ascii_alphabetic()),
            digits: level.bits(block, |byte| byte.is_ascii_digit()),
            low_lines: are(b'_'),
            between_letters: between | are(b':'),
            between_digits: between | are(b',') | are(b';'),
        }
    }
}

/// The highest bit of each byte; the first byte's is the lowest bit.
#[inline(always)]
pub(super) fn upper_bits(block: &[u8; BLOCK]) -> u64 {
    let (words, _) = block.as_chunks::<8>();
    words.iter().rev().fold(0, |bits, word| bits << 8 | gathered(u64::from_le_bytes(*word) >> 7))
}

/// The lowest bits of eight bytes, packed together.
#[inline(always)]
fn gathered(word: u64) -> u64 {
    (word & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// The three-byte characters that a set stores individually, in groups of 64: U+1E40 to U+203F.
pub(crate) const SINGLE: Range<usize> = 121..129;

/// A set of characters. Three-byte characters outside of [`SINGLE`] are in it in groups of 64.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct CharSet {
    /// A word for each first byte, with a bit for each second byte.
    pub(crate) two: [u64; 32],
    /// Indexed by the last four bits of the first byte and the upper six bits of the second.
    pub(crate) three: [u64; 16],
    /// A word for each 64 characters of [`SINGLE`].
    pub(crate) single: [u64; SINGLE.end - SINGLE.start],
}

impl CharSet {
    pub(crate) const EMPTY: Self = Self { two: [0; 32], three: [0; 16], single: [0; 8] };

    /// The characters of two and three bytes starting at `two` and `three` that are in the set.
    #[inline(always)]
    pub(super) fn portable(&self, block: &[u8; BLOCK], two: u64, three: u64) -> u64 {
        let among_two = |[first, second, _]: [u8; 3]| self.two[usize::from(first) % 32] >> (second % 64);
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

/// The characters starting at `left` for which `look` returns the lowest bit set.
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
