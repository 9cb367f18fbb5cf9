//! What the documents of a source are, and how each is signed.

use pgrx::pg_sys::{self, Datum, Oid};
use sketch::{ElementHash, Sketcher, memory};

use crate::error::{Result, engine, invalid_parameter};
use crate::functions::checkpoint;
use crate::pg::{array, text};

/// What a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text, whose shingles are the set.
    Text,
    /// `text[]`: its elements are the set.
    Set,
    /// `integer[]`: a signature, as `minhash()` gives it.
    Signature,
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
            pg_sys::TEXTARRAYOID | pg_sys::VARCHARARRAYOID => Some(Self::Set),
            pg_sys::BPCHAROID => Some(Self::Text),
            _ => is_text.then_some(Self::Text),
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
                let signature = sketcher.sketch(&text, &mut checkpoint);
                Ok(signature.map(|signature| (signature, text.len())))
            }
            Self::Set => {
                // SAFETY: the caller promises a text[].
                let hashes = unsafe { elements(document, sketcher.config().scheme().element_hash())? };
                let signature = sketcher.sketch_hashes(&hashes, &mut checkpoint);
                Ok(signature.map(|signature| (signature, size_of_val(&*hashes))))
            }
            Self::Signature => {
                // SAFETY: the caller promises an integer[].
                let signature = unsafe { array::read_int4(document)? };
                let num_perm = sketcher.config().num_perm();
                if !signature.is_empty() && signature.len() != num_perm {
                    let slots = signature.len();
                    return Err(invalid_parameter(format!(
                        "a signature of the source has {slots} slots, not {num_perm}"
                    ))
                    .set_hint(format!("Say num_perm => {slots}; all signatures must be of one length.")));
                }
                Ok((!signature.is_empty()).then_some((signature, size_of_val(signature))))
            }
        }
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
            Self::Set | Self::Signature => {
                // SAFETY: the caller promises a text[].
                let hashes = unsafe { elements(document, ElementHash::Xxh3)? };
                hashes
                    .iter()
                    .try_for_each(|hash| memory::extend(out, &hash.to_ne_bytes()))
                    .map_err(engine)
            }
        }
    }
}

/// The hashes of the elements of a `text[]`; nulls do not count.
///
/// # Safety
/// `document` is a non-null `text[]`.
unsafe fn elements(document: Datum, element_hash: ElementHash) -> Result<Vec<u64>> {
    // SAFETY: the caller's promise.
    let elements = unsafe { array::elements(document, pg_sys::TEXTOID) };
    let mut hashes = memory::with_capacity(elements.len()).map_err(engine)?;
    for element in elements {
        // SAFETY: an element of a text[].
        hashes.push(element_hash.hash(unsafe { text::read(element) }?.as_bytes()));
    }
    Ok(hashes)
}
