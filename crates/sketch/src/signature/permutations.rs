//! The textbook's scheme: K hash functions, the minimum of each (Broder 1997; Mining of Massive Datasets, section
//! 3.3.5).
//!
//! Function `j` is `a_j * lo32(h) + b_j` modulo 2^32 with `a_j` odd, so that it
//! permutes the 32-bit values. The work is K steps per shingle.

use super::seeded_hashes::{STEPS, SeededHashes};
use crate::config::valid_num_perm;
use crate::simd::{Level, SLOT_LANES};
use crate::{Check, Error, Result, memory};

/// Some hash functions, with the minimum of each. The arrays are padded to whole vectors.
#[derive(Default)]
pub(crate) struct Functions {
    multipliers: Vec<u32>,
    summands: Vec<u32>,
    pub(super) minima: Vec<u32>,
}

impl Functions {
    /// Replaces the functions by multipliers and summands.
    pub(crate) fn set(&mut self, functions: impl Iterator<Item = (u32, u32)>) {
        self.multipliers.clear();
        self.summands.clear();
        for (multiplier, summand) in functions {
            self.multipliers.push(multiplier);
            self.summands.push(summand);
        }
        let padded = self.multipliers.len().next_multiple_of(SLOT_LANES);
        self.multipliers.resize(padded, 0);
        self.summands.resize(padded, 0);
    }

    /// Takes the minimum of each function over all hashes of `passes`. True if there were any.
    pub(crate) fn minimise(&mut self, level: Level, passes: &mut SeededHashes, check: Check) -> Result<bool> {
        let Self { multipliers, summands, minima } = self;
        minima.clear();
        minima.resize(multipliers.len(), u32::MAX);
        passes.each_part(multipliers.len(), check, &mut |part| {
            level.affine_min(part, multipliers, summands, minima);
        })
    }
}

/// MinHash in the textbook's notation: numbered rows, and hash functions `x -> (a[j] * x + b[j]) mod p` that the caller
/// chooses. For learning, and for checking worked examples; documents are signed with a [`Scheme`](crate::Scheme).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinearFunctions {
    /// (a, b), both reduced modulo p.
    coefficients: Vec<(u64, u64)>,
    modulus: u64,
}

impl LinearFunctions {
    /// One function for each pair of coefficients. `p` need not be prime: the
    /// textbook also shows what happens when a function is not a permutation.
    ///
    /// # Errors
    /// [`Error::Coefficients`] if the numbers of a and b differ; [`Error::NumPerm`] for none or too many;
    /// [`Error::Modulus`] unless `1 <= p < 2^31`, so that a value fits into a slot.
    pub fn new(a: &[i64], b: &[i64], p: i64) -> Result<Self> {
        if a.len() != b.len() {
            return Err(Error::Coefficients { a: a.len(), b: b.len() });
        }
        valid_num_perm(a.len() as i64)?;
        if !(1..=i64::from(i32::MAX)).contains(&p) {
            return Err(Error::Modulus(p));
        }
        let reduce = |value: i64| value.rem_euclid(p) as u64;
        let coefficients = a.iter().zip(b).map(|(&a, &b)| (reduce(a), reduce(b))).collect();
        Ok(Self { coefficients, modulus: p as u64 })
    }

    /// The minimum of each function over a set of row numbers; `None` for the
    /// empty set. Order and repeats do not matter.
    pub fn minhash(&self, rows: &[i64], check: Check) -> Result<Option<Vec<i32>>> {
        if rows.is_empty() {
            return Ok(None);
        }
        let reduced = rows.iter().map(|row| row.rem_euclid(self.modulus as i64) as u64);
        let rows = memory::collect(reduced)?;
        let functions_per_part = (STEPS / rows.len()).max(1);
        let mut signature = Vec::with_capacity(self.coefficients.len());
        for part in self.coefficients.chunks(functions_per_part) {
            check();
            signature.extend(part.iter().map(|&(a, b)| {
                // All three are below 2^31: the sum is below 2^62 + 2^31.
                let least = rows.iter().map(|row| (a * row + b) % self.modulus).min();
                least.map_or(0, |value| value as i32)
            }));
        }
        Ok(Some(signature))
    }
}
