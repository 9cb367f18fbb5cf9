//! The loops over shingles, for the instruction sets of x86-64.
//!
//! All unsafe code of the crate is in this module. It calls functions that need instructions which the CPU was found to
//! have, loads and stores whole vectors through pointers, and takes bytes that were found to be UTF-8 for text.
//! Instructions are detected at run time, so one build serves every machine.
//!
//! [`Level::compiled`] runs plain Rust that the compiler vectorises.
//!
//! Each operation has a portable form, and the vector forms give the same values bit for bit: signatures are stored,
//! and read on other machines.
//!
//! | operation | per | result |
//! |---|---|---|
//! | [`Level::windows`] | byte of text | XXH3_64 of every window of ASCII |
//! | [`Level::ranges`] | character, or word | XXH3_64 of ranges of different lengths |
//! | [`Level::positions`] | character | numbers of the set bits of a mask |
//! | [`Level::members`] | character | characters of two and three bytes in a set |
//! | [`Level::upper_bits`] | byte of text | highest bits of bytes; [`Level::bits`] for other predicates |
//! | [`Level::mix`] | shingle | `mix64(h + offset)`: another seed |
//! | [`Level::scatter_min`] | shingle | a bucket round of fss |
//! | [`Level::affine_min`] | shingle and slot | permutations: the minimum of each |
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod classes;
#[cfg(target_arch = "x86_64")]
mod kernels;
mod portable;
#[cfg(target_arch = "x86_64")]
mod ranges;

use std::fmt;
use std::sync::OnceLock;

pub(crate) use classes::{BLOCK as CLASSES_BLOCK, CharSet, SINGLE, WordClasses};
use portable::Draws;
pub(crate) use portable::{BLOCK, EMPTY, NOTHING_PACKED, Packed, SLOT_LANES, places_of};

/// The instructions in use. A level other than the portable one exists only on a CPU that has its instructions; the
/// safety of this module depends on it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Level(Instructions);

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Instructions {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// `portable`, `avx2` or `avx512`.
impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Instructions::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => "avx512",
        })
    }
}

/// Calls a kernel at a level: each module of instructions has all of them, with these names.
macro_rules! kernel {
    ($level:expr, $kernel:ident($($argument:expr),*)) => {
        match $level.0 {
            Instructions::Portable => portable::$kernel($($argument),*),
            // SAFETY: only `available` and `best` make a `Level`, after finding that the CPU has AVX2.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => unsafe { avx2::$kernel($($argument),*) },
            // SAFETY: only `available` and `best` make a `Level`, after finding that the CPU has AVX-512.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => unsafe { avx512::$kernel($($argument),*) },
        }
    };
}

impl Level {
    /// The level without vector instructions beyond the target's baseline.
    pub const PORTABLE: Self = Self(Instructions::Portable);

