//! The kinds of documents, which follow from the type of a value or from an operator class.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::prelude::*;

/// The kind of values in a column or an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// `text`, or a type that is stored like it: its shingles are the set.
    #[default]
    Text,
    /// An array of any type: its elements are the set.
    Set,
    /// `minlsh_document`: a text, a set or a signature, with its options.
    Document,
    /// `integer[]` under `minlsh_signature_ops`: a signature made with the options of the index.
    Signature,
    /// `text` under `minlsh_passage_ops`: its passages are searched for.
    Passage,
}

impl Kind {
    /// The kind of a value of type `type_oid`; `None` if it cannot be a document. `document` is the type
    /// `minlsh_document`. An `integer[]` is a set: only an operator class or `minlsh_signature()` makes it a signature.
    pub fn of_type(type_oid: Oid, document: Oid) -> Option<Self> {
        let base = catalog::base_type(type_oid);
        let is_text = catalog::is_stored_as(base, pg_sys::TEXTOID);
        let element = catalog::element_type(base);
        match base {
            Oid::INVALID => None,
            _ if base == document => Some(Self::Document),
            pg_sys::BPCHAROID => Some(Self::Text),
            pg_sys::ANYARRAYOID => Some(Self::Set),
            _ if is_text => Some(Self::Text),
            _ => (element != Oid::INVALID).then_some(Self::Set),
        }
    }

    /// True if values of type `type_oid` can be read as values of this kind. It is called for each row.
    pub fn has(self, type_oid: Oid) -> bool {
        match (self, type_oid) {
            (Self::Text | Self::Passage, pg_sys::TEXTOID) | (Self::Set, pg_sys::ANYARRAYOID) => true,
            (Self::Text | Self::Passage, _) => Self::of_type(type_oid, Oid::INVALID) == Some(Self::Text),
            (Self::Set, _) => catalog::element_type(catalog::base_type(type_oid)) != Oid::INVALID,
            (Self::Signature, _) => catalog::base_type(type_oid) == pg_sys::INT4ARRAYOID,
            (Self::Document, _) => is_document(type_oid),
        }
    }
}

/// True if values of a type are stored like `minlsh_document`.
pub fn is_document(type_oid: Oid) -> bool {
    static KNOWN: AtomicU32 = AtomicU32::new(0);
    is_written_by(type_oid, b"minlsh_document_out", &KNOWN)
}

/// True if values of a type are stored like `minlsh_passage`.
pub fn is_passage(type_oid: Oid) -> bool {
    static KNOWN: AtomicU32 = AtomicU32::new(0);
    is_written_by(type_oid, b"minlsh_passage_out", &KNOWN)
}

/// True if `output` is the C function that writes values of a type or of a domain's base type. `known` caches the last
/// type for which it was true.
fn is_written_by(type_oid: Oid, output: &[u8], known: &AtomicU32) -> bool {
    if type_oid == Oid::INVALID || known.load(Ordering::Relaxed) == type_oid.to_u32() {
        return type_oid != Oid::INVALID;
    }
    let is_ours = catalog::is_written_by(type_oid, output);
    if is_ours {
        known.store(type_oid.to_u32(), Ordering::Relaxed);
    }
    is_ours
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "texts",
            Self::Set => "sets",
            Self::Document => "documents",
            Self::Signature => "signatures",
            Self::Passage => "passages",
        })
    }
}
