//! The classes of ASCII that decide where words are (Word_Break, UAX 29).

/// Bytes per block: as many as a mask has bits.
pub(crate) const BLOCK: usize = 64;

/// The bytes of a block in each class, the first byte as the lowest bit.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Classes {
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

impl Classes {
    pub(super) fn portable(block: &[u8; BLOCK]) -> Self {
        /// A bit for each class, at the same distance.
        const fn class(byte: u8) -> u8 {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' => 1,
                b'0'..=b'9' => 2,
                b'_' => 4,
                b':' => 8,
                b',' | b';' => 16,
                b'.' | b'\'' => 8 | 16,
                _ => 0,
            }
        }
        static CLASS: [u8; 256] = {
            let mut table = [0; 256];
            let mut byte = 0;
            while byte < 256 {
                table[byte] = class(byte as u8);
                byte += 1;
            }
            table
        };
        let mut classes = Self::default();
        for (eight, at) in block.as_chunks::<8>().0.iter().zip((0..).step_by(8)) {
            let word = u64::from_le_bytes(eight.map(|byte| CLASS[usize::from(byte)]));
            classes.letters |= gathered(word) << at;
            classes.digits |= gathered(word >> 1) << at;
            classes.low_lines |= gathered(word >> 2) << at;
            classes.between_letters |= gathered(word >> 3) << at;
            classes.between_digits |= gathered(word >> 4) << at;
        }
        classes
    }
}

/// The uppermost bit of each byte, the first byte's as the lowest.
#[inline(always)]
pub(super) fn upper_bits(block: &[u8; BLOCK]) -> u64 {
    let (words, _) = block.as_chunks::<8>();
    words.iter().rev().fold(0, |bits, word| bits << 8 | gathered(u64::from_le_bytes(*word) >> 7))
}

/// The lowest bits of eight bytes, next to each other.
#[inline(always)]
fn gathered(word: u64) -> u64 {
    (word & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56
}
