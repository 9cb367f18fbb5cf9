//! Signatures that keep a few bits of each slot.
//!
//! To tell whether two slots are equal, a hash of some bits does nearly as well as the slot: of `b` bits, unequal slots
//! agree by chance with probability `2^-b`, which the estimate takes into account (b-bit minwise hashing; Li, König,
//! WWW 2010). Bands and unions cannot be made of such a signature.

use super::estimate;
use crate::config::valid_num_perm;
use crate::hash::mix::mix64;
use crate::{Error, Result};

/// The number of bits of each slot that a stored signature keeps.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum SlotBits {
    /// All 32: the signature itself.
    #[default]
    All,
    /// 16: half the space, an error that is larger by 0.001 % at J = 0.9.
    Half,
    /// 8: a quarter of the space, an error that is larger by 0.2 % at J = 0.9.
    Quarter,
}

impl SlotBits {
    /// Validates a number of bits.
    ///
    /// # Errors
    /// [`Error::SlotBits`].
    pub fn of(bits: i64) -> Result<Self> {
        match bits {
            32 => Ok(Self::All),
            16 => Ok(Self::Half),
            8 => Ok(Self::Quarter),
            _ => Err(Error::SlotBits(bits)),
        }
    }

    /// Validates a number of bits, and that slots of so many bits fill whole integers.
    ///
    /// # Errors
    /// [`Error::SlotBits`], [`Error::NumPerm`], [`Error::SlotsDoNotFill`].
    pub fn new(bits: i64, num_perm: i64) -> Result<Self> {
        let slot_bits = Self::of(bits)?;
        let slots = valid_num_perm(num_perm)?;
        if !slots.is_multiple_of(slot_bits.slots_per_word()) {
            return Err(Error::SlotsDoNotFill { num_perm: slots, slot_bits: slot_bits.bits() });
        }
        Ok(slot_bits)
    }

    /// The bits kept of each slot.
    pub const fn bits(self) -> u32 {
        match self {
            Self::All => 32,
            Self::Half => 16,
            Self::Quarter => 8,
        }
    }

    const fn slots_per_word(self) -> usize {
        (u32::BITS / self.bits()) as usize
    }

    /// The number of integers of the packed signature of `num_perm` slots.
    pub const fn words(self, num_perm: usize) -> usize {
        num_perm / self.slots_per_word()
    }

    /// Replaces `out` by what is kept of a signature.
    ///
    /// Of each slot the top bits of `mix64(slot)` are kept: minima are small numbers, whose own bits are not all
    /// random. The first slot is in the least significant bits of the first integer.
    ///
    /// # Errors
    /// [`Error::SlotsDoNotFill`].
    pub fn pack(self, signature: &[i32], out: &mut Vec<i32>) -> Result<()> {
        Self::new(self.bits().into(), signature.len() as i64)?;
        out.clear();
        if self == Self::All {
            out.extend_from_slice(signature);
            return Ok(());
        }
        let kept = |slot: &i32| (mix64(u64::from(*slot as u32)) >> (64 - self.bits())) as u32;
        out.extend(signature.chunks_exact(self.slots_per_word()).map(|slots| {
            let shifts = (0..).step_by(self.bits() as usize);
            slots.iter().zip(shifts).fold(0, |word, (slot, shift)| word | kept(slot) << shift)
                as i32
        }));
        Ok(())
    }

    /// Estimates the Jaccard similarity of two sets from what is kept of their signatures.
    ///
    /// With `m` of `K` slots equal and chance agreement `c = 2^-bits`, `(m / K - c) / (1 - c)`, and at least 0.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`]; [`Error::EmptySignature`].
    pub fn estimate_jaccard(self, a: &[i32], b: &[i32]) -> Result<f64> {
        let equal = match self {
            Self::All => return estimate::estimate_jaccard(a, b),
            Self::Half => equal_lanes::<2>(a, b),
            Self::Quarter => equal_lanes::<4>(a, b),
        };
        estimate::check_lengths(a, b)?;
        let chance = self.chance();
        let share = f64::from(equal) / (a.len() * self.slots_per_word()) as f64;
        Ok(((share - chance) / (1.0 - chance)).max(0.0))
    }

    /// The standard error of [`SlotBits::estimate_jaccard`] from `num_perm` slots when the true
    /// similarity is `jaccard`: `sqrt(p (1 - p) / K) / (1 - c)` with `p = J + (1 - J) c`.
    ///
    /// # Errors
    /// [`Error::NumPerm`]; [`Error::Jaccard`] outside `[0, 1]`, NaN included.
    pub fn standard_error(self, num_perm: i64, jaccard: f64) -> Result<f64> {
        if self == Self::All || !(0.0..=1.0).contains(&jaccard) {
            return estimate::standard_error(num_perm, jaccard);
        }
        let chance = self.chance();
        let agreement = jaccard + (1.0 - jaccard) * chance;
        Ok(estimate::standard_error(num_perm, agreement)? / (1.0 - chance))
    }

    /// The probability that two unequal slots agree in the bits kept.
    fn chance(self) -> f64 {
        match self {
            Self::All => 0.0,
            packed => (-f64::from(packed.bits())).exp2(),
        }
    }
}

/// The number of the `LANES` lanes of each integer that are equal.
fn equal_lanes<const LANES: usize>(a: &[i32], b: &[i32]) -> u32 {
    let bits = u32::BITS as usize / LANES;
    let lane = u32::MAX >> (u32::BITS as usize - bits);
    let mut counts = [0_u32; LANES];
    for (x, y) in a.iter().zip(b) {
        let differing = (x ^ y) as u32;
        for (count, shift) in counts.iter_mut().zip((0..).step_by(bits)) {
            *count += u32::from(differing >> shift & lane == 0);
        }
    }
    counts.iter().sum()
}
