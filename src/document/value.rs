//! Values as they are compared, signed or searched for.

use std::borrow::Cow;

use sketch::passage::Bound;
use sketch::pipeline::SignerBatch;
use sketch::stored::StoredBytes;
use sketch::{Config, ElementHash, ShingleSet, Sketcher};

use super::image::{Content, Document, hash};
use super::kind::{Kind, is_document, is_passage};
use crate::prelude::*;

/// A value to be compared or signed.
pub enum Value<'a> {
    /// A text, in the database's encoding.
    Text(&'a [u8]),
    /// The hashes of the elements of a set, in any order and with repeats.
    Set(Vec<u64>),
    /// The slots of a signature.
    Signature(Cow<'a, [i32]>),
}

/// A value, with the document that contains it, if there is one.
pub type ReadValue<'a> = (Value<'a>, Option<Document<'a>>);

impl<'a> TypedValue<'a> {
    /// Its kind, by its type; `None` if it cannot be a document.
    pub fn kind(self) -> Option<Kind> {
        let kind = Kind::of_type(self.type_oid(), Oid::INVALID);
        kind.or_else(|| is_document(self.type_oid()).then_some(Kind::Document))
    }

    /// Reads it as a value of kind `kind`, which must [have](Kind::has) its type. `hash` hashes the elements of a set.
    pub fn read_as(self, kind: Kind, hash: ElementHash) -> Result<ReadValue<'a>> {
        assert!(kind.has(self.type_oid()), "a value is of the kind of its column");
        // SAFETY: the kind has the type, as was just asserted, and the value is valid for `'a`.
        unsafe { kind.read(self.datum(), hash) }
    }

    /// Reads it; `None` if it has no kind.
    pub fn read(self) -> Result<Option<ReadValue<'a>>> {
        self.kind().map(|kind| self.read_as(kind, ElementHash::default())).transpose()
    }

    /// Reads a signature; `None` if it is not an `integer[]`.
    pub fn signature(self) -> Result<Option<ReadValue<'a>>> {
        let is_signature = Kind::Signature.has(self.type_oid());
        is_signature.then(|| self.read_as(Kind::Signature, ElementHash::default())).transpose()
    }

    /// Reads a text, which may be of a type that is stored like `text`.
    pub fn utf8(self) -> Result<Cow<'a, str>> {
        assert!(Kind::Text.has(self.type_oid()), "a value is a text");
        // SAFETY: it is stored like a text, as was just asserted, and is valid for `'a`.
        unsafe { lossless::read(self.datum()) }
    }

    /// Calls `look` with a text as it is stored, perhaps compressed.
    pub fn stored<T>(self, look: impl FnOnce(StoredBytes) -> Result<T>) -> Result<T> {
        assert!(Kind::Text.has(self.type_oid()), "a value is a text");
        // SAFETY: it is stored like a text, as was just asserted.
        unsafe { lossless::stored(self.datum(), look) }
    }

    /// Reads a document; `None` if it is not one.
    pub fn document(self) -> Result<Option<Document<'a>>> {
        let is_document = self.kind() == Some(Kind::Document);
        // SAFETY: the type was just found to be stored like `minlsh_document`, and the caller of `new` promises such a
        // value.
        is_document.then(|| unsafe { Document::read(self.datum()) }).transpose()
    }

    /// The bytes of a `minlsh_passage`; `None` if it is not one.
    pub fn passage(self) -> Option<&'a [u8]> {
        // SAFETY: the type was just found to be stored like `minlsh_passage`, a varlena, and the caller of `new`
        // promises such a value.
        is_passage(self.type_oid()).then(|| unsafe { bytes::read(self.datum()) })
    }

    /// The type of the elements of an array; `None` if it is not one.
    pub fn element_type(self) -> Option<Oid> {
        // SAFETY: the caller of `new` promises a value of the type, and only arrays are sets.
        (self.kind() == Some(Kind::Set)).then(|| unsafe { array::detoast(self.datum()).1 })
    }
}

impl Kind {
    /// Reads a value, with the document that contains it, if there is one, with its threshold and options. `hash`
    /// hashes the elements of a set.
    ///
    /// # Safety
    /// `value` is a non-null value of this kind, valid for `'a`.
    pub unsafe fn read<'a>(self, value: Datum, hash: ElementHash) -> Result<ReadValue<'a>> {
        // SAFETY: the caller promises a value of this kind: a varlena, an array, or an integer[].
        let value = unsafe {
            match self {
                Self::Text | Self::Passage => Value::Text(bytes::read(value)),
                Self::Set => Value::Set(element::hashes(value, hash)?),
                Self::Signature => Value::Signature(array::read(value)?.into()),
                Self::Document => {
                    let document = Document::read(value)?;
                    return Ok((document.value()?, Some(document)));
                }
            }
        };
        Ok((value, None))
    }
}

impl<'a> Document<'a> {
    /// Reads its content.
    pub fn value(&self) -> Result<Value<'a>> {
        Ok(match &self.content {
            Content::Text(_, text) => Value::Text(text),
            Content::Set(stored) => Value::Set(memory::collect(stored.iter().map(hash))?),
            Content::Signature(stored) => {
                Value::Signature(stored.iter().map(|slot| i32::from_le_bytes(*slot)).collect())
            }
        })
    }
}

impl Value<'_> {
    /// The set of its shingles or elements. A signature has none.
    pub fn into_set(self, config: &Config) -> Result<ShingleSet> {
        Ok(match self {
            Self::Text(text) => ShingleSet::from_text(config, &lossless::decode(text)?, &mut check_interrupts)?,
            Self::Set(hashes) => ShingleSet::from_hashes(hashes, &mut check_interrupts),
            Self::Signature(_) => ShingleSet::default(),
        })
    }

    /// Its signature; `None` if it has no shingles.
    pub fn signature<'s>(&'s self, sketcher: &'s mut Sketcher) -> Result<Option<&'s [i32]>> {
        Ok(match self {
            Self::Text(text) => sketcher.sketch(&lossless::decode(text)?, &mut check_interrupts)?,
            Self::Set(hashes) => sketcher.sketch_hashes(hashes, &mut check_interrupts)?,
            Self::Signature(slots) => (!slots.is_empty()).then_some(slots),
        })
    }

    /// Copies it into a batch to be signed. Returns its size in bytes.
    pub fn copy(&self, batch: &mut SignerBatch) -> Result<usize> {
        Ok(match self {
            Self::Text(text) => {
                let text = lossless::decode(text)?;
                batch.push_text(StoredBytes::plain(text.as_bytes()))?;
                text.len()
            }
            Self::Set(hashes) => {
                batch.push_elements(hashes)?;
                size_of_val(&**hashes)
            }
            Self::Signature(slots) => {
                batch.push_signature(slots)?;
                size_of_val(&**slots)
            }
        })
    }
}

/// The entries to look up for a value.
#[derive(Clone, Debug, PartialEq)]
pub enum BandSearch {
    /// These band hashes; fewer than the index has if the threshold allows it.
    Bands(Vec<i64>),
    /// Rows that can contain enough of a passage.
    Passage(Bound),
    /// All rows, because the index was not made for this threshold or these options.
    Everything,
    /// No row, because the value has no shingles.
    Nothing,
}
