//! The schemes that make a signature of a set of hashes, by name.

use std::fmt;
use std::str::FromStr;

use crate::error::excerpt;
use crate::hash::ElementHash;
use crate::{Error, Result};

/// A scheme that makes a signature of a set of shingle hashes.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Scheme {
    /// Fast Similarity Sketching (Dahlgaard, Knudsen, Thorup, FOCS 2017): O(n + K) work and a smaller error than K
    /// permutations. Slots are `0..=i32::MAX`. Signatures of different `num_perm` are incomparable.
    #[default]
    Fss,
    /// K hash functions `a*h + b mod 2^32`, the textbook's scheme (Mining of Massive Datasets, section 3.3). Slots are
    /// the bit patterns of `u32` values: their order is unsigned. A signature is a prefix of one with a larger
    /// `num_perm`.
    Permutations,
    /// The default of the Python library datasketch since its release 2.0, bit for bit: `a * fmix32(h) + b mod 2^32`,
    /// with a and b from its seed. Slots are the bit patterns of `u32` values. Signatures of different `num_perm` are
    /// incomparable, because all a are drawn before all b.
    DatasketchAffine32(ElementHash),
    /// The scheme of datasketch 1.x, its `legacy` since 2.0, bit for bit. A value is the low half of
    /// `(a*h + b mod 2^64) mod (2^61 - 1)`. Slots are the bit patterns of `u32` values. A signature is a prefix of one
    /// with a larger `num_perm`. Only for exchange: two sets of a million elements appear more similar than they are.
    DatasketchLegacy(ElementHash),
}

impl Scheme {
    /// All schemes.
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

    /// The name that [`FromStr`] reads. A datasketch scheme without a suffix hashes with SHA-1, datasketch's default.
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

    /// The hash function of elements and shingles.
    pub const fn element_hash(self) -> ElementHash {
        match self {
            Self::Fss | Self::Permutations => ElementHash::Xxh3,
            Self::DatasketchAffine32(hash) | Self::DatasketchLegacy(hash) => hash,
        }
    }

    /// True for the schemes of datasketch. Their seed is datasketch's, `0..=u32::MAX`.
    pub const fn is_datasketch(self) -> bool {
        matches!(self, Self::DatasketchAffine32(_) | Self::DatasketchLegacy(_))
    }

    /// The default seed: 1 for datasketch's schemes, as in datasketch; 0 for the others.
    pub const fn default_seed(self) -> i64 {
        self.is_datasketch() as i64
    }
}

impl FromStr for Scheme {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|scheme| scheme.as_str() == name);
        known.ok_or_else(|| Error::UnknownScheme { name: excerpt(name), known: Self::ALL.map(Self::as_str).to_vec() })
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
