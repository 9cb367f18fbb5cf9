//! The kernels in AVX-512 (F, BW, DQ, VBMI): eight hashes, or sixteen slots, per vector.

use std::arch::x86_64::*;
use std::arch::x86_64::{
    __m512i as Vector, _mm512_add_epi64 as add, _mm512_and_si512 as and, _mm512_cmpgt_epu64_mask as above,
    _mm512_loadu_si512 as load_at, _mm512_mul_epu32 as multiply_halves, _mm512_or_si512 as or,
    _mm512_set1_epi64 as splat_signed, _mm512_shuffle_epi8 as shuffle, _mm512_shuffle_epi32 as shuffle_halves,
    _mm512_slli_epi64 as shl, _mm512_srli_epi64 as shr, _mm512_srlv_epi64 as shr_each, _mm512_storeu_si512 as store_at,
    _mm512_xor_si512 as xor,
};

use crate::hash::mix::{MIX_1, MIX_2};
use crate::hash::xxh3::{FLIP_1TO3, FLIP_4TO8, FLIP_HIGH, FLIP_LOW, PRIME_MX1, PRIME_MX2, PRIME64_2, PRIME64_3};

use super::classes::{BLOCK, CharSet, SINGLE};
use super::kernels::kernels;
use super::portable::{self, Draws, Packed, WantedDraws};
use super::ranges::{self, CONTROL, MAX_LENGTH, REVERSE};

const LANES: usize = 8;

kernels!("avx512f,avx512bw,avx512dq,avx512vbmi,bmi1,bmi2,lzcnt,popcnt");

/// The lower half of the product with a constant.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
fn multiply<const FACTOR: u64>(h: Vector) -> Vector {
    _mm512_mullo_epi64(h, splat(FACTOR))
}

