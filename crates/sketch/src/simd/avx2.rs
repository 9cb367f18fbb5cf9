//! The operations in AVX2: four hashes, or eight slots, per vector.

use std::arch::x86_64::*;

use crate::hash::mix::{MIX_1, MIX_2};
use crate::hash::xxh3::{
    FLIP_1TO3, FLIP_4TO8, FLIP_HIGH, FLIP_LOW, PRIME_MX1, PRIME_MX2, PRIME64_2, PRIME64_3,
};

use super::classes::BLOCK;
use super::portable;
use super::portable::{Draws, Packed, WantedDraws};
use super::ranges::Fetched;
use super::windows::{CONTROL, REVERSE};

/// XXH3_64 of the windows of `width` (1 to 16) bytes that start at the first
/// `out.len()` bytes. Needs a multiple of 4 windows, and 28 bytes from the
/// last 8 on.
#[target_feature(enable = "avx2")]
pub(super) fn windows(bytes: &[u8], width: usize, out: &mut [u64]) {
    // The first half of the table: four windows.
    let control = load_bytes(&CONTROL[width]);
    let (steps, _) = out.as_chunks_mut::<4>();
    let starts = (0..).step_by(4);
    match width {
        1..=3 => {
            let length = splat((width as u64) << 8);
            for (step, at) in steps.iter_mut().zip(starts) {
                let combined = _mm256_shuffle_epi8(broadcast(bytes, at), control);
                store(step, hash_1_to_3(_mm256_or_si256(combined, length)));
            }
        }
        4..=8 => {
            let length = splat(width as u64);
            for (step, at) in steps.iter_mut().zip(starts) {
                let word = _mm256_shuffle_epi8(broadcast(bytes, at), control);
                store(step, hash_4_to_8(word, length));
            }
        }
        _ => {
            let length = splat(width as u64);
            for (step, at) in steps.iter_mut().zip(starts) {
                let low = _mm256_shuffle_epi8(broadcast(bytes, at), control);
                let high = _mm256_shuffle_epi8(broadcast(bytes, at + width - 8), control);
                store(step, hash_9_to_16(low, high, length));
            }
        }
    }
}

/// XXH3_64 of the first `out.len()` ranges, a multiple of 4; of those longer than 16 bytes it is
/// anything.
#[target_feature(enable = "avx2")]
pub(super) fn ranges(ranges: &Fetched, out: &mut [u64]) {
    let (lows, _) = ranges.low.as_chunks::<4>();
    let (highs, _) = ranges.high.as_chunks::<4>();
    let (lengths, _) = ranges.length.as_chunks::<4>();
    let (out, _) = out.as_chunks_mut::<4>();
    for (((low, high), length), out) in lows.iter().zip(highs).zip(lengths).zip(out) {
        let (low, high, length) = (load(low), load(high), load(length));
        let long = _mm256_cmpgt_epi64(length, splat(8));
        let short = _mm256_cmpgt_epi64(splat(4), length);
        let number = _mm256_movemask_pd(_mm256_castsi256_pd(long));
        // Most vectors are of one formula.
        let mut hashes = if number == 0xF {
            hash_9_to_16(low, high, length)
        } else {
            let last = _mm256_srli_epi64::<32>(high);
            let word = _mm256_or_si256(_mm256_slli_epi64::<32>(low), last);
            hash_4_to_8(word, length)
        };
        if number != 0 && number != 0xF {
            hashes = _mm256_blendv_epi8(hashes, hash_9_to_16(low, high, length), long);
        }
        if _mm256_testz_si256(short, short) == 0 {
            let byte = splat(0xFF);
            let half = _mm256_slli_epi64::<3>(_mm256_srli_epi64::<1>(length));
            let middle = _mm256_and_si256(_mm256_srlv_epi64(low, half), byte);
            let first = _mm256_slli_epi64::<16>(_mm256_and_si256(low, byte));
            let last = _mm256_srli_epi64::<56>(high);
            let combined = _mm256_or_si256(first, _mm256_slli_epi64::<24>(middle));
            let combined = _mm256_or_si256(combined, last);
            let combined = _mm256_or_si256(combined, _mm256_slli_epi64::<8>(length));
            hashes = _mm256_blendv_epi8(hashes, hash_1_to_3(combined), short);
        }
        store(out, hashes);
    }
}

