//! The codes of a document: numbers, versions, models. Two documents may be required to have one in common.

use sketch::{codes, hash128, stored};

use crate::corpus::source::reader::Reader;
use crate::document::kind::Kind;
use crate::prelude::*;

/// Hashes of codes, ascending. A document other than a text has no codes.
pub struct Codes(Vec<u64>);

impl Codes {
    /// Minimum length of a code, the default of `codes()`.
    pub const MIN_LENGTH: i64 = 4;

    /// Reads the codes of at least `min_length` characters of a document from its compared bytes.
    pub fn of(reader: Reader, bytes: &[u8], min_length: i64) -> Result<Self> {
        let mut hashes = Vec::new();
        if reader.kind == Kind::Text {
            let text = stored::text(bytes)?;
            codes(&text, min_length, &mut check_interrupts, &mut |code| {
                memory::push(&mut hashes, hash128(code.as_bytes()) as u64)
            })?;
        }
        hashes.sort_unstable();
        Ok(Self(hashes))
    }

    /// True if two documents share a code, or if one of them has no code, as `agree => 'codes(body)'` requires.
    pub fn agree(&self, other: &Self) -> bool {
        let [a, b] = [&self.0, &other.0];
        let is_common = || a.iter().any(|code| b.binary_search(code).is_ok());
        a.is_empty() || b.is_empty() || is_common()
    }
}