fn bits(lanes: __mmask8) -> u8 {
    lanes
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
fn choose(lanes: __mmask8, yes: Vector, no: Vector) -> Vector {
    _mm512_mask_mov_epi64(no, lanes, yes)
}

/// The lanes whose slot has its bit set.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
fn in_bitmap(draw: Vector, bitmap: __m256i) -> u8 {
    let bitmap = _mm512_castsi256_si512(bitmap);
    let word = _mm512_permutexvar_epi32(_mm512_srli_epi32::<5>(draw), bitmap);
    let bit = and(draw, splat(31));
    _mm512_test_epi64_mask(_mm512_srlv_epi32(word, bit), splat(1))
}

/// Moves the lanes in `mask` to the front.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
fn compress(mask: u8, draw: Vector) -> Vector {
    _mm512_maskz_compress_epi64(mask, draw)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn ranges(bytes: &[u8], starts: &[u32], ends: &[u32], out: &mut [u64]) {
    ranges::eights(bytes, starts, ends, out, |starts, ends, out| eight_ranges(bytes, starts, ends, out));
}

/// XXH3_64 of eight ranges of `bytes`. Returns the lanes of empty ranges and of ranges longer than 16 bytes, as bits.
/// `None` if eight bytes cannot be read after each start and before each end.
///
/// If all are within 64 bytes, as windows of characters are, one permutation moves them to their lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
fn eight_ranges(bytes: &[u8], starts: &[u32; 8], ends: &[u32; 8], out: &mut [u64; 8]) -> Option<u8> {
    let base = starts[0].min(ends[0].checked_sub(8)?);
    let near = bytes.get(base as usize..)?;
    let (starts_of, ends_of) = (load_numbers(starts), load_numbers(ends));
    let length = _mm512_sub_epi64(ends_of, starts_of);
    let (low, high) = if ends[7].wrapping_sub(base) <= 64 {
        let near = match near.first_chunk() {
            Some(near) => load_bytes(near),
            None => load_some(near),
        };
        // Other bytes may follow a short range; no formula reads them.
        let first = _mm512_sub_epi64(starts_of, splat(u64::from(base)));
        let last = _mm512_sub_epi64(ends_of, splat(u64::from(base) + 8));
        let low = _mm512_permutexvar_epi8(eight_from(first), near);
        (low, _mm512_permutexvar_epi8(eight_from(last), near))
    } else {
        let most = splat((bytes.len() as u64).checked_sub(8)?);
        let last = _mm512_sub_epi64(ends_of, splat(8));
        // An end before the eighth byte is out of range too: it wrapped around.
        let beyond = _mm512_cmpgt_epu64_mask(starts_of, most) | _mm512_cmpgt_epu64_mask(last, most);
        if beyond != 0 {
            return None;
        }
        let text = bytes.as_ptr().cast();
        // SAFETY: eight bytes from each of these offsets are within the slice, as `beyond` was checked to be empty.
        unsafe {
            let low = _mm512_i64gather_epi64::<1>(starts_of, text);
            (low, _mm512_i64gather_epi64::<1>(last, text))
        }
    };
    store(out, hash_up_to_16(low, high, length));
    Some(_mm512_cmpge_epu64_mask(_mm512_sub_epi64(length, splat(1)), splat(MAX_LENGTH as u64)))
}

/// Fewer bytes than a vector, padded with zeros.
#[cold]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
fn load_some(bytes: &[u8]) -> __m512i {
    let mut padded = [0; 64];
    let count = bytes.len().min(64);
    padded[..count].copy_from_slice(&bytes[..count]);
    load_bytes(&padded)
}

/// For each lane, eight consecutive numbers from its own, as bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
fn eight_from(first: __m512i) -> __m512i {
    let repeated = _mm512_shuffle_epi8(first, _mm512_set4_epi32(0x0808_0808, 0x0808_0808, 0, 0));
    _mm512_add_epi8(repeated, splat(0x0706_0504_0302_0100))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
fn load_numbers(numbers: &[u32; 8]) -> __m512i {
    // SAFETY: the array has half the size of a vector.
    _mm512_cvtepu32_epi64(unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) })
}

/// Writes the numbers of the set bits, with `first` added, to the front of `out`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn positions(bits: u64, first: u32, out: &mut [u32; 64]) {
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let mut count = 0;
    for quarter in 0..4 {
        let mask = (bits >> (16 * quarter)) as u16;
        let numbers = _mm512_add_epi32(lanes, _mm512_set1_epi32((first + 16 * quarter) as i32));
        let packed = _mm512_maskz_compress_epi32(mask, numbers);
        // At most 16 for each earlier quarter.
        if let Some(room) = out[count..].first_chunk_mut::<16>() {
            // SAFETY: the array has the size of a vector.
            unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), packed) }
        }
        count += mask.count_ones() as usize;
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn absent(hashes: &mut [u64], table: &[u64], free: u64) -> usize {
    assert!(!table.is_empty() && u32::try_from(table.len()).is_ok(), "a table of 2^32 places");
    let size = splat(table.len() as u64);
    let (mut start, mut count) = (0, 0);
    while let Some(eight) = hashes[start..].first_chunk() {
        let own = load(eight);
        // SAFETY: half of a hash times the length of the table, divided by 2^32, is less than that length.
        let at = |half| unsafe {
            let place = shr::<32>(multiply_halves(half, size));
            _mm512_i64gather_epi64::<8>(place, table.as_ptr().cast())
        };
        let (first, second) = (at(own), at(shr::<32>(own)));
        let is_there = _mm512_cmpeq_epi64_mask(first, own) | _mm512_cmpeq_epi64_mask(second, own);
        let is_kept = !is_there | _mm512_cmpeq_epi64_mask(own, splat(free));
        // Eight hashes were read for each one before this position.
        if let Some(room) = hashes[count..].first_chunk_mut() {
            store(room, compress(is_kept, own));
        }
        count += is_kept.count_ones() as usize;
        start += 8;
    }
    portable::absent(hashes, table, free, (start, count))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn upper_bits(block: &[u8; BLOCK]) -> u64 {
    _mm512_movepi8_mask(load_bytes(block))
}

/// The characters starting at `two` and `three` that are in `set`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn members(block: &[u8; BLOCK], two: u64, three: u64, set: &CharSet) -> u64 {
    let first = load_bytes(block);
    let ascending = load_bytes(&ASCENDING);
    let behind = |bytes| {
        let from = _mm512_add_epi8(ascending, _mm512_set1_epi8(bytes));
        _mm512_permutexvar_epi8(from, first)
    };
    let second = behind(1);
    let seven = _mm512_set1_epi8(7);
    // The byte of the table and the bit in it: five or four bits of the first byte, and six of the second.
    let upper = _mm512_and_si512(_mm512_srli_epi16::<3>(second), seven);
    let place = _mm512_or_si512(_mm512_slli_epi16::<3>(_mm512_and_si512(first, _mm512_set1_epi8(0x1F))), upper);
    let bit_of = |byte| _mm512_shuffle_epi8(splat(0x8040_2010_0804_0201), _mm512_and_si512(byte, seven));
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
        // The number of the 64 characters, minus the first single one's. Its low eight bits suffice, because the first
        // byte shows that the others are zero.
        let high = _mm512_slli_epi16::<6>(_mm512_and_si512(first, _mm512_set1_epi8(3)));
        let low = _mm512_and_si512(second, _mm512_set1_epi8(0x3F));
        let word = _mm512_sub_epi8(_mm512_or_si512(high, low), _mm512_set1_epi8(SINGLE.start as i8));
        let first_few = _mm512_cmplt_epu8_mask(first, _mm512_set1_epi8(0xE3_u8 as i8));
        let single = _mm512_cmplt_epu8_mask(word, _mm512_set1_epi8(SINGLE.len() as i8)) & first_few;
        if single & three != 0 {
            let third = behind(2);
            let upper = _mm512_and_si512(_mm512_srli_epi16::<3>(third), seven);
            let place = _mm512_or_si512(_mm512_slli_epi16::<3>(_mm512_and_si512(word, seven)), upper);
            let [table] = load_words(&set.single);
            let byte = _mm512_permutexvar_epi8(place, table);
            let in_single = _mm512_test_epi8_mask(byte, bit_of(third));
            of_three = of_three & !single | in_single & single;
        }
        found |= of_three & three;
    }
    found
}

static ASCENDING: [u8; BLOCK] = {
    let mut numbers = [0; BLOCK];
    let mut i = 0;
    while i < BLOCK {
        numbers[i] = i as u8;
        i += 1;
    }
    numbers
};

/// Loads words as `V` vectors of eight.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
fn load_words<const V: usize>(words: &[u64]) -> [__m512i; V] {
    let mut vectors = [_mm512_setzero_si512(); V];
    for (vector, words) in vectors.iter_mut().zip(words.as_chunks().0) {
        *vector = load(words);
    }
    vectors
}

/// The 16 bytes from `at`, in each of the four 128-bit lanes.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
fn broadcast(bytes: &[u8], at: usize) -> __m512i {
    let group = &bytes[at..at + 16];
    // SAFETY: the slice has 16 bytes.
    _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(group.as_ptr().cast()) })
}
