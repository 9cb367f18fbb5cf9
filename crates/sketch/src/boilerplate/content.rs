//! The content of a document, of which some counts.

use crate::config::Config;
use crate::error::Error;
use crate::hash::{sort_by_key, xxh3};
use crate::memory;
use crate::shingle::{has_any, normalize_text, shingle_hashes};

/// The content of a document.
#[derive(Clone, Copy)]
pub enum Shingled<'a> {
    /// A text, cut as a configuration says whose scheme hashes to 64 bits.
    Text(&'a Config, &'a str),
    /// A set, by the hashes of its elements, in any order and with any repeats.
    Elements(&'a [u64]),
}

impl Shingled<'_> {
    /// A hash of a text once it is normalised, or of a set, which is that of all its copies; `None` if there are no
    /// shingles.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn fingerprint(self, check_interrupts: &mut dyn FnMut()) -> Result<Option<u64>, Error> {
        match self {
            Self::Text(config, text) => {
                let text = normalize_text(config, text, check_interrupts)?;
                let has = has_any(config, &text, check_interrupts)?;
                Ok(has.then(|| xxh3::hash(text.as_bytes())))
            }
            Self::Elements([]) => Ok(None),
            Self::Elements(hashes) => {
                let mut hashes = memory::copied(hashes)?;
                sort_by_key(&mut hashes, check_interrupts);
                hashes.dedup();
                let mut bytes = memory::with_capacity(size_of_val(&*hashes))?;
                hashes.iter().for_each(|hash| bytes.extend_from_slice(&hash.to_le_bytes()));
                Ok(Some(xxh3::hash(&bytes)))
            }
        }
    }

    /// Appends the hashes of its shingles to `out`, with repeats.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn hashes(
        self,
        out: &mut Vec<u64>,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        match self {
            Self::Text(config, text) => shingle_hashes(config, text, out, check_interrupts),
            Self::Elements(hashes) => memory::extend(out, hashes),
        }
    }
}
