//! Samples a fixed number of pairs of every similarity from all pairs of a source.

use std::collections::BinaryHeap;

use crate::hash::mix::{GOLDEN, mix64};
use crate::memory::refused;
use crate::{Result, memory};

/// Number of strata for similarities from 0 to 1: one for each 0.02.
const STRATA: usize = 50;

/// For each 0.02 of estimated similarity, the pairs with the least hashes, and the number of all pairs. The sample does
/// not depend on the order of pairs.
///
/// ```
/// use minlsh_sketch::labels::Reservoirs;
///
/// let mut pairs = Reservoirs::new(2);
/// for hash in [5, 3, 8, 1] {
///     if pairs.wants(0.5, hash) {
///         pairs.put(0.5, hash, format!("pair {hash}"))?;
///     }
/// }
/// let kept: Vec<_> = pairs.finish()?.into_iter().map(|(pair, weight)| (pair, weight)).collect();
/// assert_eq!(kept, [("pair 1".to_owned(), 2.0), ("pair 3".to_owned(), 2.0)]);
/// # Ok::<(), minlsh_sketch::Error>(())
/// ```
#[derive(Debug)]
pub struct Reservoirs<T> {
    most: usize,
    strata: Vec<Stratum<T>>,
}

#[derive(Debug)]
struct Stratum<T> {
    seen: u64,
    kept: BinaryHeap<(u64, T)>,
}

impl<T: Ord> Reservoirs<T> {
    /// Keeps up to `most` pairs in each stratum.
    pub fn new(most: usize) -> Self {
        let empty = |_| Stratum { seen: 0, kept: BinaryHeap::new() };
        Self { most, strata: (0..STRATA).map(empty).collect() }
    }

    /// Counts a pair. True if [`put`](Self::put) would keep it, by its hash, which must be unique.
    pub fn wants(&mut self, estimate: f64, hash: u64) -> bool {
        let most = self.most;
        let Stratum { seen, kept } = self.stratum(estimate);
        *seen += 1;
        kept.len() < most || kept.peek().is_some_and(|(greatest, _)| hash < *greatest)
    }

    /// Keeps a pair that was wanted. If there are too many, it replaces the pair with the greatest hash.
    pub fn put(&mut self, estimate: f64, hash: u64, pair: T) -> Result<()> {
        let most = self.most;
        let Stratum { kept, .. } = self.stratum(estimate);
        kept.try_reserve(1).map_err(|_| refused::<(u64, T)>(kept.len() + 1))?;
        kept.push((hash, pair));
        if kept.len() > most {
            kept.pop();
        }
        Ok(())
    }

    /// The kept pairs with the number of pairs that each represents, from the least similar stratum, by their hashes.
    pub fn finish(self) -> Result<Vec<(T, f64)>> {
        let mut pairs = Vec::new();
        for Stratum { seen, kept } in self.strata {
            let weight = seen as f64 / kept.len().max(1) as f64;
            for (_, pair) in kept.into_sorted_vec() {
                memory::push(&mut pairs, (pair, weight))?;
            }
        }
        Ok(pairs)
    }

    fn stratum(&mut self, estimate: f64) -> &mut Stratum<T> {
        let stratum = (estimate * STRATA as f64 + 1e-9) as usize;
        &mut self.strata[stratum.min(STRATA - 1)]
    }
}

/// The hash of a pair, by which [`Reservoirs`] selects, from the hashes of its two documents. Their order matters.
pub fn pair_hash(a: u64, b: u64) -> u64 {
    mix64(mix64(a.wrapping_add(GOLDEN)) ^ b)
}
