//! The signature of a set that arrives element by element, on several machines
//! or threads if need be.
//!
//! A signature is all the state this needs, for fss as well. That its rounds
//! stop once no slot is empty only saves work: a value of a later round is
//! greater than any of an earlier one, and all rounds would end in the same
//! minima. So the signature of a set is, slot for slot, the minimum of the
//! signatures of its elements, and of any parts that cover it. Elements are
//! collected first, because a batch costs far less than as many elements alone.

use crate::error::Error;
use crate::scheme::Scheme;
use crate::sketcher::Sketcher;

/// The signature so far of a set that arrives in parts.
///
/// It takes memory for `num_perm` slots and at most 8192 hashes, whatever the
/// size of the set. All its calls take a [`Sketcher`], which many accumulators
/// can share, and which must have one configuration throughout.
#[derive(Clone, Debug, Default)]
pub struct Accumulator {
    pending: Vec<u64>,
    signature: Option<Vec<i32>>,
}

impl Accumulator {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { pending: Vec::new(), signature: None }
    }

    /// A set of which the signature is known, such as what
    /// [`Accumulator::finish`] returned elsewhere; `None` is the empty set.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if `sketcher` makes signatures of another
    /// length.
    pub fn resume(signature: Option<&[i32]>, sketcher: &Sketcher) -> Result<Self, Error> {
        let slots = sketcher.config().num_perm();
        if let Some(signature) = signature
            && signature.len() != slots
        {
            return Err(Error::LengthMismatch { left: signature.len(), right: slots });
        }
        Ok(Self { pending: Vec::new(), signature: signature.map(<[i32]>::to_vec) })
    }

    /// Adds an element, given by its hash as in [`Sketcher::sketch_hashes`].
    /// `checkpoint` as there.
    pub fn add(&mut self, hash: u64, sketcher: &mut Sketcher, checkpoint: &mut dyn FnMut()) {
        self.pending.push(hash);
        if self.pending.len() >= batch(sketcher) {
            self.flush(sketcher, checkpoint);
        }
    }

    /// Adds the elements of another set of the same configuration.
    pub fn merge(&mut self, other: Self, sketcher: &mut Sketcher, checkpoint: &mut dyn FnMut()) {
        if let Some(signature) = other.signature {
            lower(&mut self.signature, &signature, sketcher.config().scheme());
        }
        for hash in other.pending {
            self.add(hash, sketcher, checkpoint);
        }
    }

    /// The signature; `None` if nothing was added.
    pub fn finish(
        mut self,
        sketcher: &mut Sketcher,
        checkpoint: &mut dyn FnMut(),
    ) -> Option<Vec<i32>> {
        self.flush(sketcher, checkpoint);
        self.signature
    }

    fn flush(&mut self, sketcher: &mut Sketcher, checkpoint: &mut dyn FnMut()) {
        let scheme = sketcher.config().scheme();
        if let Some(batch) = sketcher.sketch_hashes(&self.pending, checkpoint) {
            lower(&mut self.signature, batch, scheme);
        }
        // After the checkpoints: if one unwinds, nothing is lost.
        self.pending.clear();
    }
}

/// Lowers each slot to the one of `other`.
fn lower(signature: &mut Option<Vec<i32>>, other: &[i32], scheme: Scheme) {
    match signature {
        None => *signature = Some(other.to_vec()),
        Some(signature) => {
            for (slot, &other) in signature.iter_mut().zip(other) {
                *slot = scheme.minimum(*slot, other);
            }
        }
    }
}

