//! Signatures that keep a few bits of each slot.
//!
//! To tell whether two slots are equal, a hash of some bits does nearly as well as the slot: of `b` bits, unequal slots
//! agree by chance with probability `2^-b`, which the estimate takes into account (b-bit minwise hashing; Li, König,
//! WWW 2010). Bands and unions cannot be made of such a signature.

use super::estimate;
use crate::config::valid_num_perm;
use crate::error::Error;
use crate::hash::mix::mix64;

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
    pub fn of(bits: i64) -> Result<Self, Error> {
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
    pub fn new(bits: i64, num_perm: i64) -> Result<Self, Error> {
        let slot_bits = Self::of(bits)?;
        let slots = valid_num_perm(num_perm)?;
        if !slots.is_multiple_of(slot_bits.slots_per_word()) {
            return Err(Error::SlotsDoNotFill { num_perm: slots, slot_bits: slot_bits.bits() });
        }
        Ok(slot_bits)
    }

    /// The bits kept of each slot.
    #[must_use]
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
    #[must_use]
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
    pub fn pack(self, signature: &[i32], out: &mut Vec<i32>) -> Result<(), Error> {
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
    pub fn estimate_jaccard(self, a: &[i32], b: &[i32]) -> Result<f64, Error> {
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
    pub fn standard_error(self, num_perm: i64, jaccard: f64) -> Result<f64, Error> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_bits_err_more() {
        let error = |bits: SlotBits| bits.standard_error(128, 0.9).unwrap();
        assert_eq!(Ok(error(SlotBits::All)), estimate::standard_error(128, 0.9));
        let larger = |bits| error(bits) / error(SlotBits::All) - 1.0;
        assert!(larger(SlotBits::Half) > 0.0 && larger(SlotBits::Half) < 2e-5);
        assert!(larger(SlotBits::Quarter) > 1e-3 && larger(SlotBits::Quarter) < 3e-3);
        assert_eq!(SlotBits::Half.standard_error(128, 1.0), Ok(0.0));
        assert_eq!(SlotBits::Half.standard_error(128, 1.5), Err(Error::Jaccard(1.5)));
    }

    #[test]
    fn all_bits_are_the_signature_itself() {
        let mut packed = Vec::new();
        SlotBits::All.pack(&[3, -7, 0], &mut packed).unwrap();
        assert_eq!(packed, [3, -7, 0]);
        assert_eq!(SlotBits::All.estimate_jaccard(&[1, 2], &[1, 3]), Ok(0.5));
    }

    #[test]
    fn packed_signatures_take_a_half_and_a_quarter_of_the_space() {
        let signature: Vec<i32> = (0..128).collect();
        let mut packed = Vec::new();
        for (bits, words) in [(32, 128), (16, 64), (8, 32)] {
            let slot_bits = SlotBits::new(bits, 128).unwrap();
            slot_bits.pack(&signature, &mut packed).unwrap();
            assert_eq!(packed.len(), words);
            assert_eq!(slot_bits.words(128), words);
            assert_eq!(slot_bits.estimate_jaccard(&packed, &packed), Ok(1.0));
        }
    }

    #[test]
    fn packed_signatures_are_the_same_for_ever() {
        let mut packed = Vec::new();
        SlotBits::Half.pack(&[0, 1, 2, 3], &mut packed).unwrap();
        assert_eq!(packed, [1_452_408_832, 508_812_242]);
        SlotBits::Quarter.pack(&[0, 1, 2, 3], &mut packed).unwrap();
        assert_eq!(packed, [517_690_880]);
    }

    #[test]
    fn the_estimate_is_unbiased_by_agreement_by_chance() {
        for slot_bits in [SlotBits::Half, SlotBits::Quarter] {
            for similar in [0, 300, 900] {
                let a: Vec<i32> = (0..1000).collect();
                let b: Vec<i32> =
                    (0..1000).map(|i| if i < similar { i } else { i + 100_000 }).collect();
                let (mut packed_a, mut packed_b) = (Vec::new(), Vec::new());
                slot_bits.pack(&a, &mut packed_a).unwrap();
                slot_bits.pack(&b, &mut packed_b).unwrap();
                let estimate = slot_bits.estimate_jaccard(&packed_a, &packed_b).unwrap();
                // Four standard errors of the agreement by chance of 8 bits.
                assert!((estimate - f64::from(similar) / 1000.0).abs() < 0.008, "{estimate}");
            }
        }
    }

    #[test]
    fn what_cannot_be_packed_is_refused() {
        let refused = |bits, num_perm| SlotBits::new(bits, num_perm).unwrap_err().to_string();
        assert_eq!(refused(4, 128), "slot_bits must be 8, 16 or 32, not 4");
        assert_eq!(refused(8, 30), "num_perm must be a multiple of 4 for slot_bits 8, not 30");
        assert!(SlotBits::Half.pack(&[1], &mut Vec::new()).is_err());
        assert!(SlotBits::Half.estimate_jaccard(&[1], &[1, 2]).is_err());
        assert!(SlotBits::Half.estimate_jaccard(&[], &[]).is_err());
    }
}
