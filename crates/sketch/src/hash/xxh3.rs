//! XXH3_64 with seed 0, for inputs of any length.
//!
//! Shingles are short, and the crate xxhash-rust spends more time on dispatching by length than on hashing. So the
//! formulas for up to 32 bytes are here (xxHash specification, "XXH3 algorithm description", "Small inputs" and "Medium
//! inputs"); longer inputs go to the crate. The vector kernels compute the same formulas for several windows at once.

use xxhash_rust::xxh3::xxh3_64;

pub(crate) const PRIME64_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
pub(crate) const PRIME64_3: u64 = 0x1656_67B1_9E37_79F9;
pub(crate) const PRIME_MX1: u64 = 0x1656_6791_9E37_79F9;
pub(crate) const PRIME_MX2: u64 = 0x9FB2_1C65_1E98_DF25;

/// Words of the default secret, XORed as the formulas need them.
pub(crate) const FLIP_1TO3: u64 = 0x8727_5A9B;
pub(crate) const FLIP_4TO8: u64 = 0x1CAD_21F7_2C81_017C ^ 0xDB97_9083_E96D_D4DE;
pub(crate) const FLIP_LOW: u64 = 0x1F67_B3B7_A4A4_4072 ^ 0x78E5_C0CC_4EE6_79CB;
pub(crate) const FLIP_HIGH: u64 = 0x2172_FFCC_7DD0_5A82 ^ 0x8E24_43F7_7446_08B8;

const PRIME64_1: u64 = 0x9E37_79B1_85EB_CA87;
/// The first four words of the default secret.
const SECRET: [u64; 4] = [0xBE4B_A423_396C_FEB8, 0x1CAD_21F7_2C81_017C, 0xDB97_9083_E96D_D4DE, 0x1F67_B3B7_A4A4_4072];

#[inline(always)]
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    match bytes.len() {
        1..=3 => hash_1_to_3(bytes),
        4..=8 => hash_4_to_8(bytes),
        9..=16 => hash_9_to_16(bytes),
        17..=32 => hash_17_to_32(bytes),
        _ => hash_long(bytes),
    }
}

#[inline(never)]
fn hash_long(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

/// Fills `out` with XXH3_64 of the windows of `width` bytes.
pub(crate) fn windows(bytes: &[u8], width: usize, out: &mut [u64]) {
    // One loop for each formula, to test the length outside of it.
    match width {
        0 => (),
        1..=3 => each_window(bytes, width, out, hash_1_to_3),
        4..=8 => each_window(bytes, width, out, hash_4_to_8),
        9..=16 => each_window(bytes, width, out, hash_9_to_16),
        17..=32 => each_window(bytes, width, out, hash_17_to_32),
        _ => each_window(bytes, width, out, xxh3_64),
    }
}

#[inline(always)]
fn each_window(bytes: &[u8], width: usize, out: &mut [u64], hash: impl Fn(&[u8]) -> u64) {
    for (out, window) in out.iter_mut().zip(bytes.windows(width)) {
        *out = hash(window);
    }
}

#[inline(always)]
fn hash_1_to_3(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    let byte = |i: usize| u64::from(bytes[i]);
    let combined = byte(0) << 16 | byte(len >> 1) << 24 | byte(len - 1) | (len as u64) << 8;
    let h = combined ^ FLIP_1TO3;
    let h = (h ^ h >> 33).wrapping_mul(PRIME64_2);
    let h = (h ^ h >> 29).wrapping_mul(PRIME64_3);
    h ^ h >> 32
}

#[inline(always)]
fn hash_4_to_8(bytes: &[u8]) -> u64 {
    let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) else {
        return xxh3_64(bytes);
    };
    let first = u64::from(u32::from_le_bytes(*first));
    let last = u64::from(u32::from_le_bytes(*last));
    let h = (last | first << 32) ^ FLIP_4TO8;
    let h = (h ^ h.rotate_left(49) ^ h.rotate_left(24)).wrapping_mul(PRIME_MX2);
    let h = (h ^ (h >> 35).wrapping_add(bytes.len() as u64)).wrapping_mul(PRIME_MX2);
    h ^ h >> 28
}

#[inline(always)]
fn hash_9_to_16(bytes: &[u8]) -> u64 {
    let (Some(low), Some(high)) = (bytes.first_chunk(), bytes.last_chunk()) else {
        return xxh3_64(bytes);
    };
    let low = u64::from_le_bytes(*low) ^ FLIP_LOW;
    let high = u64::from_le_bytes(*high) ^ FLIP_HIGH;
    let product = u128::from(low) * u128::from(high);
    let folded = product as u64 ^ (product >> 64) as u64;
    let h = (bytes.len() as u64).wrapping_add(low.swap_bytes()).wrapping_add(high).wrapping_add(folded);
    let h = (h ^ h >> 37).wrapping_mul(PRIME_MX1);
    h ^ h >> 32
}

#[inline(always)]
fn hash_17_to_32(bytes: &[u8]) -> u64 {
    let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) else {
        return xxh3_64(bytes);
    };
    let h = (bytes.len() as u64).wrapping_mul(PRIME64_1);
    let h = h.wrapping_add(folded(first, [SECRET[0], SECRET[1]]));
    let h = h.wrapping_add(folded(last, [SECRET[2], SECRET[3]]));
    let h = (h ^ h >> 37).wrapping_mul(PRIME_MX1);
    h ^ h >> 32
}

/// The halves of 16 bytes, XORed with a secret, multiplied and folded.
#[inline(always)]
fn folded(bytes: &[u8; 16], secret: [u64; 2]) -> u64 {
    let both = u128::from_le_bytes(*bytes);
    let (low, high) = (both as u64 ^ secret[0], (both >> 64) as u64 ^ secret[1]);
    let product = u128::from(low) * u128::from(high);
    product as u64 ^ (product >> 64) as u64
}