/// Hashes that are sketched at once. An fss batch of less than a few times
/// `num_perm` leaves slots to be filled the expensive way.
fn batch(sketcher: &Sketcher) -> usize {
    (8 * sketcher.config().num_perm()).clamp(1024, 8192)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::Config;
    use crate::mix::mix64;
    use crate::signature::union;

    fn sketcher(scheme: Scheme, num_perm: usize) -> Sketcher {
        let num_perm = num_perm as i64;
        Sketcher::new(Config::new(scheme.as_str(), num_perm, "char", 5, 1).unwrap())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

        #[test]
        fn any_partition_gives_the_signature_of_the_whole(
            count in prop_oneof![1_u64..20, 1_u64..300, 1_u64..5000],
            num_perm in prop_oneof![1_usize..10, 1_usize..300],
            parts in 1_u64..6,
            seed in any::<u64>(),
            scheme in prop::sample::select(&Scheme::ALL[..]),
        ) {
            let mut sketcher = sketcher(scheme, num_perm);
            let whole: Vec<u64> = (0..count).map(|i| mix64(seed.wrapping_add(i % 4000))).collect();
            let expected = sketcher.sketch_hashes(&whole, &mut || ()).map(<[i32]>::to_vec);

            let mut merged = Accumulator::new();
            let mut united: Option<Vec<i32>> = None;
            for part in 0..parts {
                let part: Vec<u64> =
                    whole.iter().copied().filter(|h| mix64(h ^ seed) % parts == part).collect();
                let mut accumulator = Accumulator::new();
                for (i, &hash) in part.iter().enumerate() {
                    accumulator.add(hash, &mut sketcher, &mut || ());
                    if i == 700 {
                        // As if it came from another process.
                        let state = accumulator.finish(&mut sketcher, &mut || ());
                        accumulator = Accumulator::resume(state.as_deref(), &sketcher).unwrap();
                    }
                }
                let signature = sketcher.sketch_hashes(&part, &mut || ()).map(<[i32]>::to_vec);
                let finished = accumulator.clone().finish(&mut sketcher, &mut || ());
                prop_assert_eq!(&finished, &signature);
                united = match (united, signature) {
                    (Some(a), Some(b)) => Some(union(&a, &b, scheme).unwrap()),
                    (a, b) => a.or(b),
                };
                merged.merge(accumulator, &mut sketcher, &mut || ());
                prop_assert!(merged.pending.len() < 8192);
            }
            prop_assert_eq!(&merged.finish(&mut sketcher, &mut || ()), &expected);
            prop_assert_eq!(&united, &expected);
        }

        #[test]
        fn the_signature_of_a_set_is_the_minimum_of_those_of_its_elements(
            count in 1_u64..60,
            num_perm in 1_usize..100,
            seed in any::<u64>(),
        ) {
            let mut sketcher = sketcher(Scheme::Fss, num_perm);
            let set: Vec<u64> = (0..count).map(|i| mix64(seed.wrapping_add(i))).collect();
            let mut minima = vec![i32::MAX; num_perm];
            for &hash in &set {
                let single = sketcher.sketch_hashes(&[hash], &mut || ()).unwrap();
                minima = union(&minima, single, Scheme::Fss).unwrap();
            }
            prop_assert_eq!(sketcher.sketch_hashes(&set, &mut || ()), Some(&minima[..]));
        }
    }

    #[test]
    fn the_empty_set_has_no_signature_and_changes_none() {
        let mut sketcher = sketcher(Scheme::Fss, 8);
        let mut set = Accumulator::new();
        set.merge(Accumulator::new(), &mut sketcher, &mut || ());
        assert_eq!(set.clone().finish(&mut sketcher, &mut || ()), None);
        set.add(7, &mut sketcher, &mut || ());
        set.merge(Accumulator::resume(None, &sketcher).unwrap(), &mut sketcher, &mut || ());
        let signature = set.finish(&mut sketcher, &mut || ());
        assert_eq!(signature.as_deref(), sketcher.sketch_hashes(&[7], &mut || ()));
        let refused = Accumulator::resume(Some(&[1, 2]), &sketcher).unwrap_err();
        assert_eq!(refused, Error::LengthMismatch { left: 2, right: 8 });
    }
}
