//! Weighted sets: their exact similarity, and signatures that estimate it.
//!
//! The signature is Improved Consistent Weighted Sampling (Ioffe, ICDM 2010): two slots are equal with probability
//! `sum(min) / sum(max)`, the weighted Jaccard similarity, for any weights. ProbMinHash (Ertl 2020) is faster, but
//! estimates the probability Jaccard similarity, which ignores the scale of a set. BagMinHash (Ertl 2018) and
//! DartMinHash (Christiani 2020) estimate the same as this, faster for many elements, but with far more machinery.
//!
//! For each element k, a slot draws r and c from the gamma distribution of shape 2, and b uniformly. With t =
//! floor(ln(w) / r + b) and ln(y) = r * (t - b) it ranks the element by ln(c) - ln(y) - r. The slot is a hash of the k
//! with the least rank and of its t: 32 bits, so it agrees by chance once in 2^32.
//!
//! A signature is the same on every machine. Besides the operations that IEEE 754 defines exactly, it uses only the
//! logarithm of the crate libm, which consists of these.

use crate::config::valid_num_perm;
use crate::hash::mix::{GOLDEN, mix64};
use crate::hash::sort_by;
use crate::{Check, Error, MAX_WEIGHT, MIN_WEIGHT, Result};

/// Number of uniform numbers that a slot draws for an element.
const DRAWS: u64 = 5;

/// A set of elements with positive weights, such as the words of a document with their frequencies, or with frequency
/// times rareness (TF-IDF).
///
/// ```
/// use minlsh_sketch::{Element, ElementHash, WeightedSet, estimate_jaccard};
///
/// let set = |words: &[(&str, f64)]| {
///     let hash = |word: &str| Element::Text(word).hash(ElementHash::Xxh3);
///     WeightedSet::new(words.iter().map(|(word, weight)| (hash(word), *weight)).collect(), &mut || ())
/// };
/// let a = set(&[("quick", 2.0), ("fox", 1.0)])?;
/// let b = set(&[("quick", 1.0), ("fox", 1.0)])?;
/// assert_eq!(a.jaccard(&b), Some(2.0 / 3.0));
/// let [a, b] = [a, b].map(|set| set.signature(1024, 0, &mut || ()));
/// let estimate = estimate_jaccard(&a?.expect("not empty"), &b?.expect("not empty"))?;
/// assert!((estimate - 2.0 / 3.0).abs() < 0.06);
/// # Ok::<(), minlsh_sketch::Error>(())
/// ```
#[derive(Debug, Default, PartialEq)]
pub struct WeightedSet(Vec<(u64, f64)>);

