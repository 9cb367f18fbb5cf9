//! How a set of hashes becomes a signature, and how an element is hashed.

use std::fmt;
use std::str::FromStr;

use sha1::{Digest, Sha1};
use xxhash_rust::xxh32::xxh32;

use crate::error::{Error, excerpt};
use crate::xxh3;

/// How a set of shingle hashes becomes a signature.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Scheme {
    /// Fast Similarity Sketching (Dahlgaard, Knudsen, Thorup, FOCS 2017):
    /// O(n + K) work and a smaller error than K permutations. Slots are
    /// `0..=i32::MAX`. Signatures of different `num_perm` are incomparable.
    #[default]
    Fss,
    /// K hash functions `a*h + b mod 2^32`, the textbook (Mining of Massive
    /// Datasets, section 3.3). Slots are the bit patterns of `u32` values:
    /// their order is unsigned. The signature of a smaller `num_perm` is a
    /// prefix of the one of a larger.
    Permutations,
    /// The default of the Python library datasketch since its release 2.0,
    /// bit for bit: `a * fmix32(h) + b mod 2^32`, with a and b from its seed.
    /// Slots are the bit patterns of `u32` values. Signatures of different
    /// `num_perm` are incomparable, because all a are drawn before all b.
    DatasketchAffine32(ElementHash),
    /// The scheme of datasketch 1.x, its `legacy` since 2.0, bit for bit:
    /// the low half of `(a*h + b mod 2^64) mod (2^61 - 1)`. Slots are the bit
    /// patterns of `u32` values. The signature of a smaller `num_perm` is a
    /// prefix of the one of a larger. For exchange only: two sets of a million
    /// elements appear more similar than they are.
    DatasketchLegacy(ElementHash),
}

impl Scheme {
    /// Every scheme.
    pub const ALL: [Self; 8] = [
        Self::Fss,
        Self::Permutations,
        Self::DatasketchAffine32(ElementHash::Sha1),
        Self::DatasketchAffine32(ElementHash::Xxh32),
        Self::DatasketchAffine32(ElementHash::Xxh3),
        Self::DatasketchLegacy(ElementHash::Sha1),
        Self::DatasketchLegacy(ElementHash::Xxh32),
        Self::DatasketchLegacy(ElementHash::Xxh3),
    ];

    /// The name that [`FromStr`] reads. A datasketch scheme without a suffix
    /// hashes as datasketch does unless told otherwise: SHA-1.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        use ElementHash::{Sha1, Xxh3, Xxh32};
        match self {
            Self::Fss => "fss",
            Self::Permutations => "permutations",
            Self::DatasketchAffine32(Sha1) => "datasketch_affine32",
            Self::DatasketchAffine32(Xxh32) => "datasketch_affine32_xxh32",
            Self::DatasketchAffine32(Xxh3) => "datasketch_affine32_xxh3",
            Self::DatasketchLegacy(Sha1) => "datasketch_legacy",
            Self::DatasketchLegacy(Xxh32) => "datasketch_legacy_xxh32",
            Self::DatasketchLegacy(Xxh3) => "datasketch_legacy_xxh3",
        }
    }

    /// How an element, and a shingle, is hashed.
    #[must_use]
    pub const fn element_hash(self) -> ElementHash {
        match self {
            Self::Fss | Self::Permutations => ElementHash::Xxh3,
            Self::DatasketchAffine32(hash) | Self::DatasketchLegacy(hash) => hash,
        }
    }

    /// Whether signatures are those of datasketch. Then the seed is
    /// datasketch's, `0..=u32::MAX`.
    #[must_use]
    pub const fn is_datasketch(self) -> bool {
        matches!(self, Self::DatasketchAffine32(_) | Self::DatasketchLegacy(_))
    }

    /// The seed unless told otherwise: 1 for datasketch's schemes, as in
    /// datasketch, 0 for the others.
    #[must_use]
    pub const fn default_seed(self) -> i64 {
        self.is_datasketch() as i64
    }

    /// The lesser of two values of a slot: what the slot of a union has.
    #[inline(always)]
    #[must_use]
    pub const fn minimum(self, x: i32, y: i32) -> i32 {
        let less = match self {
            Self::Fss => x < y,
            // Bit patterns of u32.
            _ => (x as u32) < y as u32,
        };
        if less { x } else { y }
    }
}

impl FromStr for Scheme {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let known = Self::ALL.into_iter().find(|scheme| scheme.as_str() == name);
        known.ok_or_else(|| Error::UnknownScheme(excerpt(name)))
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How an element of a set is hashed. It is part of the name of a [`Scheme`].
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum ElementHash {
    /// XXH3_64, seed 0. Datasketch's schemes use the low half: in Python
    /// `lambda b: xxhash.xxh3_64_intdigest(b) & 0xffffffff`.
    #[default]
    Xxh3,
    /// The first four bytes of SHA-1 as a little-endian number: the
    /// `sha1_hash32` of datasketch.
    Sha1,
    /// XXH32, seed 0: in Python `xxhash.xxh32_intdigest`.
    Xxh32,
}

impl ElementHash {
    /// The hash of an element given by its bytes; below 2^32 but for
    /// [`ElementHash::Xxh3`].
    #[must_use]
    pub fn hash(self, element: &[u8]) -> u64 {
        match self {
            Self::Xxh3 => xxh3::hash(element),
            Self::Sha1 => {
                let [a, b, c, d, ..] = Sha1::digest(element).0;
                u32::from_le_bytes([a, b, c, d]).into()
            }
            Self::Xxh32 => xxh32(element, 0).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for scheme in Scheme::ALL {
            assert_eq!(scheme.to_string().parse(), Ok(scheme));
        }
        assert!("datasketch".parse::<Scheme>().is_err());
        assert!("fss_sha1".parse::<Scheme>().is_err());
    }

    #[test]
    fn element_hashes_are_the_published_ones() {
        // SHA-1 of "abc" starts with a9993e36 (FIPS 180-4).
        assert_eq!(ElementHash::Sha1.hash(b"abc"), 0x363e_99a9);
        // xxHash's own test: XXH32 of no bytes, seed 0.
        assert_eq!(ElementHash::Xxh32.hash(b""), 0x02cc_5d05);
        assert_eq!(ElementHash::Xxh3.hash(b""), 0x2d06_8005_38d3_94c2);
    }

    #[test]
    fn only_fss_orders_slots_as_signed_numbers() {
        for scheme in Scheme::ALL {
            assert_eq!(scheme.minimum(3, 5), 3);
            assert_eq!(scheme.minimum(5, 3), 3);
            if scheme != Scheme::Fss {
                assert_eq!(scheme.minimum(-1, i32::MIN), i32::MIN);
                assert_eq!(scheme.minimum(i32::MIN, i32::MAX), i32::MAX);
            }
        }
    }
}