    /// The levels of this machine, from the portable one to the best.
    pub fn available() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        let vector = [(has_avx2(), Instructions::Avx2), (has_avx512(), Instructions::Avx512)];
        #[cfg(not(target_arch = "x86_64"))]
        let vector = [];
        let present = vector.into_iter().filter(|(present, _)| *present);
        let present = present.map(|(_, instructions)| Self(instructions));
        std::iter::once(Self::PORTABLE).chain(present).collect()
    }

    /// The best level of this machine. The environment variable `MINLSH_SIMD` selects another one for tests, if the
    /// machine has it. All give the same values.
    pub fn best() -> Self {
        static CHOSEN: OnceLock<Level> = OnceLock::new();
        *CHOSEN.get_or_init(|| {
            let named = std::env::var("MINLSH_SIMD").unwrap_or_default();
            let levels = Self::available();
            let chosen = levels.iter().find(|level| level.to_string() == named);
            chosen.or(levels.last()).copied().unwrap_or(Self::PORTABLE)
        })
    }

    /// Fills `out` with XXH3_64 of the windows of `width` bytes that start at the first `out.len()` bytes, which must
    /// exist.
    pub(crate) fn windows(self, bytes: &[u8], width: usize, out: &mut [u64]) {
        kernel!(self, windows(bytes, width, out));
    }

    /// Fills `out` with XXH3_64 of the bytes of each range, from its start to its end. Starts and ends ascend, and
    /// there are at least `out.len()` of them.
    pub(crate) fn ranges(self, bytes: &[u8], starts: &[u32], ends: &[u32], out: &mut [u64]) {
        kernel!(self, ranges(bytes, starts, ends, out));
    }

    /// Writes the numbers of the set bits, with `first` added, to the front of `out`, and returns how many there are.
    /// The rest of `out` is arbitrary.
    #[inline(always)]
    pub(crate) fn positions(self, bits: u64, first: u32, out: &mut [u32; 64]) -> usize {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => {
                // SAFETY: the level exists, so the CPU has AVX-512 (see [`Level`]).
                unsafe { avx512::positions(bits, first, out) }
            }
            _ => {
                let mut left = bits;
                for place in out.iter_mut().take(bits.count_ones() as usize) {
                    *place = first + left.trailing_zeros();
                    left &= left.wrapping_sub(1);
                }
            }
        }
        bits.count_ones() as usize
    }

    /// Runs `work`, which should be inlined, compiled for the level: the compiler vectorises it with the widest
    /// vectors.
    #[inline]
    pub(crate) fn compiled<T>(self, work: impl FnOnce() -> T) -> T {
        kernel!(self, compiled(work))
    }

    /// Prefetches values that are read soon.
    #[inline(always)]
    pub fn fetch<T: Copy>(self, values: &[T]) {
        const LINE: usize = 64;
        #[cfg(target_arch = "x86_64")]
        for line in values.chunks(LINE / size_of::<T>().clamp(1, LINE)) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: every x86-64 CPU has SSE, and a prefetch does not access memory.
            unsafe { _mm_prefetch(line.as_ptr().cast(), _MM_HINT_T0) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (values, LINE);
    }

    /// The highest bit of each byte of a block; the first byte's is the lowest bit.
    #[inline(always)]
    pub(crate) fn upper_bits(self, block: &[u8; CLASSES_BLOCK]) -> u64 {
        kernel!(self, upper_bits(block))
    }

    /// A bit for each byte of a block for which `is` returns true; the first byte's is the lowest bit.
    #[inline(always)]
    pub(crate) fn bits(self, block: &[u8; CLASSES_BLOCK], is: impl Fn(u8) -> bool) -> u64 {
        let mut marked = *block;
        for byte in &mut marked {
            *byte = u8::from(is(*byte)).wrapping_neg();
        }
        self.upper_bits(&marked)
    }

    /// The characters of two and three bytes starting in a block at `two` and `three` that are in a set. Arbitrary for
    /// an incomplete character.
    #[inline(always)]
    pub(crate) fn members(self, block: &[u8; CLASSES_BLOCK], two: u64, three: u64, set: &CharSet) -> u64 {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => {
                // SAFETY: the level exists, so the CPU has AVX-512 (see [`Level`]).
                unsafe { avx512::members(block, two, three, set) }
            }
            _ => set.portable(block, two, three),
        }
    }

    /// Replaces each hash `h` by `mix64(h + offset)`.
    pub(crate) fn mix(self, hashes: &mut [u64], offset: u64) {
        self.compiled(
            #[inline(always)]
            || portable::mix(hashes, offset),
        );
    }

    /// Moves the hashes that are in neither of their [`places_of`] a table to the front, in order, and returns their
    /// number. Free slots hold `free`. A table has at least one slot, and fewer than 2^32.
    pub(crate) fn absent(self, hashes: &mut [u64], table: &[u64], free: u64) -> usize {
        match self.0 {
            // SAFETY: the level exists, so the CPU has AVX-512 (see [`Level`]).
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => unsafe { avx512::absent(hashes, table, free) },
            _ => portable::absent(hashes, table, free, (0, 0)),
        }
    }

    /// A round of fss. Each hash `h` draws `z`, which is `h` in round 0 and `mix64(h + round * G)` later. It lowers
    /// slot `hi32(z) * K >> 32` to `round << 28 | lo32(z) >> 4`, if that is less.
    ///
    /// `packed` is scratch memory.
    pub(crate) fn scatter_min(self, hashes: &[u64], round: u32, slots: &mut [u32], packed: &mut Packed) {
        for part in hashes.chunks(BLOCK.max(slots.len())) {
            let draws = self.compiled(
                #[inline(always)]
                || Draws::new(round, slots),
            );
            for block in part.chunks(BLOCK) {
                // Packs the wanted draws at the front of `packed`.
                let count = kernel!(self, draw(&draws, block, packed));
                portable::lower(&packed[..count], slots);
            }
        }
    }

    /// Lowers each of `minima` to the least `a * lo32(h) + b` of its function. The three slices have the same length, a
    /// multiple of [`SLOT_LANES`].
    pub(crate) fn affine_min(self, hashes: &[u64], a: &[u32], b: &[u32], minima: &mut [u32]) {
        self.compiled(
            #[inline(always)]
            || portable::affine_min(hashes, a, b, minima),
        );
    }
}

/// Converts bytes to text in place, if they are UTF-8.
pub(crate) fn into_text(bytes: Vec<u8>) -> Option<String> {
    simdutf8::basic::from_utf8(&bytes).ok()?;
    // SAFETY: the line above has checked that the bytes are UTF-8.
    Some(unsafe { String::from_utf8_unchecked(bytes) })
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    // Every known CPU with AVX2 has these bit instructions too.
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    // Every such CPU has AVX2, and the instructions that come with it.
    has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vbmi")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix::mix64;

    #[test]
    fn hashes_in_a_table_are_left_out() {
        for level in Level::available() {
            for seed in 0..200 {
                let mut hashes: Vec<u64> = (0..seed * 7 % 257).map(|i| mix64(mix64(seed) + i)).collect();
                let (mut table, free) = (vec![seed; 1 << (seed % 7)], seed);
                for (number, hash) in hashes.iter().enumerate() {
                    let at = places_of(*hash, table.len())[number % 2];
                    table[at] = *hash;
                }
                hashes.push(free);
                let is_there = |hash: &&u64| {
                    **hash != free && places_of(**hash, table.len()).iter().any(|at| table[*at] == **hash)
                };
                let wanted: Vec<u64> = hashes.iter().filter(|hash| !is_there(hash)).copied().collect();
                let count = level.absent(&mut hashes, &table, free);
                assert_eq!(hashes[..count], wanted, "{level}: {seed}");
            }
        }
    }
}
