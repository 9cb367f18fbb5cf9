//! The steps on characters for ASCII, where only white space depends on its neighbours; bytes of other characters stay.
//! Bytes are processed in blocks of fixed size, and conditions are masks, so that the compiler vectorises the loops.

use super::steps::{CharacterSteps, Punctuation};
use crate::simd::Level;

/// Bytes in a block: the number of bits of a mask.
pub(super) const BLOCK: usize = 64;

pub(super) type AsciiBlock = [u8; BLOCK];

/// The padding after the end of a text; no step changes it.
const FILLER: u8 = b'a';

/// The steps as masks for a byte: 0xFF for a step that is on, else 0. Uses the best instructions of the machine.
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

    /// The byte that replaces one that is not removed.
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

    /// The removed bytes of a block, as bits.
    #[inline(always)]
    pub(super) fn removed_bits(self, block: &AsciiBlock) -> u64 {
        match self.punctuation_removed | self.basic_removed {
            0 => 0,
            _ => self.level.bits(block, |byte| self.removed(byte) != 0),
        }
    }

    /// The dropped bytes of a mapped block, as bits: removed bytes, and spaces after spaces, which removed bytes do not
    /// separate.
    #[inline(always)]
    pub(super) fn dropped(self, mapped: &AsciiBlock, removed: u64, spaced: bool) -> u64 {
        if self.whitespace == 0 {
            return removed;
        }
        let spaces = self.level.bits(mapped, |byte| byte == b' ') & !removed;
        let behind = spaces << 1 | u64::from(spaced);
        // A run of removed bytes after a space: adding to its lowest bit carries to the byte after the run.
        let carried = (behind & removed).wrapping_add(removed) ^ removed;
        removed | spaces & (behind | carried)
    }
}

/// Writes the first `len` bytes of a block, without the dropped ones, to `out` from `end`, with space for two blocks.
/// Returns the new end. Copies have a fixed size, and overwrite each other's ends.
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

/// A block, padded with [`FILLER`] if `part` is shorter.
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

/// 0xFF if `byte` is one of the `count` bytes from `first`, else 0.
#[inline(always)]
fn among(byte: u8, first: u8, count: u8) -> u8 {
    mask(byte.wrapping_sub(first) < count)
}

/// 0xFF for ASCII that Unicode classifies as punctuation or a symbol.
#[inline(always)]
fn is_punctuation(byte: u8) -> u8 {
    among(byte, b'!', 15) | among(byte, b':', 7) | among(byte, b'[', 6) | among(byte, b'{', 4)
}

/// 0xFF for characters that the step `punctuation_basic` removes.
#[inline(always)]
fn is_basic(byte: u8) -> u8 {
    mask(byte == b'.') | mask(byte == b',') | among(byte, b':', 2) | mask(byte == b'\'')
}
