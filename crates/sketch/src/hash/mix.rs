//! The arithmetic that the schemes share (all of it modulo 2^64).

/// The increment of SplitMix64: 2^64 divided by the golden ratio.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The start of the sequence of constants: ASCII `minlsh01`.
const START: u64 = 0x6d69_6e6c_7368_3031;

pub(crate) const MIX_1: u64 = 0xbf58_476d_1ce4_e5b9;
pub(crate) const MIX_2: u64 = 0x94d0_49bb_1331_11eb;

/// The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014; variant 13 of
/// Stafford): a bijection in which every bit depends on every bit.
#[inline(always)]
pub(crate) const fn mix64(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(MIX_1);
    let z = (z ^ (z >> 27)).wrapping_mul(MIX_2);
    z ^ (z >> 31)
}

/// The 64-bit finaliser of MurmurHash3: a bijection in which every bit depends on every bit.
#[inline(always)]
pub(crate) const fn fmix64(z: u64) -> u64 {
    let z = (z ^ (z >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let z = (z ^ (z >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    z ^ (z >> 33)
}

/// The 32-bit finaliser of MurmurHash3, a bijection.
#[inline(always)]
pub(crate) const fn fmix32(h: u32) -> u32 {
    let h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    let h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

/// The `i`-th constant: the upper half of the `i`-th output of SplitMix64 seeded with [`START`].
const fn constant(i: u64) -> u32 {
    (mix64(START.wrapping_add((i + 1).wrapping_mul(GOLDEN))) >> 32) as u32
}

/// The multiplier (odd) and the summand of hash function `slot`.
pub(crate) const fn affine(slot: usize) -> (u32, u32) {
    let slot = slot as u64;
    (constant(2 * slot) | 1, constant(2 * slot + 1))
}
