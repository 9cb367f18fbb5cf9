//! Buckets of an index that are each of one scope: a tenant's documents meet no others.

use crate::hash::mix::GOLDEN;

/// The hash of a missing value of a scope.
const MISSING: u64 = 0x6d69_6e6c_7368_0002;

/// The values that a bucket is of, folded into one hash. What it gives is stored in indexes, and
/// belongs to [`Config::VERSION`](crate::Config::VERSION).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ScopeHash(u64);

impl ScopeHash {
    /// This scope, with one more value, given by its hash; `None` of a missing one. The order
    /// of values matters.
    #[must_use]
    pub fn with(self, value: Option<u64>) -> Self {
        Self(fmix64(self.0.wrapping_mul(GOLDEN) ^ value.unwrap_or(MISSING)))
    }

    /// The key of a bucket: of the documents of this scope that have the band hash `band`
    /// (see [`Banding::hashes`](crate::Banding::hashes)).
    #[must_use]
    pub fn bucket(self, band: i64) -> u64 {
        fmix64(self.0 ^ band as u64)
    }
}

/// The 64-bit finaliser of MurmurHash3: a bijection in which every bit depends on every bit.
fn fmix64(mut hash: u64) -> u64 {
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values that indexes of version 1 have.
    #[test]
    fn buckets_are_the_same_for_ever() {
        let none = ScopeHash::default();
        assert_eq!(none.bucket(0), 0);
        // The finaliser of MurmurHash3 (smhasher): fmix64(1).
        assert_eq!(none.bucket(1), 0xb456_bcfc_34c2_cb2c);
        let scope = none.with(Some(7)).with(None);
        assert_eq!(scope.bucket(-1), 0x3a3a_70e5_2130_048e);
    }

    #[test]
    fn scopes_differ_by_values_and_their_order() {
        let of = |values: [Option<u64>; 2]| {
            values.into_iter().fold(ScopeHash::default(), ScopeHash::with)
        };
        let scopes = [of([Some(1), Some(2)]), of([Some(2), Some(1)]), of([Some(1), None])];
        for (i, scope) in scopes.iter().enumerate() {
            assert!(scopes[..i].iter().all(|other| other.bucket(5) != scope.bucket(5)));
        }
    }
}
