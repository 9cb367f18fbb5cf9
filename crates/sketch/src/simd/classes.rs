//! The classes of ASCII that decide where words are (Word_Break, UAX 29).

/// Bytes per block: as many as a mask has bits.
pub(crate) const BLOCK: usize = 64;

/// Which bytes of a block are in which class, the first byte as the lowest bit.
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
            // The bit of each byte, gathered into the uppermost byte.
            let gather = |class: u32| {
                let bits = word >> class & 0x0101_0101_0101_0101;
                bits.wrapping_mul(0x0102_0408_1020_4080) >> 56 << at
            };
            classes.letters |= gather(0);
            classes.digits |= gather(1);
            classes.low_lines |= gather(2);
            classes.between_letters |= gather(3);
            classes.between_digits |= gather(4);
        }
        classes
    }
}