#[target_feature(enable = "avx2")]
fn hash_1_to_3(combined: __m256i) -> __m256i {
    let h = _mm256_xor_si256(combined, splat(FLIP_1TO3));
    let h = multiply::<PRIME64_2>(xor_shift::<33>(h));
    let h = multiply::<PRIME64_3>(xor_shift::<29>(h));
    xor_shift::<32>(h)
}

#[target_feature(enable = "avx2")]
fn hash_4_to_8(word: __m256i, length: __m256i) -> __m256i {
    let h = _mm256_xor_si256(word, splat(FLIP_4TO8));
    let r49 = _mm256_or_si256(_mm256_slli_epi64::<49>(h), _mm256_srli_epi64::<15>(h));
    let r24 = _mm256_or_si256(_mm256_slli_epi64::<24>(h), _mm256_srli_epi64::<40>(h));
    let h = _mm256_xor_si256(h, _mm256_xor_si256(r49, r24));
    let h = multiply::<PRIME_MX2>(h);
    let shifted = _mm256_add_epi64(_mm256_srli_epi64::<35>(h), length);
    let h = multiply::<PRIME_MX2>(_mm256_xor_si256(h, shifted));
    xor_shift::<28>(h)
}

#[target_feature(enable = "avx2")]
fn hash_9_to_16(low: __m256i, high: __m256i, length: __m256i) -> __m256i {
    let low = _mm256_xor_si256(low, splat(FLIP_LOW));
    let high = _mm256_xor_si256(high, splat(FLIP_HIGH));
    let reversed = _mm256_shuffle_epi8(low, load_bytes(&REVERSE));
    let sum = _mm256_add_epi64(_mm256_add_epi64(reversed, high), length);
    let h = _mm256_add_epi64(sum, fold_product(low, high));
    let h = multiply::<PRIME_MX1>(xor_shift::<37>(h));
    xor_shift::<32>(h)
}

/// The lower half of the 128-bit product, XOR the upper.
#[target_feature(enable = "avx2")]
fn fold_product(a: __m256i, b: __m256i) -> __m256i {
    let lower = splat(u64::from(u32::MAX));
    // Shuffled, not shifted: of shifts the compiler sees what is computed, and takes the lanes
    // apart to multiply each by itself.
    let (a_high, b_high) = (_mm256_shuffle_epi32::<0xF5>(a), _mm256_shuffle_epi32::<0xF5>(b));
    let ll = _mm256_mul_epu32(a, b);
    let lh = _mm256_mul_epu32(a, b_high);
    let hl = _mm256_mul_epu32(a_high, b);
    let hh = _mm256_mul_epu32(a_high, b_high);
    // At most 2^64 - 1: no carry is lost.
    let middle = _mm256_add_epi64(_mm256_srli_epi64::<32>(ll), _mm256_and_si256(lh, lower));
    let middle = _mm256_add_epi64(middle, hl);
    let upper = _mm256_add_epi64(hh, _mm256_srli_epi64::<32>(lh));
    let upper = _mm256_add_epi64(upper, _mm256_srli_epi64::<32>(middle));
    let bottom = _mm256_or_si256(_mm256_slli_epi64::<32>(middle), _mm256_and_si256(ll, lower));
    _mm256_xor_si256(bottom, upper)
}

/// The lower half of the product with a constant. AVX2 multiplies 32 bits.
#[target_feature(enable = "avx2")]
fn multiply<const FACTOR: u64>(h: __m256i) -> __m256i {
    let (low, high) = (splat(FACTOR), splat(FACTOR >> 32));
    let cross = _mm256_add_epi64(
        _mm256_mul_epu32(_mm256_srli_epi64::<32>(h), low),
        _mm256_mul_epu32(h, high),
    );
    _mm256_add_epi64(_mm256_mul_epu32(h, low), _mm256_slli_epi64::<32>(cross))
}

