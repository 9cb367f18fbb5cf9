//! The operations in AVX-512 (F, BW, DQ, VBMI): eight hashes, or sixteen slots, per
//! vector.

use std::arch::x86_64::*;

use crate::hash::mix::{MIX_1, MIX_2};
use crate::hash::xxh3::{
    FLIP_1TO3, FLIP_4TO8, FLIP_HIGH, FLIP_LOW, PRIME_MX1, PRIME_MX2, PRIME64_2, PRIME64_3,
};

use super::classes::{BLOCK, CharSet, SINGLE};
use super::portable;
use super::portable::{Draws, Packed, WantedDraws};
use super::ranges::{self, MAX_LENGTH};
use super::windows::{CONTROL, REVERSE, STEP};

/// XXH3_64 of the windows of `width` (1 to 16) bytes that start at the first
/// `out.len()` bytes. Needs a multiple of [`STEP`] windows, and 24 bytes from
/// the last step on.
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
pub(super) fn windows(bytes: &[u8], width: usize, out: &mut [u64]) {
    let control = load_bytes(&CONTROL[width]);
    let (steps, _) = out.as_chunks_mut::<STEP>();
    let starts = (0..).step_by(STEP);
    match width {
        1..=3 => {
            let length = splat((width as u64) << 8);
            for (step, at) in steps.iter_mut().zip(starts) {
                let combined = _mm512_shuffle_epi8(broadcast(bytes, at), control);
                store(step, hash_1_to_3(_mm512_or_si512(combined, length)));
            }
        }
        4..=8 => {
            let length = splat(width as u64);
            for (step, at) in steps.iter_mut().zip(starts) {
                let word = _mm512_shuffle_epi8(broadcast(bytes, at), control);
                store(step, hash_4_to_8(word, length));
            }
        }
        _ => {
            let length = splat(width as u64);
            for (step, at) in steps.iter_mut().zip(starts) {
                let low = _mm512_shuffle_epi8(broadcast(bytes, at), control);
                let high = _mm512_shuffle_epi8(broadcast(bytes, at + width - 8), control);
                store(step, hash_9_to_16(low, high, length));
            }
        }
    }
}

/// XXH3_64 of ranges of `bytes`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn ranges(bytes: &[u8], starts: &[u32], ends: &[u32], out: &mut [u64]) {
    ranges::eights(bytes, starts, ends, out, |starts, ends, out| {
        eight_ranges(bytes, starts, ends, out)
    });
}

/// XXH3_64 of eight ranges of `bytes`; the lanes of longer ones than 16 bytes, or empty ones, as
/// bits. `None` if eight bytes cannot be read from each start on, or up to each end.
///
/// If all are within 64 bytes, as windows of characters are, one permutation brings them to their
/// lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
fn eight_ranges(
    bytes: &[u8],
    starts: &[u32; 8],
    ends: &[u32; 8],
    out: &mut [u64; 8],
) -> Option<u8> {
    let base = starts[0].min(ends[0].checked_sub(8)?);
    let near = bytes.get(base as usize..)?;
    let (starts_of, ends_of) = (load_numbers(starts), load_numbers(ends));
    let length = _mm512_sub_epi64(ends_of, starts_of);
    let (low, high) = if ends[7].wrapping_sub(base) <= 64 {
        let near = match near.first_chunk() {
            Some(near) => load_bytes(near),
            None => load_some(near),
        };
        // A short range may have neighbours, or anything, behind it: no formula reads that.
        let first = _mm512_sub_epi64(starts_of, splat(u64::from(base)));
        let last = _mm512_sub_epi64(ends_of, splat(u64::from(base) + 8));
        let low = _mm512_permutexvar_epi8(eight_from(first), near);
        (low, _mm512_permutexvar_epi8(eight_from(last), near))
    } else {
        let most = splat((bytes.len() as u64).checked_sub(8)?);
        let last = _mm512_sub_epi64(ends_of, splat(8));
        // An end before the eighth byte is beyond, too: it wrapped around.
        let beyond = _mm512_cmpgt_epu64_mask(starts_of, most) | _mm512_cmpgt_epu64_mask(last, most);
        if beyond != 0 {
            return None;
        }
        let text = bytes.as_ptr().cast();
        // SAFETY: eight bytes from each of these places on are bytes of the slice.
        unsafe {
            let low = _mm512_i64gather_epi64::<1>(starts_of, text);
            (low, _mm512_i64gather_epi64::<1>(last, text))
        }
    };
    store(out, hash_up_to_16(low, high, length));
    Some(_mm512_cmpge_epu64_mask(_mm512_sub_epi64(length, splat(1)), splat(MAX_LENGTH)))
}

