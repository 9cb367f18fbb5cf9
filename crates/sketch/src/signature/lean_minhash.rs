//! Signatures in the format of datasketch's `LeanMinHash`.
//!
//! Both formats start with the seed in 8 bytes and a count in 4. In the format of datasketch 1.x, which 2.x keeps for
//! the scheme `legacy`, the hash values follow, 4 bytes each. In the format of 2.x the count is negated, and a byte
//! with a scheme code (1: `affine32`) precedes the values. In the native byte order, Python's default, three more bytes
//! align the values to four.

use std::str::FromStr;

use crate::config::valid_num_perm;
use crate::error::excerpt;
use crate::hash::ElementHash;
use crate::scheme::Scheme;
use crate::{Error, Result};

/// Size of the seed and the count.
const HEADER: usize = 12;
/// The scheme code of `affine32`.
const AFFINE32: u8 = 1;

/// A byte order of `LeanMinHash.serialize`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LeanByteOrder {
    /// `@`, Python's default: little endian with values aligned to four, as on x86-64 and ARM.
    #[default]
    Native,
    /// `<`, and `=` on little-endian machines.
    Little,
    /// `>` and `!`.
    Big,
}

impl FromStr for LeanByteOrder {
    type Err = Error;

    fn from_str(order: &str) -> Result<Self> {
        match order {
            "@" => Ok(Self::Native),
            "<" | "=" => Ok(Self::Little),
            ">" | "!" => Ok(Self::Big),
            _ => Err(Error::LeanByteOrder(excerpt(order))),
        }
    }
}

/// The content of a serialised `LeanMinHash`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Lean {
    /// A scheme of datasketch. The bytes do not record how elements were hashed, so it is the scheme with SHA-1.
    pub scheme: Scheme,
    /// The seed of the permutations, `0..=u32::MAX`.
    pub seed: i64,
    /// The slots; `None` if the `MinHash` was empty. An empty set has no signature here, because it would equal all
    /// other empty sets'.
    pub signature: Option<Vec<i32>>,
}

/// Serialises a signature as datasketch's `LeanMinHash.serialize` does, in the format of its scheme.
///
/// # Errors
/// [`Error::LeanScheme`] if `scheme` is not one of datasketch's; [`Error::NumPerm`]; [`Error::Seed`] outside
/// `0..=u32::MAX`. The first in this order.
pub fn to_lean(signature: &[i32], scheme: Scheme, seed: i64, order: LeanByteOrder) -> Result<Vec<u8>> {
    if !scheme.is_datasketch() {
        return Err(Error::LeanScheme(scheme.as_str()));
    }
    valid_num_perm(signature.len() as i64)?;
    if u32::try_from(seed).is_err() {
        return Err(Error::Seed(seed));
    }
    let big = order == LeanByteOrder::Big;
    let int = |value: i32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let count = signature.len() as i32;
    let mut bytes = Vec::with_capacity(HEADER + 4 + 4 * signature.len());
    bytes.extend(if big { seed.to_be_bytes() } else { seed.to_le_bytes() });
    if let Scheme::DatasketchAffine32(_) = scheme {
        bytes.extend(int(-count));
        bytes.push(AFFINE32);
        if order == LeanByteOrder::Native {
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
    } else {
        bytes.extend(int(count));
    }
    bytes.extend(signature.iter().flat_map(|&slot| int(slot)));
    Ok(bytes)
}

/// Parses the result of datasketch's `LeanMinHash.serialize`, in either format and any byte order.
///
/// Only one byte order gives a count that matches the length and a seed of 32 bits. The exception is a single value of
/// `affine32` with seed 0, which is read as little endian. One in 16 million packed little-endian values starts with
/// three zeros, like a truncated value in native order, and is refused.
///
/// # Errors
/// [`Error::LeanHeader`] with fewer than 12 bytes; [`Error::LeanLength`] if the count and the length contradict each
/// other, in either byte order; [`Error::LeanCode`] for `affine64`, whose values have 64 bits, and for codes that
/// datasketch does not know; [`Error::NumPerm`]; [`Error::Seed`] outside `0..=u32::MAX`.
pub fn from_lean(bytes: &[u8]) -> Result<Lean> {
    let little = read(bytes, i64::from_le_bytes, i32::from_le_bytes, true);
    match little {
        Ok(_) | Err(Error::LeanHeader(_)) => little,
        Err(_) => read(bytes, i64::from_be_bytes, i32::from_be_bytes, false).or(little),
    }
}

/// `padded` is true if this byte order is the native one's.
fn read(bytes: &[u8], long: fn([u8; 8]) -> i64, int: fn([u8; 4]) -> i32, padded: bool) -> Result<Lean> {
    let header = bytes.split_first_chunk::<8>();
    let header = header.and_then(|(seed, rest)| Some((seed, rest.split_first_chunk::<4>()?)));
    let (seed, (count, rest)) = header.ok_or(Error::LeanHeader(bytes.len()))?;
    let (seed, count) = (long(*seed), int(*count));
    let wrong_length = Error::LeanLength { bytes: bytes.len(), count };
    let (scheme, values) = if count >= 0 {
        (Scheme::DatasketchLegacy(ElementHash::Sha1), rest)
    } else {
        let (&code, rest) = rest.split_first().ok_or(wrong_length.clone())?;
        let scheme = Scheme::DatasketchAffine32(ElementHash::Sha1);
        let packed = Some(rest.len()) == (count.unsigned_abs() as usize).checked_mul(4);
        // A truncated value in native order, which has three zeros here, has the same length.
        if packed && padded && rest.starts_with(&[0; 3]) {
            return Err(wrong_length);
        }
        if code != AFFINE32 {
            // Bytes in the other byte order look like this too.
            let plausible = i64::from(count) >= -(bytes.len() as i64);
            return Err(if plausible { Error::LeanCode(code) } else { wrong_length });
        }
        (scheme, if packed { rest } else { rest.get(3..).unwrap_or_default() })
    };
    if Some(values.len()) != (count.unsigned_abs() as usize).checked_mul(4) {
        return Err(wrong_length);
    }
    valid_num_perm(count.unsigned_abs().into())?;
    if u32::try_from(seed).is_err() {
        return Err(Error::Seed(seed));
    }
    let (values, _) = values.as_chunks::<4>();
    let signature: Vec<i32> = values.iter().map(|&value| int(value)).collect();
    let empty = signature.iter().all(|&slot| slot as u32 == u32::MAX);
    Ok(Lean { scheme, seed, signature: (!empty).then_some(signature) })
}
