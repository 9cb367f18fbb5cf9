//! What the documents of a source are, and how each is signed.

use std::fmt;

use pgrx::pg_sys::{self, Datum, Oid};
use sketch::pipeline::Batch;
use sketch::{Config, ElementHash, Scheme, ShingleSet, Sketcher, memory, shingle_hashes};

use crate::error::{Result, engine, invalid_parameter};
use crate::pg::catalog;
use crate::pg::interrupts::check_interrupts;
use crate::pg::{array, element, text};

/// What a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text, whose shingles are the set.
    Text,
    /// An array of that type of elements: they are the set.
    Set(Oid),
    /// `integer[]`: a signature, as `minhash()` gives it.
    Signature,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "texts",
            Self::Set(_) => "sets",
            Self::Signature => "signatures",
        })
    }
}

impl Kind {
    /// What values of that type are, if they can be documents.
    pub fn of(type_oid: Oid) -> Option<Self> {
        // SAFETY: lookups in the system caches.
        let (base, is_text) = unsafe {
            let base = pg_sys::getBaseType(type_oid);
            (base, pg_sys::IsBinaryCoercible(base, pg_sys::TEXTOID))
        };
        match base {
            pg_sys::INT4ARRAYOID => Some(Self::Signature),
            pg_sys::BPCHAROID => Some(Self::Text),
            _ if is_text => Some(Self::Text),
            _ => match catalog::element_type(base) {
                Oid::INVALID => None,
                element => Some(Self::Set(element)),
            },
        }
    }

    /// Copies a document into a batch, to be signed by `config`; returns the bytes that it takes to
    /// compare it exactly.
    ///
    /// # Safety
    /// `document` is a non-null value of this kind.
    pub unsafe fn copy(self, document: Datum, config: &Config, batch: &mut Batch) -> Result<usize> {
        // SAFETY: the caller promises such a value.
        unsafe {
            match self {
                Self::Text => {
                    let text = text::read(document)?;
                    batch.push_text(text).map_err(engine)?;
                    Ok(text.len())
                }
                Self::Set(element) => {
                    let hashes = elements(document, element, config.scheme().element_hash())?;
                    batch.push_elements(&hashes).map_err(engine)?;
                    Ok(size_of_val(&*hashes))
                }
                Self::Signature => {
                    let signature = signature(document, config)?;
                    batch.push_signature(signature).map_err(engine)?;
                    Ok(size_of_val(signature))
                }
            }
        }
    }

    /// The signature of a document, `None` if it has no shingles; and the bytes that it takes to
    /// compare it exactly.
    ///
    /// # Safety
    /// `document` is a non-null value of this kind.
    pub unsafe fn sketch(
        self,
        document: Datum,
        sketcher: &mut Sketcher,
    ) -> Result<Option<(&[i32], usize)>> {
        match self {
            Self::Text => {
                // SAFETY: the caller promises a text.
                let text = unsafe { text::read(document)? };
                let signature = sketcher.sketch(text, &mut check_interrupts).map_err(engine)?;
                Ok(signature.map(|signature| (signature, text.len())))
            }
            Self::Set(element) => {
                // SAFETY: the caller promises an array of such elements.
                let hashes = unsafe {
                    elements(document, element, sketcher.config().scheme().element_hash())?
                };
                let signature =
                    sketcher.sketch_hashes(&hashes, &mut check_interrupts).map_err(engine)?;
                Ok(signature.map(|signature| (signature, size_of_val(&*hashes))))
            }
            Self::Signature => {
                // SAFETY: the caller promises an integer[].
                let signature = unsafe { signature(document, sketcher.config())? };
                Ok((!signature.is_empty()).then_some((signature, size_of_val(signature))))
            }
        }
    }

    /// The set of a document, of what [`Self::append`] has made of it.
    pub fn set(self, config: &Config, bytes: &[u8]) -> Result<ShingleSet> {
        let mut hashes = Vec::new();
        self.hashes(&config.with_scheme(Scheme::Fss), bytes, &mut hashes)?;
        Ok(ShingleSet::from_hashes(hashes, &mut check_interrupts))
    }

    /// Appends the hashes of its elements, in any order and with repeats. The scheme of `config`
    /// must be one that hashes to 64 bits.
    pub fn hashes(self, config: &Config, bytes: &[u8], out: &mut Vec<u64>) -> Result<()> {
        if self == Self::Text {
            // SAFETY: `append` has put the UTF-8 of a text there.
            let text = unsafe { std::str::from_utf8_unchecked(bytes) };
            return shingle_hashes(config, text, out, &mut check_interrupts).map_err(engine);
        }
        let hashes = bytes.as_chunks().0;
        memory::reserve(out, hashes.len()).map_err(engine)?;
        out.extend(hashes.iter().map(|hash| u64::from_ne_bytes(*hash)));
        Ok(())
    }

    /// Appends what it takes to compare a document exactly: a text as UTF-8, a set as the hashes
    /// of its elements.
    ///
    /// # Safety
    /// `document` is a non-null value of this kind.
    pub unsafe fn append(self, document: Datum, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Text => {
                // SAFETY: the caller promises a text.
                let text = unsafe { text::read(document)? };
                memory::extend(out, text.as_bytes()).map_err(engine)
            }
            Self::Set(element) => {
                // SAFETY: the caller promises an array of such elements.
                let hashes = unsafe { elements(document, element, ElementHash::Xxh3)? };
                let mut bytes = hashes.iter().map(|hash| hash.to_ne_bytes());
                bytes.try_for_each(|hash| memory::extend(out, &hash)).map_err(engine)
            }
            // There is nothing but the signature.
            Self::Signature => Ok(()),
        }
    }
}

/// The hashes of the elements of an array; nulls do not count.
///
/// # Safety
/// `document` is a non-null array of elements of type `element`.
unsafe fn elements(document: Datum, element: Oid, hash: ElementHash) -> Result<Vec<u64>> {
    // SAFETY: the caller's promise.
    let elements = unsafe { array::elements(document, element) }?;
    let mut hashes = memory::with_capacity(elements.len()).map_err(engine)?;
    for value in elements {
        // SAFETY: an element of the array.
        hashes.push(unsafe { element::read(value, element) }?.hash(hash));
    }
    Ok(hashes)
}

/// A signature as long as those of `config`, or empty.
///
/// # Safety
/// `document` is a non-null `integer[]`, valid for `'a`.
unsafe fn signature<'a>(document: Datum, config: &Config) -> Result<&'a [i32]> {
    // SAFETY: the caller's promise.
    let signature = unsafe { array::read_int4(document)? };
    let num_perm = config.num_perm();
    if !signature.is_empty() && signature.len() != num_perm {
        let slots = signature.len();
        return Err(invalid_parameter(format!(
            "a signature of the source has {slots} slots, not {num_perm}"
        ))
        .set_hint(format!("Say num_perm => {slots}; all signatures must be of one length.")));
    }
    Ok(signature)
}
