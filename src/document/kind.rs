//! The kinds of documents, decided once from the type of a value or from an operator class.

use std::fmt;

use pgrx::pg_sys::{self, Oid};

use crate::pg::catalog;

/// The number of the support function that makes the entries of a text. Only the operator class for
/// passages has it.
pub const PASSAGE_HASHES: u16 = 8;

/// The kind of the values of a column or of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `text`, and what is stored as text is: the shingles of the text are the set.
    Text,
    /// An array of any type: its elements are the set.
    Set,
    /// `minlsh_document`: a text, a set or a signature, with its options.
    Document,
    /// `integer[]` under `minlsh_signature_ops`: a signature, made with the options of the index.
    Signature,
    /// `text` under `minlsh_passage_ops`: its passages are searched for.
    Passage,
}

impl Kind {
    /// The kind that an operator class is for, by its family and its input type.
    pub fn of_class(family: Oid, input_type: Oid) -> Self {
        let function = |number: u16| catalog::function_of_family(family, input_type, number as i16);
        match input_type {
            pg_sys::TEXTOID if function(PASSAGE_HASHES) != Oid::INVALID => Self::Passage,
            pg_sys::TEXTOID => Self::Text,
            pg_sys::ANYARRAYOID => Self::Set,
            pg_sys::INT4ARRAYOID => Self::Signature,
            _ => Self::Document,
        }
    }

    /// The kind of a value of that type, if it can be a document; `document` is the type
    /// `minlsh_document`. An array is a set, an `integer[]` too: a signature is one by its operator
    /// class, or by `minlsh_signature()`, which makes it a document.
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
