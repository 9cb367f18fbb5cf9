//! From the column values of a row, or of a query, to keys of entries.
//!
//! A key is made of a band hash and of the hashes of all scope columns, so each bucket is of one
//! scope. A row without shingles, or with a NULL scope, which equals nothing, has one entry, under a key of its own: a
//! scan of all entries sees every row.

use sketch::pipeline::SignerBatch;
use sketch::{ElementHash, ScopeHash, sort_by};

use crate::document::kind::Kind;
use crate::document::value::Value;
use crate::index::layout::SCOPE_HASH;
use crate::index::minlsh_index::MinlshIndex;
use crate::options::IndexOptions;
use crate::pg::catalog::function_of_family;
use crate::pg::index::IndexColumn;
use crate::prelude::*;

/// The key of a row without shingles, or with a NULL scope.
pub const NO_BAND: u64 = 0;

/// The values that a row has for the columns of an index.
pub struct IndexRow<'a> {
    index: &'a MinlshIndex<'a>,
    values: &'a [Datum],
    nulls: &'a [bool],
}

impl IndexRow<'_> {
    /// The value of a column (from 0); `None` for NULL.
    fn value(&self, column: usize) -> Option<Datum> {
        (!self.nulls[column]).then_some(self.values[column])
    }

    /// The document; `None` for NULL.
    pub fn document(&self) -> Option<Datum> {
        self.value(self.index.layout.document)
    }

    /// The document, read as one that each search finds; `None` for NULL.
    fn read(&self, options: &IndexOptions) -> Result<Option<Value<'_>>> {
        let read = |document| {
            // SAFETY: `MinlshIndex::row` was given a value of the column, of which `MinlshIndex::of` found the kind.
            let read = unsafe { self.index.kind.read(document, ElementHash::default()) }?;
            Value::of_row(read, options)
        };
        self.document().map(read).transpose()
    }

    /// Its keys, ascending, each once.
    pub fn keys(&self, options: &IndexOptions) -> Result<Vec<u64>> {
        let bands = match self.read(options)? {
            Some(value) if !self.has_null_scope() => value.first_bands(options, options.banding.bands())?,
            _ => Vec::new(),
        };
        self.index.keys_of(&bands, self.scope())
    }

    /// Copies its document into a batch, to have the bands made there; returns its scope. NULL, and the document of a
    /// NULL scope, are copied as an empty signature.
    pub fn copy(&self, options: &IndexOptions, documents: &mut SignerBatch) -> Result<ScopeHash> {
        match (self.index.kind, self.document()) {
            // SAFETY: `MinlshIndex::row` was given a value of the column, which `MinlshIndex::of` found to be of texts.
            (Kind::Text | Kind::Passage, Some(text)) if !self.has_null_scope() => unsafe {
                lossless::stored(text, |text| documents.push_text(text).map_err(Into::into))?;
            },
            _ => match self.read(options)? {
                Some(value) if !self.has_null_scope() => drop(value.copy(documents)?),
                _ => documents.push_signature(&[])?,
            },
        }
        Ok(self.scope())
    }

    /// True if a scope column is NULL.
    fn has_null_scope(&self) -> bool {
        self.index.scope_columns().any(|column| self.value(column).is_none())
    }

    fn scope(&self) -> ScopeHash {
        self.index.scope_columns().fold(ScopeHash::default(), |scope, column| {
            // SAFETY: `MinlshIndex::row` was given a value of the column's own type.
            let hash = |value| unsafe { self.index.hash(column, Oid::INVALID, value) };
            scope.with(self.value(column).map(hash))
        })
    }
}