/// Fewer bytes than a vector, and zeros behind them.
#[cold]
#[target_feature(enable = "avx512f")]
fn load_some(bytes: &[u8]) -> __m512i {
    let mut padded = [0; 64];
    let count = bytes.len().min(64);
    padded[..count].copy_from_slice(&bytes[..count]);
    load_bytes(&padded)
}

/// In each lane the eight numbers from its own on, as bytes.
#[target_feature(enable = "avx512f,avx512bw")]
fn eight_from(first: __m512i) -> __m512i {
    let repeated = _mm512_shuffle_epi8(first, _mm512_set4_epi32(0x0808_0808, 0x0808_0808, 0, 0));
    _mm512_add_epi8(repeated, splat(0x0706_0504_0302_0100))
}

#[target_feature(enable = "avx512f")]
fn load_numbers(numbers: &[u32; 8]) -> __m512i {
    // SAFETY: the array is half a vector of memory.
    _mm512_cvtepu32_epi64(unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) })
}

/// XXH3_64 of what has its first eight bytes in `low`, and its last eight in `high`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
fn hash_up_to_16(low: __m512i, high: __m512i, length: __m512i) -> __m512i {
    let long = _mm512_cmpgt_epu64_mask(length, splat(8));
    let short = _mm512_cmplt_epu64_mask(length, splat(4));
    // Most vectors are of one formula.
    let mut hashes = if long == 0xFF {
        hash_9_to_16(low, high, length)
    } else {
        let last = _mm512_srli_epi64::<32>(high);
        hash_4_to_8(_mm512_or_si512(_mm512_slli_epi64::<32>(low), last), length)
    };
    if long != 0 && long != 0xFF {
        hashes = _mm512_mask_mov_epi64(hashes, long, hash_9_to_16(low, high, length));
    }
    if short != 0 {
        let byte = splat(0xFF);
        let half = _mm512_slli_epi64::<3>(_mm512_srli_epi64::<1>(length));
        let middle = _mm512_and_si512(_mm512_srlv_epi64(low, half), byte);
        let first = _mm512_slli_epi64::<16>(_mm512_and_si512(low, byte));
        let last = _mm512_srli_epi64::<56>(high);
        let combined = _mm512_or_si512(first, _mm512_slli_epi64::<24>(middle));
        let combined = _mm512_or_si512(combined, last);
        let combined = _mm512_or_si512(combined, _mm512_slli_epi64::<8>(length));
        hashes = _mm512_mask_mov_epi64(hashes, short, hash_1_to_3(combined));
    }
    hashes
}

