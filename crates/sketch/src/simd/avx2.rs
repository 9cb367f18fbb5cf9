//! The kernels in AVX2: four hashes, or eight slots, per vector.

use std::arch::x86_64::*;
use std::arch::x86_64::{
    __m256i as Vector, _mm256_add_epi64 as add, _mm256_and_si256 as and, _mm256_loadu_si256 as load_at,
    _mm256_mul_epu32 as multiply_halves, _mm256_or_si256 as or, _mm256_set1_epi64x as splat_signed,
    _mm256_shuffle_epi8 as shuffle, _mm256_shuffle_epi32 as shuffle_halves, _mm256_slli_epi64 as shl,
    _mm256_srli_epi64 as shr, _mm256_srlv_epi64 as shr_each, _mm256_storeu_si256 as store_at, _mm256_xor_si256 as xor,
};

use crate::hash::mix::{MIX_1, MIX_2};
use crate::hash::xxh3::{FLIP_1TO3, FLIP_4TO8, FLIP_HIGH, FLIP_LOW, PRIME_MX1, PRIME_MX2, PRIME64_2, PRIME64_3};

use super::classes::BLOCK;
use super::kernels::kernels;
use super::portable::{Draws, Packed, WantedDraws};
use super::ranges::{self, CONTROL, Fetched, REVERSE};

const LANES: usize = 4;

kernels!("avx2,bmi1,bmi2,lzcnt,popcnt");

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn ranges(bytes: &[u8], starts: &[u32], ends: &[u32], out: &mut [u64]) {
    ranges::grouped(bytes, starts, ends, out, |ranges, out| fetched_ranges(ranges, out));
}

/// XXH3_64 of the first `out.len()` ranges, a multiple of 4. It is arbitrary for ranges longer than 16 bytes.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn fetched_ranges(ranges: &Fetched, out: &mut [u64]) {
    let (lows, _) = ranges.low.as_chunks();
    let (highs, _) = ranges.high.as_chunks();
    let (lengths, _) = ranges.length.as_chunks();
    let (out, _) = out.as_chunks_mut();
    for (((low, high), length), out) in lows.iter().zip(highs).zip(lengths).zip(out) {
        store(out, hash_up_to_16(load(low), load(high), load(length)));
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn upper_bits(block: &[u8; BLOCK]) -> u64 {
    let (halves, _) = block.as_chunks::<{ BLOCK / 2 }>();
    let bits = |half: &[u8; BLOCK / 2]| {
        // SAFETY: the array has the size of a vector.
        u64::from(_mm256_movemask_epi8(unsafe { load_at(half.as_ptr().cast()) }) as u32)
    };
    bits(&halves[0]) | bits(&halves[1]) << 32
}

/// The lower half of the product with a constant. AVX2 multiplies 32 bits at a time.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn multiply<const FACTOR: u64>(h: Vector) -> Vector {
    let (low, high) = (splat(FACTOR), splat(FACTOR >> 32));
    let cross = add(multiply_halves(shr::<32>(h), low), multiply_halves(h, high));
    add(multiply_halves(h, low), shl::<32>(cross))
}

/// The lanes where `a` is greater than `b`; both are below 2^63.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn above(a: Vector, b: Vector) -> Vector {
    _mm256_cmpgt_epi64(a, b)
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn bits(lanes: Vector) -> u8 {
    _mm256_movemask_pd(_mm256_castsi256_pd(lanes)) as u8
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn choose(lanes: Vector, yes: Vector, no: Vector) -> Vector {
    _mm256_blendv_epi8(no, yes, lanes)
}

/// The lanes whose slot has its bit set.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn in_bitmap(draw: Vector, bitmap: __m256i) -> u8 {
    let word = _mm256_permutevar8x32_epi32(bitmap, _mm256_srli_epi32::<5>(draw));
    // Moves the bit to the sign of the lane.
    let bit = _mm256_andnot_si256(draw, splat(31));
    bits(shl::<32>(_mm256_sllv_epi32(word, bit)))
}

/// Moves the lanes in `mask` to the front.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn compress(mask: u8, draw: Vector) -> Vector {
    _mm256_permutevar8x32_epi32(draw, load(&COMPRESS[mask as usize & 15]))
}

/// `COMPRESS[mask]`: the numbers of the halves of the lanes in `mask`, moved to the front.
static COMPRESS: [[u64; LANES]; 16] = {
    let mut orders = [[0; LANES]; 16];
    let mut mask = 0;
    while mask < 16 {
        let (mut lane, mut count) = (0, 0);
        while lane < LANES {
            if mask >> lane & 1 == 1 {
                let half = 2 * lane as u64;
                orders[mask][count] = half | (half + 1) << 32;
                count += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    orders
};

/// The 16 bytes from `at`, in both 128-bit lanes.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn broadcast(bytes: &[u8], at: usize) -> Vector {
    let group = &bytes[at..at + 16];
    // SAFETY: the slice has 16 bytes.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(group.as_ptr().cast()) })
}
