//! The steps on characters for ASCII, where none has a neighbour to mind but
//! white space; bytes of other characters stay. Bytes go in blocks of fixed size, and conditions are masks, so
//! that the compiler makes vectors of the loops.

use super::places::PlaceRecord;
use super::steps::{CharacterSteps, Punctuation};
use crate::error::Error;
use crate::memory;
use crate::simd::Level;

/// Bytes looked at together: as many as a mask of kept ones has bits.
pub(super) const BLOCK: usize = 64;

pub(super) type AsciiBlock = [u8; BLOCK];

/// The byte that stands for those behind the end of a text: no step changes it.
const FILLER: u8 = b'a';

/// The steps as what they do to a byte: each is 0xFF if it is done, else 0.
/// Instructions are the best of the machine.
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
            basic_removed: mask(steps.punctuation == Punctuation::BasicRemoved),
        }
    }

    /// True if a byte is removed.
    pub(super) fn removes(self, byte: u8) -> bool {
        self.removed(byte) != 0
    }

    /// The number of bytes at the start of `bytes` that stay as they are after something
    /// that ends with a space or not, as `spaced` says; a multiple of a block,
    /// or all.
    pub(super) fn unchanged(self, bytes: &[u8], spaced: bool) -> usize {
        self.level.compiled(
            #[inline(always)]
            || self.unchanged_here(bytes, spaced),
        )
    }

    #[inline(always)]
    fn unchanged_here(self, bytes: &[u8], mut spaced: bool) -> usize {
        let mut whole = 0;
        for part in bytes.chunks(BLOCK) {
            let block = filled(part);
            let mapped = self.mapped_block(&block);
            let removed = self.removed_bits(&block);
            if mapped != block || self.dropped(&mapped, removed, spaced) != 0 {
                break;
            }
            spaced = part.ends_with(b" ");
            whole += part.len();
        }
        whole
    }

    /// Appends what becomes of `bytes`. `spaced` is whether there is a space,
    /// or nothing, before it, and is so again after it.
    pub(super) fn append<R: PlaceRecord>(
        self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        spaced: &mut bool,
        record: &mut R,
    ) -> Result<(), Error> {
        // As much as is written to, beyond what is kept of it.
        memory::reserve(out, bytes.len() + 2 * BLOCK)?;
        record.reserve(bytes.len())?;
        self.level.compiled(
            #[inline(always)]
            || self.append_here(bytes, out, spaced, record),
        );
        Ok(())
    }

    #[inline(always)]
    fn append_here<R: PlaceRecord>(
        self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        spaced: &mut bool,
        record: &mut R,
    ) {
        let mut end = out.len();
        out.resize(end + bytes.len() + 2 * BLOCK, 0);
        let (blocks, rest) = bytes.as_chunks();
        for block in blocks {
            end = self.append_block(block, BLOCK, out, end, spaced, record);
        }
        if !rest.is_empty() {
            end = self.append_block(&filled(rest), rest.len(), out, end, spaced, record);
        }
        out.truncate(end);
    }

    /// Writes what becomes of the first `len` bytes of a block to `out` from `end` on, where there
    /// is room for two blocks; returns where it ends.
    #[inline(always)]
    fn append_block<R: PlaceRecord>(
        self,
        block: &AsciiBlock,
        len: usize,
        out: &mut [u8],
        end: usize,
        spaced: &mut bool,
        record: &mut R,
    ) -> usize {
        let mapped = self.mapped_block(block);
        let removed = self.removed_bits(block);
        let dropped = self.dropped(&mapped, removed, *spaced);
        self.append_mapped(&mapped, dropped, len, out, end, spaced, record)
    }

    /// Writes the first `len` bytes of a block that is mapped already, but for those that are
    /// dropped, as [`Self::append_block`] does.
    #[inline(always)]
    #[expect(
        clippy::too_many_arguments,
        reason = "the state of a loop that must stay in registers"
    )]
    pub(super) fn append_mapped<R: PlaceRecord>(
        self,
        mapped: &AsciiBlock,
        dropped: u64,
        len: usize,
        out: &mut [u8],
        end: usize,
        spaced: &mut bool,
        record: &mut R,
    ) -> usize {
        if len == 0 {
            return end;
        }
        if dropped == 0 {
            out[end..][..BLOCK].copy_from_slice(mapped);
            *spaced = mapped[len - 1] == b' ';
            record.one_by_one(len);
            return end + len;
        }
        let start = end;
        let end = append_kept(mapped, dropped, len, out, end, record);
        if end > start {
            *spaced = out[end - 1] == b' ';
        }
        end
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
            _ => bits(self.level, block, |byte| self.removed(byte)),
        }
    }

    /// The bytes of a mapped block that are dropped, as bits: those that are removed, and spaces
    /// after spaces, which what is removed does not separate.
    #[inline(always)]
    pub(super) fn dropped(self, mapped: &AsciiBlock, removed: u64, spaced: bool) -> u64 {
        if self.whitespace == 0 {
            return removed;
        }
        let spaces = bits(self.level, mapped, |byte| mask(byte == b' ')) & !removed;
        let behind = spaces << 1 | u64::from(spaced);
        // A run of removed bytes that starts behind a space: adding to its lowest bit carries to
        // the byte behind the run.
        let carried = (behind & removed).wrapping_add(removed) ^ removed;
        removed | spaces & (behind | carried)
    }
}

/// Writes those of the first `len` bytes of a block that are not dropped. Copies are of fixed
/// size, and overwrite each other's ends.
fn append_kept<R: PlaceRecord>(
    block: &AsciiBlock,
    dropped: u64,
    len: usize,
    out: &mut [u8],
    end: usize,
    record: &mut R,
) -> usize {
    let mut padded = [0; 2 * BLOCK];
    padded[..BLOCK].copy_from_slice(block);
    let (mut dropped, mut end) = (dropped, end);
    let mut from = 0;
    while from < len {
        let to = (dropped.trailing_zeros() as usize).min(len);
        dropped &= dropped.wrapping_sub(1);
        out[end..][..BLOCK].copy_from_slice(&padded[from..][..BLOCK]);
        end += to - from;
        record.one_by_one(to - from);
        record.dropped(usize::from(to < len));
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

/// A bit for each byte, the first as the lowest: whether `mask` is 0xFF, not 0.
#[inline(always)]
fn bits(level: Level, block: &AsciiBlock, mask: impl Fn(u8) -> u8) -> u64 {
    let mut masks = *block;
    for byte in &mut masks {
        *byte = mask(*byte);
    }
    level.upper_bits(&masks)
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