/// Writes the numbers of the bits that are set, each with `first` added, to the front of `out`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn positions(bits: u64, first: u32, out: &mut [u32; 64]) {
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let mut count = 0;
    for quarter in 0..4 {
        let mask = (bits >> (16 * quarter)) as u16;
        let numbers = _mm512_add_epi32(lanes, _mm512_set1_epi32((first + 16 * quarter) as i32));
        let packed = _mm512_maskz_compress_epi32(mask, numbers);
        // At most 16 for each quarter before.
        if let Some(room) = out[count..].first_chunk_mut::<16>() {
            // SAFETY: the array is one vector of memory.
            unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), packed) }
        }
        count += mask.count_ones() as usize;
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
fn hash_1_to_3(combined: __m512i) -> __m512i {
    let h = _mm512_xor_si512(combined, splat(FLIP_1TO3));
    let h = _mm512_mullo_epi64(xor_shift::<33>(h), splat(PRIME64_2));
    let h = _mm512_mullo_epi64(xor_shift::<29>(h), splat(PRIME64_3));
    xor_shift::<32>(h)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
fn hash_4_to_8(word: __m512i, length: __m512i) -> __m512i {
    let h = _mm512_xor_si512(word, splat(FLIP_4TO8));
    let (r49, r24) = (_mm512_rol_epi64::<49>(h), _mm512_rol_epi64::<24>(h));
    // 0x96: the exclusive or of all three.
    let h = _mm512_ternarylogic_epi64::<0x96>(h, r49, r24);
    let h = _mm512_mullo_epi64(h, splat(PRIME_MX2));
    let shifted = _mm512_add_epi64(_mm512_srli_epi64::<35>(h), length);
    let h = _mm512_mullo_epi64(_mm512_xor_si512(h, shifted), splat(PRIME_MX2));
    xor_shift::<28>(h)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
fn hash_9_to_16(low: __m512i, high: __m512i, length: __m512i) -> __m512i {
    let low = _mm512_xor_si512(low, splat(FLIP_LOW));
    let high = _mm512_xor_si512(high, splat(FLIP_HIGH));
    let reversed = _mm512_shuffle_epi8(low, load_bytes(&REVERSE));
    let sum = _mm512_add_epi64(_mm512_add_epi64(reversed, high), length);
    let h = _mm512_add_epi64(sum, fold_product(low, high));
    let h = _mm512_mullo_epi64(xor_shift::<37>(h), splat(PRIME_MX1));
    xor_shift::<32>(h)
}

/// The lower half of the 128-bit product, XOR the upper.
#[target_feature(enable = "avx512f,avx512dq")]
fn fold_product(a: __m512i, b: __m512i) -> __m512i {
    let lower = splat(u64::from(u32::MAX));
    // Shuffled, not shifted: of shifts the compiler sees what is computed, and takes the lanes
    // apart to multiply each by itself.
    let (a_high, b_high) = (_mm512_shuffle_epi32::<0xF5>(a), _mm512_shuffle_epi32::<0xF5>(b));
    let ll = _mm512_mul_epu32(a, b);
    let lh = _mm512_mul_epu32(a, b_high);
    let hl = _mm512_mul_epu32(a_high, b);
    let hh = _mm512_mul_epu32(a_high, b_high);
    // At most 2^64 - 1: no carry is lost.
    let middle = _mm512_add_epi64(_mm512_srli_epi64::<32>(ll), _mm512_and_si512(lh, lower));
    let middle = _mm512_add_epi64(middle, hl);
    let upper = _mm512_add_epi64(hh, _mm512_srli_epi64::<32>(lh));
    let upper = _mm512_add_epi64(upper, _mm512_srli_epi64::<32>(middle));
    let bottom = _mm512_or_si512(_mm512_slli_epi64::<32>(middle), _mm512_and_si512(ll, lower));
    _mm512_xor_si512(bottom, upper)
}

/// Runs `work` with these instructions.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn compiled<T>(work: impl FnOnce() -> T) -> T {
    work()
}

/// The uppermost bit of each byte.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
pub(super) fn upper_bits(block: &[u8; BLOCK]) -> u64 {
    _mm512_movepi8_mask(load_bytes(block))
}

/// Those of the characters that start at `two` and `three` which are in a set.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
pub(super) fn members(block: &[u8; BLOCK], two: u64, three: u64, set: &CharSet) -> u64 {
    let first = load_bytes(block);
    let ascending = load_bytes(&ASCENDING);
    let behind = |bytes| {
        let from = _mm512_add_epi8(ascending, _mm512_set1_epi8(bytes));
        _mm512_permutexvar_epi8(from, first)
    };
    let second = behind(1);
    let seven = _mm512_set1_epi8(7);
    // The byte of the table, and the bit in it: five or four bits of the first byte, and six of
    // the second.
    let upper = _mm512_and_si512(_mm512_srli_epi16::<3>(second), seven);
    let place = _mm512_or_si512(
        _mm512_slli_epi16::<3>(_mm512_and_si512(first, _mm512_set1_epi8(0x1F))),
        upper,
    );
    let bit_of =
        |byte| _mm512_shuffle_epi8(splat(0x8040_2010_0804_0201), _mm512_and_si512(byte, seven));
    let bit = bit_of(second);
    let mut found = 0;
    if two != 0 {
        let [a, b, c, d] = load_words(&set.two);
        let low = _mm512_permutex2var_epi8(a, place, b);
        let high = _mm512_permutex2var_epi8(c, place, d);
        let byte = _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(place), high);
        found |= _mm512_test_epi8_mask(byte, bit) & two;
    }
    if three != 0 {
        let [a, b] = load_words(&set.three);
        let byte = _mm512_permutex2var_epi8(a, place, b);
        let mut of_three = _mm512_test_epi8_mask(byte, bit);
        // The number of the 64 characters, less that of the first which are single: eight bits of
        // it are enough, where the first byte says that the others are zero.
        let high = _mm512_slli_epi16::<6>(_mm512_and_si512(first, _mm512_set1_epi8(3)));
        let low = _mm512_and_si512(second, _mm512_set1_epi8(0x3F));
        let word =
            _mm512_sub_epi8(_mm512_or_si512(high, low), _mm512_set1_epi8(SINGLE.start as i8));
        let first_few = _mm512_cmplt_epu8_mask(first, _mm512_set1_epi8(0xE3_u8 as i8));
        let single = _mm512_cmplt_epu8_mask(word, _mm512_set1_epi8(SINGLE.len() as i8)) & first_few;
        if single & three != 0 {
            let third = behind(2);
            let upper = _mm512_and_si512(_mm512_srli_epi16::<3>(third), seven);
            let place =
                _mm512_or_si512(_mm512_slli_epi16::<3>(_mm512_and_si512(word, seven)), upper);
            let [table] = load_words(&set.single);
            let byte = _mm512_permutexvar_epi8(place, table);
            let in_single = _mm512_test_epi8_mask(byte, bit_of(third));
            of_three = of_three & !single | in_single & single;
        }
        found |= of_three & three;
    }
    found
}

