//! The forms in which documents are compared, and the terms of a comparison.

use zerocopy::IntoBytes;

use crate::corpus::{HashParts, SetOutline};
use crate::hash::hash128;
use crate::scheme::Scheme;
use crate::shingle::{normalize_text, shingle_hashes};
use crate::signature::Banding;
use crate::spool::{Number, numbers};
pub use crate::stored::Form;
use crate::stored::text;
use crate::{Check, Config, Result, ShingleSet, memory};

/// Bytes of a text above which its outline is made without its hashes, which would take 16 times as many bytes.
const LONG: usize = 1 << 20;

/// The way in which a candidate is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// By the similarity estimated from signatures.
    Signature,
    /// By the exact Jaccard similarity.
    Exact,
}

/// The terms by which documents are signed, banded and compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    /// The form of the documents.
    pub form: Form,
    /// A signature has no set for an exact comparison.
    pub verify: Verify,
    /// The least similarity of a pair, above 0 and up to 1.
    pub threshold: f64,
    /// The way in which documents are split and signed.
    pub config: Config,
    /// The bands by which candidates are found.
    pub banding: Banding,
    /// Number of comparisons without success that a document makes in a bucket.
    pub bucket_limit: usize,
}

impl Terms {
    /// The form in which documents are compared.
    pub(super) fn compared(&self) -> Form {
        match self.verify {
            Verify::Exact => self.form,
            Verify::Signature => Form::Signature,
        }
    }
}

impl Form {
    /// Estimated number of shingles in `bytes` bytes: a text has nearly one for each byte.
    pub fn elements(self, bytes: usize) -> usize {
        if self == Self::Text { bytes } else { bytes / size_of::<u64>() }
    }

    /// Makes the set of a document.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn set(self, config: &Config, bytes: &[u8], check: Check) -> Result<ShingleSet> {
        let mut hashes = Vec::new();
        self.hashes(&config.with_scheme(Scheme::Fss), bytes, &mut hashes, check)?;
        Ok(ShingleSet::from_hashes(hashes, check))
    }

    /// Appends the hashes of its elements, in any order and with repeats. The scheme of `config` must hash to 64 bits.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn hashes(self, config: &Config, bytes: &[u8], out: &mut Vec<u64>, check: Check) -> Result<()> {
        if self == Self::Text {
            return shingle_hashes(config, &text(bytes)?, out, check);
        }
        memory::extend(out, numbers(bytes, &mut Vec::new())?)
    }

    /// Adds the set of a document to `parts`. It takes no memory for its hashes, except for sets and bags.
    pub(super) fn add_to(self, parts: &mut HashParts, config: &Config, bytes: &[u8], check: Check) -> Result<()> {
        if self == Self::Text && !config.bag() {
            return parts.add_text(config, &text(bytes)?, check);
        }
        let mut hashes = Vec::new();
        self.hashes(&config.with_scheme(Scheme::Fss), bytes, &mut hashes, check)?;
        parts.add_hashes(&hashes, check)
    }

    /// Makes the outline of the set of a document.
    pub(super) fn outline(self, config: &Config, bytes: &[u8], words: usize, check: Check) -> Result<SetOutline> {
        if self == Self::Text && !config.bag() && bytes.len() > LONG {
            return SetOutline::of_text(config, &text(bytes)?, words, check);
        }
        let mut hashes = Vec::new();
        self.hashes(&config.with_scheme(Scheme::Fss), bytes, &mut hashes, check)?;
        SetOutline::of(&mut hashes, words, check)
    }

    /// A hash of a document. Documents with the same hash have the same set.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn fingerprint(self, config: &Config, bytes: &[u8], check: Check) -> Result<u128> {
        if self == Self::Text {
            return Ok(hash128(normalize_text(config, &text(bytes)?, check)?.as_bytes()));
        }
        Ok(hash128(bytes))
    }
}

/// Appends hashes as the bytes of [`Form::Elements`], or slots as the bytes of [`Form::Signature`].
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
pub fn append_bytes<T: Number>(numbers: &[T], out: &mut Vec<u8>) -> Result<()> {
    memory::extend(out, numbers.as_bytes())
}
