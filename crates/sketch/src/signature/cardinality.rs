//! The number of distinct elements of a set, from its signature; and containment.
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

use super::fss::{ROUNDS, VALUE_BITS};
use crate::error::Error;
use crate::scheme::Scheme;

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
/// The estimate is unbiased and its standard error is `1 / sqrt(num_perm - 2)` of the number; that of fss is less by up
/// to 30 % for sets of about `num_perm` elements, and its bias half an element in `num_perm`.
///
/// `signature` must be one of `scheme`, with whole slots: packed ones do not suffice. With the schemes of datasketch it
/// is a little less than its `MinHash.count()`, which is biased by about 1 in `num_perm`.
///
/// ```
/// use sketch::{Config, Element, ElementHash, Sketcher, cardinality};
///
/// let hashes: Vec<u64> = (0..5000).map(|id| Element::Integer(id).hash(ElementHash::Xxh3)).collect();
/// let mut sketcher = Sketcher::new(Config::default());
/// let signature = sketcher.sketch_hashes(&hashes, &mut || ())?.expect("not empty");
/// let elements = cardinality(signature, Config::default().scheme())?;
/// assert!((elements.estimate - 5000.0).abs() < 4.0 * elements.standard_error);
/// # Ok::<(), sketch::Error>(())
/// ```
///
/// # Errors
/// [`Error::CardinalitySlots`] with fewer than 3 slots; [`Error::CardinalityTooLarge`] above 2^30 elements, with fss
/// above `num_perm * 2^26`, where slots become too coarse.
pub fn cardinality(signature: &[i32], scheme: Scheme) -> Result<Cardinality, Error> {
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
    // Values are integers. Here the least is below 4 on average, and the step between them begins to show.
    let most = distinct_values / 4.0;
    if estimate > most {
        return Err(Error::CardinalityTooLarge { estimate, most });
    }
    Ok(Cardinality { estimate, standard_error: estimate / (slots - 2.0).sqrt() })
}

/// `t` of a minimum that is `slot` of `2^bits` values.
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

/// The middle of the interval that an integer value stands for.
fn fraction(value: u32, bits: u32) -> f64 {
    (f64::from(value) + 0.5) / two_to(bits)
}

fn two_to(bits: u32) -> f64 {
    (1_u64 << bits) as f64
}

