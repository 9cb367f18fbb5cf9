//! The codes of a document: numbers, versions, models. Two documents may be required to have one in common.

use sketch::{codes, hash128, stored};

use crate::corpus::source::reader::Reader;
use crate::document::kind::Kind;
use crate::prelude::*;

/// Minimum length of a code, the default of `codes()`.
const MIN_LENGTH: i64 = 4;

/// Hashes of codes, ascending. A document other than a text has none.
pub struct Codes(Vec<u128>);

impl Codes {
    /// Reads the codes of a document from its compared bytes.
    pub fn of(reader: Reader, bytes: &[u8]) -> Result<Self> {
        Self::from(reader, bytes, MIN_LENGTH)
    }

    /// Reads the codes of a document of any length.
    pub fn numbers(reader: Reader, bytes: &[u8]) -> Result<Self> {
        Self::from(reader, bytes, 1)
    }

    fn from(reader: Reader, bytes: &[u8], min_length: i64) -> Result<Self> {
        let mut hashes = Vec::new();
        if reader.kind == Kind::Text {
            let text = stored::text(bytes)?;
            codes(&text, min_length, &mut check_interrupts, &mut |code| {
                memory::push(&mut hashes, hash128(code.as_bytes()))
            })?;
        }
        hashes.sort_unstable();
        Ok(Self(hashes))
    }

    /// True if two documents share a code, or if one of them has none, as `agree => 'codes(body)'` requires.
    pub fn agree(&self, other: &Self) -> bool {
        let [a, b] = [&self.0, &other.0];
        let is_common = || a.iter().any(|code| b.binary_search(code).is_ok());
        a.is_empty() || b.is_empty() || is_common()
    }
}
