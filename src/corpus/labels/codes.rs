//! The codes of a document, by which two documents may be required to agree.

use sketch::{codes, hash128, stored};

use crate::corpus::source::reader::Reader;
use crate::document::kind::Kind;
use crate::prelude::*;

/// The least number of characters of a code, as `codes()` has it by default.
const MIN_LENGTH: i64 = 4;

/// Hashes of codes, ascending. A document that is not a text has none.
pub struct Codes(Vec<u128>);

impl Codes {
    /// Reads the codes of a document, by the bytes that it is compared by.
    pub fn of(reader: Reader, bytes: &[u8]) -> Result<Self> {
        let mut hashes = Vec::new();
        if reader.kind == Kind::Text {
            let text = stored::text(bytes)?;
            codes(&text, MIN_LENGTH, &mut check_interrupts, &mut |code| {
                memory::push(&mut hashes, hash128(code.as_bytes()))
            })?;
        }
        hashes.sort_unstable();
        Ok(Self(hashes))
    }

    /// True if two documents have a code in common, or one of them has none: what `agree => 'codes(body)'` asks for.
    pub fn agree(&self, other: &Self) -> bool {
        let [a, b] = [&self.0, &other.0];
        let is_common = || a.iter().any(|code| b.binary_search(code).is_ok());
        a.is_empty() || b.is_empty() || is_common()
    }
}
