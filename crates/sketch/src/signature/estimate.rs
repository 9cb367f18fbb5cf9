//! Estimates from signatures: the Jaccard similarity, its error, and the signature of a union.

use crate::config::valid_num_perm;
use crate::{Error, Result};

/// Estimates the Jaccard similarity of two sets from their signatures: the fraction of equal slots.
///
/// The estimate is unbiased, with a standard error of at most [`standard_error`]. Both signatures must come from one
/// configuration; only their lengths can be checked here.
///
/// ```
/// use minlsh_sketch::{Config, Sketcher, estimate_jaccard, standard_error};
///
/// let mut sketcher = Sketcher::new(Config::default());
/// // Sets of 1,000 elements that share 800: the similarity is 2/3.
/// let (a, b): (Vec<u64>, Vec<u64>) = ((0..1000).collect(), (200..1200).collect());
/// let hash = |set: Vec<u64>| set.iter().map(|id| id.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect::<Vec<_>>();
/// let a = sketcher.sketch_hashes(&hash(a), &mut || ())?.expect("not empty").to_vec();
/// let b = sketcher.sketch_hashes(&hash(b), &mut || ())?.expect("not empty").to_vec();
/// let error = standard_error(128, 2.0 / 3.0)?;
/// assert!((estimate_jaccard(&a, &b)? - 2.0 / 3.0).abs() < 4.0 * error);
/// # Ok::<(), minlsh_sketch::Error>(())
/// ```
///
/// # Complexity
///
/// Linear in the slots: 128 of them take some ten nanoseconds.
///
/// # Errors
/// [`Error::LengthMismatch`]; [`Error::EmptySignature`].
pub fn estimate_jaccard(a: &[i32], b: &[i32]) -> Result<f64> {
    check_lengths(a, b)?;
    // A u32 counter for each lane lets the compiler compare whole vectors.
    let equal: u32 = a.iter().zip(b).map(|(x, y)| u32::from(x == y)).sum();
    Ok(f64::from(equal) / a.len() as f64)
}

/// The standard error of an estimate from `num_perm` slots if the true similarity is `jaccard`: `sqrt(J (1 - J) / K)`
/// (Broder 1997).
///
/// It is exact for permutations; fss errs less, by up to 30 %.
///
/// # Errors
/// [`Error::NumPerm`]; [`Error::Jaccard`] outside `[0, 1]`, NaN included.
pub fn standard_error(num_perm: i64, jaccard: f64) -> Result<f64> {
    let slots = valid_num_perm(num_perm)?;
    if !(0.0..=1.0).contains(&jaccard) {
        return Err(Error::Jaccard(jaccard));
    }
    Ok((jaccard * (1.0 - jaccard) / slots as f64).sqrt())
}

/// A lower bound on the estimate for a pair of similarity `threshold` or more, with one exception in 30,000: four
/// standard errors below the threshold.
///
/// For filtering candidates before an exact comparison. `num_perm` is the number of slots, at least one; `threshold` is
/// in `(0, 1]`.
pub fn estimate_gate(threshold: f64, num_perm: usize) -> f64 {
    let error = (threshold * (1.0 - threshold) / num_perm.max(1) as f64).sqrt();
    (threshold - 4.0 * error).max(0.0)
}

/// A 64-bit hash of a signature for finding equal ones. Only for use in memory: it is not part of the specification.
pub fn signature_hash(signature: &[i32]) -> u64 {
    // Four independent chains, whose multiplications overlap.
    let mut lanes = [signature.len() as u64, 1, 2, 3];
    for slots in signature.chunks(8) {
        for (lane, pair) in lanes.iter_mut().zip(slots.chunks(2)) {
            let pair = pair.iter().fold(0, |pair, slot| pair << 32 | u64::from(*slot as u32));
            *lane = (*lane ^ pair).wrapping_mul(crate::hash::mix::GOLDEN);
            *lane ^= *lane >> 32;
        }
    }
    lanes.iter().fold(0, |hash, lane| crate::hash::mix::mix64(hash ^ lane))
}

/// Makes `signature` the signature of the union of its set and the set of `other`, from the same scheme: the smaller
/// value of each slot. Slots are the bit patterns of `u32` values. Slots of fss are never negative, so they have the
/// same order.
///
/// The result is exact: it equals the signature computed from the united set. This holds for fss too, because a slot's
/// value has its round in the top bits.
///
/// # Errors
/// [`Error::LengthMismatch`]; [`Error::EmptySignature`]; `signature` is unchanged then.
pub fn unite(signature: &mut [i32], other: &[i32]) -> Result<()> {
    check_lengths(signature, other)?;
    for (slot, &other) in signature.iter_mut().zip(other) {
        *slot = (*slot as u32).min(other as u32) as i32;
    }
    Ok(())
}

pub(crate) fn check_lengths(a: &[i32], b: &[i32]) -> Result<()> {
    if a.len() != b.len() {
        return Err(Error::LengthMismatch { left: a.len(), right: b.len() });
    }
    if a.is_empty() {
        return Err(Error::EmptySignature);
    }
    Ok(())
}