/// The containments |A ∩ B| / |A| and |A ∩ B| / |B|, from the Jaccard similarity
/// of A and B and their numbers of elements, each exact or estimated:
/// |A ∩ B| = J / (1 + J) * (|A| + |B|).
///
/// Estimates may contradict each other; the results are still in `[0, 1]`, and
/// agree on the intersection. The containment of an empty set is `None`.
///
/// # Errors
/// [`Error::Jaccard`] outside `[0, 1]`; [`Error::Count`] below 0 or not finite.
pub fn containment(
    jaccard: f64,
    left: f64,
    right: f64,
) -> Result<(Option<f64>, Option<f64>), Error> {
    if !(0.0..=1.0).contains(&jaccard) {
        return Err(Error::Jaccard(jaccard));
    }
    for count in [left, right] {
        if !count.is_finite() || count < 0.0 {
            return Err(Error::Count(count));
        }
    }
    // Halves first: the sum may overflow.
    let common =
        (jaccard / (1.0 + jaccard) * 2.0 * (left / 2.0 + right / 2.0)).min(left.min(right));
    let of = |count: f64| (count > 0.0).then(|| common / count);
    Ok((of(left), of(right)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix::mix64;
    use crate::{Config, Sketcher};

    /// Relative bias and relative root mean square error of the estimate.
    fn errors(scheme: &str, num_perm: i64, count: u64, trials: u64) -> (f64, f64) {
        let mut sketcher = Sketcher::new(Config::new(scheme, num_perm, "char", 5, 1).unwrap());
        let (mut bias, mut square) = (0.0, 0.0);
        for trial in 0..trials {
            let start = mix64(trial ^ count << 32);
            let set: Vec<u64> = (0..count).map(|i| mix64(start.wrapping_add(i))).collect();
            let signature = sketcher.sketch_hashes(&set, &mut || ()).unwrap().unwrap().to_vec();
            let found = cardinality(&signature, sketcher.config().scheme()).unwrap();
            let error = found.estimate / count as f64 - 1.0;
            bias += error;
            square += error * error;
        }
        (bias / trials as f64, (square / trials as f64).sqrt())
    }

    #[test]
    fn the_estimate_is_as_good_as_it_says() {
        let trials = 400;
        for scheme in ["fss", "permutations", "datasketch_affine32", "datasketch_legacy"] {
            for num_perm in [16, 128] {
                for count in [1, 10, 100, 3000] {
                    let (bias, rmse) = errors(scheme, num_perm, count, trials);
                    let expected = 1.0 / (num_perm as f64 - 2.0).sqrt();
                    let what = format!("{scheme} {num_perm} {count}: {bias:.4} {rmse:.4}");
                    // Four standard errors of the mean; fss is dependent slots.
                    let noise = 4.0 * expected / (trials as f64).sqrt();
                    assert!(bias.abs() < noise + 0.6 / num_perm as f64, "{what}");
                    assert!(rmse < expected * 1.25, "{what}");
                }
            }
        }
    }

    /// The table of the documentation: cargo test --release -- --ignored --nocapture bias_and_error
    #[test]
    #[ignore = "takes a minute; prints a table"]
    fn bias_and_error() {
        for scheme in ["fss", "permutations", "datasketch_affine32", "datasketch_legacy"] {
            for num_perm in [16, 128, 1024] {
                for exponent in 0..=12 {
                    let count = (10_f64.powf(f64::from(exponent) / 2.0)).round() as u64;
                    let work = count * if scheme == "fss" { 4 } else { num_perm as u64 } + 1000;
                    let trials = (400_000_000 / work).clamp(60, 20_000);
                    let (bias, rmse) = errors(scheme, num_perm, count, trials);
                    let expected = 1.0 / (num_perm as f64 - 2.0).sqrt();
                    println!(
                        "{scheme:20} K {num_perm:5} n {count:8} trials {trials:6} bias {bias:+.4} \
                         rmse * sqrt(K-2) {:.3}",
                        rmse / expected
                    );
                }
            }
        }
    }

    #[test]
    fn equal_slots_give_the_estimate_by_hand() {
        // Every slot at half of the range: t = ln 2.
        let signature = [i32::MIN; 11];
        let found = cardinality(&signature, Scheme::Permutations).unwrap();
        assert!((found.estimate - 10.0 / (11.0 * 2_f64.ln())).abs() < 1e-6);
        assert!((found.standard_error - found.estimate / 3.0).abs() < 1e-9);
    }

    #[test]
    fn what_cannot_be_counted_is_refused() {
        assert_eq!(cardinality(&[1, 2], Scheme::Fss), Err(Error::CardinalitySlots(2)));
        let full = cardinality(&[0; 128], Scheme::Permutations).unwrap_err();
        assert!(full.to_string().contains("at most 1073741824 elements"), "{full}");
        assert!(cardinality(&[0; 128], Scheme::Fss).is_err());
        assert!(cardinality(&[i32::MAX; 128], Scheme::Fss).is_ok());
        assert!(cardinality(&[-1; 128], Scheme::Permutations).is_ok());
    }

    #[test]
    fn containments_follow_from_the_sizes() {
        // 40 common elements of 60 and 80.
        let (left, right) = containment(0.4, 60.0, 80.0).unwrap();
        assert!((left.unwrap() - 40.0 / 60.0).abs() < 1e-12);
        assert!((right.unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(containment(0.9, 10.0, 1000.0), Ok((Some(1.0), Some(0.01))));
        assert_eq!(containment(1.0, 0.0, 5.0), Ok((None, Some(0.0))));
        assert_eq!(containment(1.0, f64::MAX, f64::MAX), Ok((Some(1.0), Some(1.0))));
        assert_eq!(containment(0.5, -1.0, 5.0), Err(Error::Count(-1.0)));
        assert!(containment(0.5, 1.0, f64::INFINITY).is_err());
        assert!(containment(f64::NAN, 1.0, 1.0).is_err());
    }
}