/// The numbers of the bytes of a vector.
static ASCENDING: [u8; BLOCK] = {
    let mut numbers = [0; BLOCK];
    let mut i = 0;
    while i < BLOCK {
        numbers[i] = i as u8;
        i += 1;
    }
    numbers
};

#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn mix(hashes: &mut [u64], offset: u64) {
    portable::mix(hashes, offset);
}

#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn plan(round: u32, slots: &[u32]) -> Draws {
    Draws::new(round, slots)
}

/// Writes the wanted draws of `hashes` to the front of `packed` and returns
/// their number.
#[target_feature(enable = "avx512f,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn draw(draws: &Draws, hashes: &[u64], packed: &mut Packed) -> usize {
    match draws.wanted {
        WantedDraws::All => draw_wanted(draws, hashes, packed, |_| u8::MAX),
        WantedDraws::Below(limit) => {
            let limit = splat(limit);
            draw_wanted(draws, hashes, packed, |draw| _mm512_cmplt_epu64_mask(draw, limit))
        }
        WantedDraws::To(bitmap) => {
            // SAFETY: the array is one vector of memory.
            let bitmap = unsafe { _mm256_loadu_si256(bitmap.as_ptr().cast()) };
            let bitmap = _mm512_castsi256_si512(bitmap);
            draw_wanted(draws, hashes, packed, |draw| {
                let word = _mm512_permutexvar_epi32(_mm512_srli_epi32::<5>(draw), bitmap);
                let bit = _mm512_and_si512(draw, splat(31));
                _mm512_test_epi64_mask(_mm512_srlv_epi32(word, bit), splat(1))
            })
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
fn draw_wanted(
    draws: &Draws,
    hashes: &[u64],
    packed: &mut Packed,
    wanted: impl Fn(__m512i) -> __mmask8,
) -> usize {
    let (slots, offset) = (splat(draws.count), splat(draws.offset));
    let (round, value) = (splat(draws.round), splat(0xFFFF_FFF0));
    let (vectors, rest) = hashes.as_chunks::<8>();
    let mut count = 0;
    for vector in vectors {
        let mut z = load(vector);
        if draws.offset != 0 {
            z = mix_vector(_mm512_add_epi64(z, offset));
        }
        let slot = _mm512_mul_epu32(_mm512_srli_epi64::<32>(z), slots);
        let slot = _mm512_srli_epi64::<32>(slot);
        let value = _mm512_slli_epi64::<28>(_mm512_and_si512(z, value));
        let draw = _mm512_or_si512(_mm512_or_si512(round, value), slot);
        let wanted = wanted(draw);
        let Some(room) = packed[count..].first_chunk_mut() else {
            break;
        };
        store(room, _mm512_maskz_compress_epi64(wanted, draw));
        count += wanted.count_ones() as usize;
    }
    draws.portable(rest, packed, count)
}

/// [`mix64`](crate::hash::mix::mix64) of each lane.
#[target_feature(enable = "avx512f,avx512dq")]
fn mix_vector(z: __m512i) -> __m512i {
    let z = _mm512_mullo_epi64(xor_shift::<30>(z), splat(MIX_1));
    let z = _mm512_mullo_epi64(xor_shift::<27>(z), splat(MIX_2));
    xor_shift::<31>(z)
}

#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn affine_min(hashes: &[u64], a: &[u32], b: &[u32], minima: &mut [u32]) {
    let wide = minima.len() / 64 * 64;
    let (wide_minima, minima) = minima.split_at_mut(wide);
    affine_min_blocks::<4>(hashes, &a[..wide], &b[..wide], wide_minima);
    affine_min_blocks::<1>(hashes, &a[wide..], &b[wide..], minima);
}

/// Walks the hashes once per block of `V` vectors of slots, which stay in
/// registers.
#[target_feature(enable = "avx512f,avx512dq")]
fn affine_min_blocks<const V: usize>(hashes: &[u64], a: &[u32], b: &[u32], minima: &mut [u32]) {
    let (a, _) = a.as_chunks::<16>();
    let (b, _) = b.as_chunks::<16>();
    let (minima, _) = minima.as_chunks_mut::<16>();
    let blocks = a.as_chunks::<V>().0.iter().zip(b.as_chunks::<V>().0);
    for ((a, b), minima) in blocks.zip(minima.as_chunks_mut::<V>().0) {
        let (a, b): ([_; V], [_; V]) = (load_slots(a), load_slots(b));
        let mut least = load_slots(minima);
        for &h in hashes {
            let h = _mm512_set1_epi32(h as i32);
            for i in 0..V {
                let value = _mm512_add_epi32(_mm512_mullo_epi32(a[i], h), b[i]);
                least[i] = _mm512_min_epu32(least[i], value);
            }
        }
        for (slots, least) in minima.iter_mut().zip(least) {
            // SAFETY: the array is one vector of memory.
            unsafe { _mm512_storeu_si512(slots.as_mut_ptr().cast(), least) }
        }
    }
}

#[target_feature(enable = "avx512f")]
fn load_slots<const V: usize>(slots: &[[u32; 16]; V]) -> [__m512i; V] {
    let mut vectors = [_mm512_setzero_si512(); V];
    for (vector, slots) in vectors.iter_mut().zip(slots) {
        // SAFETY: the array is one vector of memory.
        *vector = unsafe { _mm512_loadu_si512(slots.as_ptr().cast()) };
    }
    vectors
}

#[target_feature(enable = "avx512f")]
fn xor_shift<const BITS: u32>(h: __m512i) -> __m512i {
    _mm512_xor_si512(h, _mm512_srli_epi64::<BITS>(h))
}

#[target_feature(enable = "avx512f")]
fn splat(value: u64) -> __m512i {
    _mm512_set1_epi64(value as i64)
}

/// The 16 bytes from `at` on, in each of the four 128-bit lanes.
#[target_feature(enable = "avx512f")]
fn broadcast(bytes: &[u8], at: usize) -> __m512i {
    let group = &bytes[at..at + 16];
    // SAFETY: the slice is 16 bytes of memory.
    _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(group.as_ptr().cast()) })
}

#[target_feature(enable = "avx512f")]
fn load_bytes(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: the array is one vector of memory.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
fn load(values: &[u64; 8]) -> __m512i {
    // SAFETY: the array is one vector of memory.
    unsafe { _mm512_loadu_si512(values.as_ptr().cast()) }
}

/// Words as vectors, `V` for eight times as many.
#[target_feature(enable = "avx512f")]
fn load_words<const V: usize>(words: &[u64]) -> [__m512i; V] {
    let mut vectors = [_mm512_setzero_si512(); V];
    for (vector, words) in vectors.iter_mut().zip(words.as_chunks().0) {
        *vector = load(words);
    }
    vectors
}

#[target_feature(enable = "avx512f")]
fn store(values: &mut [u64; 8], vector: __m512i) {
    // SAFETY: the array is one vector of memory.
    unsafe { _mm512_storeu_si512(values.as_mut_ptr().cast(), vector) }
}
