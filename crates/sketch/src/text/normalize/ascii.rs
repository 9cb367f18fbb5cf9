//! The steps on characters for ASCII, where none has a neighbour to mind but white space; bytes of other characters
//! stay. Bytes go in blocks of fixed size, and conditions are masks, so that the compiler makes vectors of the loops.

use super::steps::{CharacterSteps, Punctuation};
use crate::simd::Level;

/// Bytes looked at together: as many as a mask of kept ones has bits.
pub(super) const BLOCK: usize = 64;

pub(super) type AsciiBlock = [u8; BLOCK];

/// The byte that stands for those behind the end of a text: no step changes it.
const FILLER: u8 = b'a';

/// The steps as what they do to a byte: each is 0xFF if it is done, else 0. Instructions are the best of the machine.
#[derive(Clone, Copy)]
pub(super) struct ByteSteps {
    pub(super) level: Level,
    casefold: u8,
    digits: u8,
    whitespace: u8,
    punctuation_space: u8,
    punctuation_removed: u8,
    basic_removed: u8,
}

impl ByteSteps {
    pub(super) fn new(steps: CharacterSteps) -> Self {
        Self {
            level: Level::best(),
            casefold: mask(steps.casefold),
            digits: mask(steps.digits),
            whitespace: mask(steps.whitespace),
            punctuation_space: mask(steps.punctuation == Punctuation::Space),
            punctuation_removed: mask(steps.punctuation == Punctuation::Removed),
            basic_removed: mask(steps.punctuation == Punctuation::Basic),
        }
    }

    pub(super) fn removes(self, byte: u8) -> bool {
        self.removed(byte) != 0
    }

    /// The byte that replaces one that is kept.
    #[inline(always)]
    pub(super) fn mapped(self, byte: u8) -> u8 {
        let byte = byte | (among(byte, b'A', 26) & self.casefold & 0x20);
        let byte = select(among(byte, b'0', 10) & self.digits, b'0', byte);
        let space = among(byte, b'\t', 5) & self.whitespace;
        let space = space | (is_punctuation(byte) & self.punctuation_space);
        select(space, b' ', byte)
    }

    #[inline(always)]
    pub(super) fn mapped_block(self, block: &AsciiBlock) -> AsciiBlock {
        let mut mapped = *block;
        for byte in &mut mapped {
            *byte = self.mapped(*byte);
        }
        mapped
    }

    /// 0xFF if a byte is removed, else 0.
    #[inline(always)]
    fn removed(self, byte: u8) -> u8 {
        (is_punctuation(byte) & self.punctuation_removed) | (is_basic(byte) & self.basic_removed)
    }

    /// The bytes of a block that are removed, as bits.
    #[inline(always)]
    pub(super) fn removed_bits(self, block: &AsciiBlock) -> u64 {
        match self.punctuation_removed | self.basic_removed {
            0 => 0,
            _ => self.level.bits(block, |byte| self.removed(byte) != 0),
        }
    }

    /// The bytes of a mapped block that are dropped, as bits: those that are removed, and spaces
    /// after spaces, which what is removed does not separate.
    #[inline(always)]
    pub(super) fn dropped(self, mapped: &AsciiBlock, removed: u64, spaced: bool) -> u64 {
        if self.whitespace == 0 {
            return removed;
        }
        let spaces = self.level.bits(mapped, |byte| byte == b' ') & !removed;
        let behind = spaces << 1 | u64::from(spaced);
        // A run of removed bytes that starts behind a space: adding to its lowest bit carries to
        // the byte behind the run.
        let carried = (behind & removed).wrapping_add(removed) ^ removed;
        removed | spaces & (behind | carried)
    }
}

/// Writes those of the first `len` bytes of a block that are not dropped to `out` from `end` on, where there is room
/// for two blocks; returns where it ends. Copies are of fixed size, and overwrite each other's ends.
#[inline(always)]
pub(super) fn append_kept(block: &AsciiBlock, dropped: u64, len: usize, out: &mut [u8], end: usize) -> usize {
    if dropped == 0 {
        out[end..][..BLOCK].copy_from_slice(block);
        return end + len;
    }
    let mut padded = [0; 2 * BLOCK];
    padded[..BLOCK].copy_from_slice(block);
    let (mut dropped, mut end, mut from) = (dropped, end, 0);
    while from < len {
        let to = (dropped.trailing_zeros() as usize).min(len);
        dropped &= dropped.wrapping_sub(1);
        out[end..][..BLOCK].copy_from_slice(&padded[from..][..BLOCK]);
        end += to - from;
        from = to + 1;
    }
    end
}

/// A block whose end is [`FILLER`] if `part` is shorter.
#[inline(always)]
pub(super) fn filled(part: &[u8]) -> AsciiBlock {
    match part.try_into() {
        Ok(block) => block,
        Err(_) => {
            let mut block = [FILLER; BLOCK];
            block[..part.len()].copy_from_slice(part);
            block
        }
    }
}

#[inline(always)]
fn mask(condition: bool) -> u8 {
    u8::from(condition).wrapping_neg()
}

#[inline(always)]
fn select(mask: u8, yes: u8, no: u8) -> u8 {
    (mask & yes) | (!mask & no)
}

/// True if `byte` is one of `count` from `first` on.
#[inline(always)]
fn among(byte: u8, first: u8, count: u8) -> u8 {
    mask(byte.wrapping_sub(first) < count)
}

/// All ASCII that Unicode calls punctuation or a symbol.
#[inline(always)]
fn is_punctuation(byte: u8) -> u8 {
    among(byte, b'!', 15) | among(byte, b':', 7) | among(byte, b'[', 6) | among(byte, b'{', 4)
}

/// The characters that the step `punctuation_basic` removes.
#[inline(always)]
fn is_basic(byte: u8) -> u8 {
    mask(byte == b'.') | mask(byte == b',') | among(byte, b':', 2) | mask(byte == b'\'')
}
