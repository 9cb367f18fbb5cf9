//! Characters in UTF-8, by their bytes.

use crate::limits::{Check, checked};
use crate::simd::{CLASSES_BLOCK, Level};

/// Converts bytes to text if they are UTF-8, like [`std::str::from_utf8`] but faster.
pub fn utf8(bytes: &[u8]) -> Option<&str> {
    simdutf8::basic::from_utf8(bytes).ok()
}

/// True if `text` has only white space, so no tokens.
pub(crate) fn is_blank(text: &str, check: Check) -> bool {
    checked(text.chars(), check).all(char::is_whitespace)
}

/// Length in bytes of the UTF-8 character that starts with `lead`.
#[inline(always)]
pub(crate) fn char_len(lead: u8) -> usize {
    match lead {
        0..0xC0 => 1,
        0xC0..OF_THREE => 2,
        OF_THREE..OF_FOUR => 3,
        OF_FOUR.. => 4,
    }
}

/// The bytes of a block where a character starts, as bits.
#[inline(always)]
pub(crate) fn leads(level: Level, block: &[u8; CLASSES_BLOCK]) -> u64 {
    level.bits(block, |byte| !(0x80..0xC0).contains(&byte))
}

/// The least first byte of characters of three or more bytes.
pub(crate) const OF_THREE: u8 = 0xE0;

/// The least first byte of characters of four bytes.
pub(crate) const OF_FOUR: u8 = 0xF0;

/// The bits below one.
#[inline(always)]
pub(crate) const fn below(bit: usize) -> u64 {
    if bit < CLASSES_BLOCK { (1 << bit) - 1 } else { u64::MAX }
}

/// The code point of the three-byte character at byte `at` of a block, which is completely in it.
#[inline(always)]
pub(crate) fn code_of_three(block: &[u8; CLASSES_BLOCK], at: usize) -> u32 {
    let byte = |i: usize| u32::from(block[(at + i) % CLASSES_BLOCK]);
    (byte(0) & 0xF) << 12 | (byte(1) & 0x3F) << 6 | byte(2) & 0x3F
}

/// The code point of the non-ASCII character at byte `at`, in UTF-8.
#[inline(always)]
pub(crate) fn code_at(bytes: &[u8], at: usize) -> u32 {
    let four = match bytes[at..].first_chunk() {
        Some(four) => *four,
        None => {
            let mut four = [0; 4];
            let rest = &bytes[at..];
            four[..rest.len()].copy_from_slice(rest);
            four
        }
    };
    let four = u32::from_be_bytes(four);
    let width = (four.leading_ones()).clamp(2, 4);
    // Six bits of each byte, packed together; the first byte's include bits of the length.
    let six = (four & 0x3F00_3F00) >> 2 | four & 0x003F_003F;
    let bits = (six >> 16) << 12 | six & 0xFFF;
    bits >> (6 * (4 - width)) & ((1 << (5 * width + 1)) - 1)
}

/// Number of ASCII bytes at the start of `bytes`.
pub(crate) fn ascii_prefix(bytes: &[u8]) -> usize {
    const BLOCK: usize = 64;
    let blocks = bytes.chunks(BLOCK).take_while(|block| block.is_ascii());
    let whole = (blocks.count() * BLOCK).min(bytes.len());
    whole + bytes[whole..].iter().take_while(|byte| byte.is_ascii()).count()
}
