//! Elements of sets, and the bytes by which they are hashed.
//!
//! The bytes are part of the meaning of a stored signature. An element is hashed by its text form, whatever its type,
//! so that the integer 7 in one table equals the text `7` in another. Only byte strings are hashed as they are.

use std::io::Write;

use sha1::{Digest, Sha1};
use xxhash_rust::xxh32::xxh32;

use super::xxh3;

/// An element of a set.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Element<'a> {
    /// Hashed as UTF-8.
    Text(&'a str),
    /// Hashed as they are.
    Bytes(&'a [u8]),
    /// Hashed as decimal digits, after a minus sign for a negative number.
    Integer(i64),
    /// Hashed as 8-4-4-4-12 hexadecimal digits in lower case.
    Uuid(&'a [u8; 16]),
}

impl Element<'_> {
    /// The hash of the element, for [`Sketcher::sketch_hashes`](crate::Sketcher::sketch_hashes) with the
    /// [`Scheme::element_hash`](crate::Scheme::element_hash).
    pub fn hash(self, hash: ElementHash) -> u64 {
        match self {
            Self::Text(text) => hash.hash(text.as_bytes()),
            Self::Bytes(bytes) => hash.hash(bytes),
            Self::Integer(number) => {
                // 19 digits and a sign fit any number.
                let mut decimal = [0; 20];
                let mut rest = &mut decimal[..];
                let written = write!(rest, "{number}");
                debug_assert!(written.is_ok());
                let unused = rest.len();
                hash.hash(&decimal[..decimal.len() - unused])
            }
            Self::Uuid(uuid) => hash.hash(&hyphenated(uuid)),
        }
    }
}

/// The hash of the elements of a set. It is part of the name of a [`Scheme`](crate::Scheme).
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum ElementHash {
    /// XXH3_64, seed 0. Datasketch's schemes use the low half: in Python
    /// `lambda b: xxhash.xxh3_64_intdigest(b) & 0xffffffff`.
    #[default]
    Xxh3,
    /// The first four bytes of SHA-1 as a little-endian number: the `sha1_hash32` of datasketch.
    Sha1,
    /// XXH32, seed 0: in Python `xxhash.xxh32_intdigest`.
    Xxh32,
}

impl ElementHash {
    /// The hash of an element's bytes. Except for [`ElementHash::Xxh3`] it is below 2^32.
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

fn hyphenated(uuid: &[u8; 16]) -> [u8; 36] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut written = [b'-'; 36];
    let mut place = 0;
    for (i, byte) in uuid.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            place += 1;
        }
        written[place] = DIGITS[usize::from(byte >> 4)];
        written[place + 1] = DIGITS[usize::from(byte & 15)];
        place += 2;
    }
    written
}