/// Runs `work` with these instructions.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn compiled<T>(work: impl FnOnce() -> T) -> T {
    work()
}

/// The uppermost bit of each byte.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn upper_bits(block: &[u8; BLOCK]) -> u64 {
    let (halves, _) = block.as_chunks::<{ BLOCK / 2 }>();
    let bits = |half| u64::from(_mm256_movemask_epi8(load_half(half)) as u32);
    bits(&halves[0]) | bits(&halves[1]) << 32
}

#[target_feature(enable = "avx2")]
fn load_half(half: &[u8; BLOCK / 2]) -> __m256i {
    // SAFETY: 32 bytes are readable, and need no alignment.
    unsafe { _mm256_loadu_si256(half.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
pub(super) fn mix(hashes: &mut [u64], offset: u64) {
    portable::mix(hashes, offset);
}

#[target_feature(enable = "avx2")]
pub(super) fn plan(round: u32, slots: &[u32]) -> Draws {
    Draws::new(round, slots)
}

/// Writes the wanted draws of `hashes` to the front of `packed` and returns
/// their number.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn draw(draws: &Draws, hashes: &[u64], packed: &mut Packed) -> usize {
    match draws.wanted {
        WantedDraws::All => draw_wanted(draws, hashes, packed, |_| splat(u64::MAX)),
        WantedDraws::Below(limit) => {
            // The comparison is signed, but of the first round: below 2^60.
            let limit = splat(limit);
            draw_wanted(draws, hashes, packed, |draw| _mm256_cmpgt_epi64(limit, draw))
        }
        WantedDraws::To(bitmap) => {
            // SAFETY: the array is one vector of memory.
            let bitmap = unsafe { _mm256_loadu_si256(bitmap.as_ptr().cast()) };
            draw_wanted(draws, hashes, packed, |draw| {
                let word = _mm256_permutevar8x32_epi32(bitmap, _mm256_srli_epi32::<5>(draw));
                // The bit moves to the sign of the lane.
                let bit = _mm256_andnot_si256(draw, splat(31));
                _mm256_slli_epi64::<32>(_mm256_sllv_epi32(word, bit))
            })
        }
    }
}

/// `wanted` answers in the sign of each lane.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn draw_wanted(
    draws: &Draws,
    hashes: &[u64],
    packed: &mut Packed,
    wanted: impl Fn(__m256i) -> __m256i,
) -> usize {
    let (slots, offset) = (splat(draws.count), splat(draws.offset));
    let (round, value) = (splat(draws.round), splat(0xFFFF_FFF0));
    let (vectors, rest) = hashes.as_chunks::<4>();
    let mut count = 0;
    for vector in vectors {
        let mut z = load(vector);
        if draws.offset != 0 {
            z = mix_vector(_mm256_add_epi64(z, offset));
        }
        let slot = _mm256_mul_epu32(_mm256_srli_epi64::<32>(z), slots);
        let slot = _mm256_srli_epi64::<32>(slot);
        let value = _mm256_slli_epi64::<28>(_mm256_and_si256(z, value));
        let draw = _mm256_or_si256(_mm256_or_si256(round, value), slot);
        let wanted = _mm256_movemask_pd(_mm256_castsi256_pd(wanted(draw)));
        let Some(room) = packed[count..].first_chunk_mut() else {
            break;
        };
        let [order] = load_slots(&[COMPRESS[wanted as usize & 15]]);
        store(room, _mm256_permutevar8x32_epi32(draw, order));
        count += wanted.count_ones() as usize;
    }
    draws.portable(rest, packed, count)
}

/// [`mix64`](crate::hash::mix::mix64) of each lane.
#[target_feature(enable = "avx2")]
fn mix_vector(z: __m256i) -> __m256i {
    let z = multiply::<MIX_1>(xor_shift::<30>(z));
    let z = multiply::<MIX_2>(xor_shift::<27>(z));
    xor_shift::<31>(z)
}

/// `COMPRESS[mask]`: the halves of the lanes in `mask`, moved to the front.
static COMPRESS: [[u32; 8]; 16] = {
    let mut orders = [[0; 8]; 16];
    let mut mask = 0;
    while mask < 16 {
        let (mut lane, mut count) = (0, 0);
        while lane < 4 {
            if mask >> lane & 1 == 1 {
                orders[mask][2 * count] = 2 * lane;
                orders[mask][2 * count + 1] = 2 * lane + 1;
                count += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    orders
};

#[target_feature(enable = "avx2")]
pub(super) fn affine_min(hashes: &[u64], a: &[u32], b: &[u32], minima: &mut [u32]) {
    let wide = minima.len() / 32 * 32;
    let (wide_minima, minima) = minima.split_at_mut(wide);
    affine_min_blocks::<4>(hashes, &a[..wide], &b[..wide], wide_minima);
    affine_min_blocks::<1>(hashes, &a[wide..], &b[wide..], minima);
}

/// Walks the hashes once per block of `V` vectors of slots, which stay in
/// registers.
#[target_feature(enable = "avx2")]
fn affine_min_blocks<const V: usize>(hashes: &[u64], a: &[u32], b: &[u32], minima: &mut [u32]) {
    let (a, _) = a.as_chunks::<8>();
    let (b, _) = b.as_chunks::<8>();
    let (minima, _) = minima.as_chunks_mut::<8>();
    let blocks = a.as_chunks::<V>().0.iter().zip(b.as_chunks::<V>().0);
    for ((a, b), minima) in blocks.zip(minima.as_chunks_mut::<V>().0) {
        let (a, b): ([_; V], [_; V]) = (load_slots(a), load_slots(b));
        let mut least = load_slots(minima);
        for &h in hashes {
            let h = _mm256_set1_epi32(h as i32);
            for i in 0..V {
                let value = _mm256_add_epi32(_mm256_mullo_epi32(a[i], h), b[i]);
                least[i] = _mm256_min_epu32(least[i], value);
            }
        }
        for (slots, least) in minima.iter_mut().zip(least) {
            // SAFETY: the array is one vector of memory.
            unsafe { _mm256_storeu_si256(slots.as_mut_ptr().cast(), least) }
        }
    }
}

#[target_feature(enable = "avx2")]
fn load_slots<const V: usize>(slots: &[[u32; 8]; V]) -> [__m256i; V] {
    let mut vectors = [_mm256_setzero_si256(); V];
    for (vector, slots) in vectors.iter_mut().zip(slots) {
        // SAFETY: the array is one vector of memory.
        *vector = unsafe { _mm256_loadu_si256(slots.as_ptr().cast()) };
    }
    vectors
}

#[target_feature(enable = "avx2")]
fn xor_shift<const BITS: i32>(h: __m256i) -> __m256i {
    _mm256_xor_si256(h, _mm256_srli_epi64::<BITS>(h))
}

#[target_feature(enable = "avx2")]
fn splat(value: u64) -> __m256i {
    _mm256_set1_epi64x(value as i64)
}

/// The 16 bytes from `at` on, in both 128-bit lanes.
#[target_feature(enable = "avx2")]
fn broadcast(bytes: &[u8], at: usize) -> __m256i {
    let group = &bytes[at..at + 16];
    // SAFETY: the slice is 16 bytes of memory.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(group.as_ptr().cast()) })
}

/// The first half of 64 bytes.
#[target_feature(enable = "avx2")]
fn load_bytes(bytes: &[u8; 64]) -> __m256i {
    // SAFETY: the array is two vectors of memory.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
fn load(values: &[u64; 4]) -> __m256i {
    // SAFETY: the array is one vector of memory.
    unsafe { _mm256_loadu_si256(values.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
fn store(values: &mut [u64; 4], vector: __m256i) {
    // SAFETY: the array is one vector of memory.
    unsafe { _mm256_storeu_si256(values.as_mut_ptr().cast(), vector) }
}