impl WeightedSet {
    /// A set of elements, given by their 64-bit hashes (see [`Element`](crate::Element)) and weights, in any order. The
    /// weights of repeats are added; an element of weight 0 is not in the set.
    ///
    /// # Errors
    /// [`Error::Weight`] unless a weight is 0 or in [`MIN_WEIGHT`]`..=`[`MAX_WEIGHT`].
    pub fn new(mut elements: Vec<(u64, f64)>, check: Check) -> Result<Self> {
        for &(_, weight) in &elements {
            if weight != 0.0 && !(MIN_WEIGHT..=MAX_WEIGHT).contains(&weight) {
                return Err(Error::Weight(weight));
            }
        }
        elements.retain(|(_, weight)| *weight != 0.0);
        // Also by weight: a sum of floats depends on its order.
        let rank = |(hash, weight): &(u64, f64)| (*hash, weight.to_bits());
        sort_by(&mut elements, |a, b| rank(a).cmp(&rank(b)), check);
        elements.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        Ok(Self(elements))
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The hashes, ascending, and the weights.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u64, f64)> + '_ {
        self.0.iter().copied()
    }

    /// The weighted Jaccard similarity: the sum of the lesser weights of the elements over the sum of the greater ones;
    /// `None` if both sets are empty.
    ///
    /// With weights of 1 it is the Jaccard similarity.
    pub fn jaccard(&self, other: &Self) -> Option<f64> {
        let (mut left, mut right) = (self.iter().peekable(), other.iter().peekable());
        let (mut lesser, mut greater) = (0.0, 0.0);
        while let Some(&(hash, _)) = left.peek().into_iter().chain(right.peek()).min_by_key(|of| of.0) {
            let [a, b] = [&mut left, &mut right]
                .map(|elements| elements.next_if(|element| element.0 == hash).map_or(0.0, |(_, weight)| weight));
            lesser += a.min(b);
            greater += a.max(b);
        }
        (greater > 0.0).then(|| lesser / greater)
    }

    /// The signature: `num_perm` slots; `None` if the set is empty. From two of them
    /// [`estimate_jaccard`](crate::estimate_jaccard) estimates the weighted Jaccard similarity, without bias and with
    /// the standard error [`standard_error`](crate::standard_error).
    ///
    /// A signature is a prefix of one with a larger `num_perm`. It has no union and no number of elements, and is not
    /// comparable with signatures without weights. `check` is called for every element.
    ///
    /// # Complexity
    ///
    /// A few nanoseconds for each element and slot.
    ///
    /// # Errors
    /// [`Error::NumPerm`].
    pub fn signature(&self, num_perm: i64, seed: i64, check: Check) -> Result<Option<Vec<i32>>> {
        let empty = Slot { rank: f64::INFINITY, value: 0 };
        let mut slots = vec![empty; valid_num_perm(num_perm)?];
        let offset = mix64(seed as u64);
        for (hash, weight) in self.iter() {
            check();
            let element = mix64(hash.wrapping_add(offset));
            let log_weight = libm::log(weight);
            let mut state = element;
            for slot in &mut slots {
                let draw = Draw::of(state);
                if draw.least_rank(log_weight) <= slot.rank {
                    slot.lower(&draw, element, log_weight);
                }
                state = state.wrapping_add(DRAWS.wrapping_mul(GOLDEN));
            }
        }
        let signature = || slots.iter().map(|slot| slot.value).collect();
        Ok((!self.is_empty()).then(signature))
    }
}

/// The least rank so far, with the hash of its element.
#[derive(Clone, Copy)]
struct Slot {
    rank: f64,
    value: i32,
}

impl Slot {
    fn lower(&mut self, draw: &Draw, element: u64, log_weight: f64) {
        let r = -libm::log(draw.r);
        let t = (log_weight / r + draw.b).floor();
        let rank = libm::log(-libm::log(draw.c)) - r * (t - draw.b) - r;
        if rank < self.rank {
            let value = mix64(element.wrapping_add(mix64(t as i64 as u64)));
            *self = Self { rank, value: (value >> 32) as i32 };
        }
    }
}

/// The draw of a slot for an element: `-ln(r)` and `-ln(c)` have the gamma distribution of shape 2, b is uniform.
struct Draw {
    r: f64,
    c: f64,
    b: f64,
}

impl Draw {
    /// From the next [`DRAWS`] outputs of SplitMix64.
    #[inline(always)]
    fn of(state: u64) -> Self {
        let uniform = |i: u64| {
            let bits = mix64(state.wrapping_add(i.wrapping_mul(GOLDEN)));
            // In the middle of 2^52 intervals: never 0 or 1, and exact.
            ((bits >> 12) as f64 + 0.5) * (0.5_f64).powi(52)
        };
        Self { r: uniform(1) * uniform(2), c: uniform(3) * uniform(4), b: uniform(5) }
    }

    /// A lower bound of the rank, without a logarithm. Most elements are far from the least, and need nothing else.
    ///
    /// As t > ln(w) / r + b - 1 and t <= ln(w) / r + b, the rank is at least ln(c') - ln(w) - r', with c' and r' the
    /// gamma variates. Here r' comes from the binary exponent, and ln(c') from the exponent of 1 - c, which is less
    /// than c'.
    #[inline(always)]
    fn least_rank(&self, log_weight: f64) -> f64 {
        /// Far more than the rounding error of a rank.
        const SLACK: f64 = 1e-9;
        // The binary logarithm of a positive normal number, rounded down.
        let exponent = |x: f64| (x.to_bits() >> 52) as i32 - 1023;
        let floor_ln = |x: f64| f64::from(exponent(x)) * std::f64::consts::LN_2;
        floor_ln(1.0 - self.c) - log_weight + floor_ln(self.r) - SLACK
    }
}
