//! From a value, stored or searched for, to the band hashes under which an index has it.

use pgrx::pg_sys::{self, Datum, Oid};

use crate::am::options::Settings;
use crate::error::{Result, wrong_state};

/// What the values of an index's document column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// `text`: the shingles of the text are the set.
    Text,
    /// `minlsh_document`: a text, set or signature with its options.
    Document,
    /// An array whose elements are the set.
    Set,
    /// `integer[]`: a signature, made with the options of the index.
    Signature,
    /// `bigint[]`: band hashes as a side table stores them.
    Bands,
}

/// What to look up for a value that is searched for.
#[derive(Clone, Debug, PartialEq)]
pub enum Search {
    /// These band hashes; fewer than the index has, where the threshold asked for allows it.
    Bands(Vec<i64>),
    /// The index was not made for this threshold or these options: all rows must be looked at.
    Everything,
    /// No row can be similar: the value has no shingles.
    Nothing,
}

impl Values {
    /// What an operator class is for, by its input type.
    pub fn of(input_type: Oid) -> Self {
        match input_type {
            pg_sys::TEXTOID => Self::Text,
            pg_sys::ANYARRAYOID => Self::Set,
            pg_sys::INT4ARRAYOID => Self::Signature,
            pg_sys::INT8ARRAYOID => Self::Bands,
            _ => Self::Document,
        }
    }

    /// Appends the band hashes of a row's value to `bands`: none if it has no shingles.
    ///
    /// # Safety
    /// `value` must be a non-null value of the kind of type that `self` says.
    pub unsafe fn row(
        self,
        _value: Datum,
        _settings: &Settings,
        _bands: &mut Vec<i64>,
    ) -> Result<()> {
        Err(wrong_state("not there yet"))
    }

    /// What to look up for `value`, the right side of `~=`, of type `value_type`.
    ///
    /// # Safety
    /// `value` must be a non-null value of that type, and an operator of the family takes it.
    pub unsafe fn search(
        self,
        _value: Datum,
        _value_type: Oid,
        _settings: &Settings,
    ) -> Result<Search> {
        Err(wrong_state("not there yet"))
    }

    /// Whether an index with these options serves a search for `value`, as [`Values::search`] would
    /// find: for plans.
    ///
    /// # Safety
    /// As for [`Values::search`].
    pub unsafe fn serves(self, _value: Datum, _value_type: Oid, _settings: &Settings) -> bool {
        true
    }
}
