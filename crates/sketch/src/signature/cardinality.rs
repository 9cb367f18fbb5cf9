//! The number of distinct elements of a set, from its signature, and containment.
//!
//! For every scheme, a slot of a set of n elements has `P(slot >= s) = exp(-n * t(s))`:
//!
//! - a minimum of n values that are uniform in `[0, 1)`: `t = -ln(1 - s)`;
//! - fss, value v of round r: no element came to the slot in r rounds, and in
//!   this one none with less than v: `t = -r * ln(1 - 1/K) - ln(1 - v/K)`; after
//!   its R rounds, a minimum: `t = -R * ln(1 - 1/K) - ln(1 - v)`.
//!
//! So every slot's t is exponentially distributed with rate n, and the maximum likelihood estimate from K independent
//! slots is `K / sum(t)`. With K - 1 in the place of K it is unbiased, and its standard error is `n / sqrt(K - 2)` (the
//! inverse gamma distribution; Cohen, J. Comput. Syst. Sci. 55, 1997). The slots of fss are dependent, to the better:
//! with K elements or fewer their number of draws is fixed, and only what they hit is random.
//!
//! Simulated (the ignored test below) for K = 16, 128 and 1024 and n from 1 to a million:
//!
//! | scheme | n | relative bias | relative error * sqrt(K - 2) |
//! |---|---|---|---|
//! | the others | all | none found | 1.00 |
//! | fss | below K/8 | none to -0.5/K | 1.01 to 0.8 |
//! | fss | K/8 to 3 K | -0.5/K | 0.66 to 0.85 |
//! | fss | above 10 K | none found | 0.95 to 1.00 |

use super::estimate::estimate_jaccard;
use super::fss::{ROUNDS, VALUE_BITS};
use crate::scheme::Scheme;
use crate::{Error, Result};

/// The number of distinct elements of a set, estimated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cardinality {
    /// The estimate.
    pub estimate: f64,
    /// Its standard error, in elements.
    pub standard_error: f64,
}

/// Estimates the number of distinct elements of a set from its signature.
///
/// The estimate is unbiased, with a standard error of `1 / sqrt(num_perm - 2)` of the number. For sets of about
/// `num_perm` elements fss has up to 30 % less error, and a bias of half an element in `num_perm`.
///
/// `signature` must come from `scheme` with complete slots: packed ones do not suffice. With the schemes of datasketch
/// the result is slightly less than its `MinHash.count()`, which is biased by about 1 in `num_perm`.
///
/// ```
/// use minlsh_sketch::{Config, Element, ElementHash, Sketcher, cardinality};
///
/// let hashes: Vec<u64> = (0..5000).map(|id| Element::Integer(id).hash(ElementHash::Xxh3)).collect();
/// let mut sketcher = Sketcher::new(Config::default());
/// let signature = sketcher.sketch_hashes(&hashes, &mut || ())?.expect("not empty");
/// let elements = cardinality(signature, Config::default().scheme())?;
/// assert!((elements.estimate - 5000.0).abs() < 4.0 * elements.standard_error);
/// # Ok::<(), minlsh_sketch::Error>(())
/// ```
///
/// # Errors
/// [`Error::CardinalitySlots`] with fewer than 3 slots; [`Error::CardinalityTooLarge`] above 2^30 elements, with fss
/// above `num_perm * 2^26`, where slots become too coarse.
pub fn cardinality(signature: &[i32], scheme: Scheme) -> Result<Cardinality> {
    if signature.len() < 3 {
        return Err(Error::CardinalitySlots(signature.len()));
    }
    let slots = signature.len() as f64;
    let (total, distinct_values) = match scheme {
        Scheme::Fss => {
            let times = signature.iter().map(|&slot| fss_time(slot as u32, slots));
            (times.sum::<f64>(), slots * two_to(VALUE_BITS))
        }
        _ => {
            let times = signature.iter().map(|&slot| minimum_time(slot as u32, 32));
            (times.sum(), two_to(32))
        }
    };
    let estimate = (slots - 1.0) / total;
    // Values are integers. At this number the least value is below 4 on average, and the rounding begins to matter.
    let most = distinct_values / 4.0;
    if estimate > most {
        return Err(Error::CardinalityTooLarge { estimate, most });
    }
    Ok(Cardinality { estimate, standard_error: estimate / (slots - 2.0).sqrt() })
}

/// `t` of a minimum with value `slot` out of `2^bits`.
fn minimum_time(slot: u32, bits: u32) -> f64 {
    -libm::log1p(-fraction(slot, bits))
}

/// `t` of a slot of fss.
fn fss_time(slot: u32, slots: f64) -> f64 {
    let (round, value) = (slot >> VALUE_BITS, slot % (1 << VALUE_BITS));
    let rounds = -libm::log1p(-1.0 / slots) * f64::from(round.min(ROUNDS));
    let rest = match round {
        0..ROUNDS => -libm::log1p(-fraction(value, VALUE_BITS) / slots),
        _ => minimum_time(value, VALUE_BITS),
    };
    rounds + rest
}

/// The middle of the interval that an integer value represents.
fn fraction(value: u32, bits: u32) -> f64 {
    (f64::from(value) + 0.5) / two_to(bits)
}

fn two_to(bits: u32) -> f64 {
    (1_u64 << bits) as f64
}

/// The containments |A ∩ B| / |A| and |A ∩ B| / |B| of two sets, estimated from their signatures of `scheme`: by the
/// Jaccard similarity J and the numbers of elements, |A ∩ B| = J / (1 + J) * (|A| + |B|).
///
/// The estimates may contradict each other; the results are still in `[0, 1]`, and agree on the intersection.
///
/// # Errors
/// The errors of [`estimate_jaccard`], and of [`cardinality`] for either signature.
pub fn containment(a: &[i32], b: &[i32], scheme: Scheme) -> Result<(f64, f64)> {
    let jaccard = estimate_jaccard(a, b)?;
    let (a, b) = (cardinality(a, scheme)?.estimate, cardinality(b, scheme)?.estimate);
    let common = (jaccard / (1.0 + jaccard) * (a + b)).min(a.min(b));
    Ok((common / a, common / b))
}