impl MinlshIndex<'_> {
    /// The values of a row for its columns.
    ///
    /// # Safety
    /// `values` and `nulls` have an entry for each column of the index, of its type, and stay so for `'a`.
    pub unsafe fn row<'a>(&'a self, values: *const Datum, nulls: *const bool) -> IndexRow<'a> {
        let columns = self.layout.columns();
        // SAFETY: there are as many of both as columns, as the Safety section asks.
        unsafe {
            IndexRow {
                index: self,
                values: std::slice::from_raw_parts(values, columns),
                nulls: std::slice::from_raw_parts(nulls, columns),
            }
        }
    }

    /// Its columns but the document, from 0.
    pub fn scope_columns(&self) -> impl Iterator<Item = usize> {
        let document = self.layout.document;
        (0..self.layout.columns()).filter(move |column| *column != document)
    }

    /// The scope of rows that have these values: of each scope column, in order, its type and a value.
    ///
    /// # Safety
    /// The values are not NULL, and of those types, which the columns' families have hashes for
    /// ([`MinlshIndex::has_keys`]). A type that is invalid stands for the column's own.
    pub unsafe fn scope(&self, values: impl Iterator<Item = (Oid, Datum)>) -> ScopeHash {
        self.scope_columns().zip(values).fold(ScopeHash::default(), |scope, (column, value)| {
            // SAFETY: values of those types, not NULL, as the Safety section asks.
            scope.with(Some(unsafe { self.hash(column, value.0, value.1) }))
        })
    }

    /// The keys under which rows with these band hashes and that scope are, ascending, each once. Rows without band
    /// hashes are under [`NO_BAND`].
    pub fn keys_of(&self, bands: &[i64], scope: ScopeHash) -> Result<Vec<u64>> {
        let mut keys = Vec::new();
        buckets(scope, bands, self.layout.mask, &mut keys, &mut check_interrupts)?;
        Ok(keys)
    }

    /// The keys under which rows of that scope are, for each of `entries` in order.
    pub fn keys_of_passage(&self, entries: &[u64], scope: ScopeHash) -> Result<Vec<u64>> {
        let key = |entry: &u64| scope.bucket(*entry as i64) & self.layout.mask;
        memory::collect(entries.iter().map(key)).map_err(Into::into)
    }

    /// The hash of a value of a scope column; of another type of the same family, where `=` compares
    /// two types.
    ///
    /// # Safety
    /// `value` is a non-null value of `type_oid`, which is the column's own if it is invalid. The family has a function
    /// that hashes values of that type ([`MinlshIndex::has_keys`]).
    unsafe fn hash(&self, column: usize, type_oid: Oid, value: Datum) -> u64 {
        let IndexColumn { family, input_type, collation, .. } = IndexColumn::of(self.open(), column);
        let seed = Datum::from(0_i64);
        // SAFETY: the index is open. The function hashes values of the type that the value is of, as the Safety section
        // asks: `MinlshIndex::of` has seen to the one of the column's own type.
        let hash = unsafe {
            if type_oid != input_type && type_oid != Oid::INVALID {
                let function = function_of_family(family, type_oid, SCOPE_HASH as i16);
                pg_sys::OidFunctionCall2Coll(function, collation, value, seed)
            } else {
                let (index, number) = (self.open().raw(), column as i16 + 1);
                let function = pg_sys::index_getprocinfo(index, number, SCOPE_HASH);
                pg_sys::FunctionCall2Coll(function, collation, value, seed)
            }
        };
        hash.value() as u64
    }
}

/// Replaces `keys` by those of a scope's bands, ascending, each once, or by [`NO_BAND`] without any; of a key the bits
/// of `mask` are stored.
pub fn buckets(
    scope: ScopeHash,
    bands: &[i64],
    mask: u64,
    keys: &mut Vec<u64>,
    check_interrupts: Check,
) -> Result<(), sketch::Error> {
    keys.clear();
    memory::reserve(keys, bands.len() + 1)?;
    keys.extend(bands.iter().map(|band| scope.bucket(*band) & mask));
    sort_by(keys, Ord::cmp, check_interrupts);
    keys.dedup();
    if keys.is_empty() {
        keys.push(NO_BAND);
    }
    Ok(())
}
