//! Computes keys of entries from the column values of a row or a query.
//!
//! A key is made of a band hash and the hashes of all scope columns, so each bucket belongs to one scope. A row without
//! shingles has one entry, with a special key, so that a scan of all entries sees every row. The same applies to a row
//! with a NULL scope, which equals nothing.

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

/// Values of a row for the columns of an index.
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

    /// The document, read so that each search can find it; `None` for NULL.
    fn read(&self, options: &IndexOptions) -> Result<Option<Value<'_>>> {
        let read = |document| {
            // SAFETY: the caller of `MinlshIndex::row` promises a value of the column, whose kind `MinlshIndex::of`
            // found.
            let read = unsafe { self.index.kind.read(document, ElementHash::default()) }?;
            Value::of_row(read, options)
        };
        self.document().map(read).transpose()
    }

    /// Its keys, ascending and distinct.
    pub fn keys(&self, options: &IndexOptions) -> Result<Vec<u64>> {
        let bands = match self.read(options)? {
            Some(value) if !self.has_null_scope() => value.first_bands(options, options.banding.bands())?,
            _ => Vec::new(),
        };
        self.index.keys_of(&bands, self.scope())
    }

    /// Copies its document into a batch that makes its bands. Returns its scope. A NULL document, and any document with
    /// a NULL scope, is copied as an empty signature.
    pub fn copy(&self, options: &IndexOptions, documents: &mut SignerBatch) -> Result<ScopeHash> {
        match (self.index.kind, self.document()) {
            // SAFETY: the caller of `MinlshIndex::row` promises a value of the column, which holds texts, as
            // `MinlshIndex::of` found.
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
        self.index.layout.scopes().any(|column| self.value(column).is_none())
    }

    fn scope(&self) -> ScopeHash {
        let values = self.index.layout.scopes().map(|column| (Oid::INVALID, self.value(column)));
        // SAFETY: the caller of `MinlshIndex::row` promises values of the columns' own types.
        unsafe { self.index.scope(values) }
    }
}

impl MinlshIndex<'_> {
    /// A row's values for the columns of the index.
    ///
    /// # Safety
    /// `values` and `nulls` have an entry for each column of the index, of its type, and stay valid for `'a`.
    pub unsafe fn row<'a>(&'a self, values: *const Datum, nulls: *const bool) -> IndexRow<'a> {
        let columns = self.layout.columns();
        // SAFETY: the caller promises an entry for each column in both arrays.
        unsafe {
            IndexRow {
                index: self,
                values: std::slice::from_raw_parts(values, columns),
                nulls: std::slice::from_raw_parts(nulls, columns),
            }
        }
    }

    /// The scope of rows with these values: the type and the value of each scope column, in order; `None` for NULL.
    ///
    /// # Safety
    /// Each value has its type, for which the column's operator family has a hash function
    /// ([`MinlshIndex::has_keys`]). An invalid type stands for the column's own.
    pub unsafe fn scope(&self, values: impl Iterator<Item = (Oid, Option<Datum>)>) -> ScopeHash {
        self.layout.scopes().zip(values).fold(ScopeHash::default(), |scope, (column, (type_oid, value))| {
            // SAFETY: the caller promises such values and types.
            scope.with(value.map(|value| unsafe { self.hash(column, type_oid, value) }))
        })
    }

    /// The keys of rows with these band hashes in a scope, ascending and distinct. Without band hashes it is
    /// [`NO_BAND`].
    pub fn keys_of(&self, bands: &[i64], scope: ScopeHash) -> Result<Vec<u64>> {
        let mut keys = Vec::new();
        buckets(scope, bands, self.layout.mask, &mut keys, &mut check_interrupts)?;
        Ok(keys)
    }

    /// The key in a scope for each of `entries`, in order.
    pub fn keys_of_passage(&self, entries: &[u64], scope: ScopeHash) -> Result<Vec<u64>> {
        let key = |entry: &u64| scope.bucket(*entry as i64) & self.layout.mask;
        memory::collect(entries.iter().map(key)).map_err(Into::into)
    }

    /// Hashes a value of a scope column. Its type may be another one of the same operator family, whose `=` compares
    /// both types.
    ///
    /// # Safety
    /// `value` is a non-null value of `type_oid`, or of the column's own type if that is invalid. The operator family
    /// has a function that hashes values of this type ([`MinlshIndex::has_keys`]).
    unsafe fn hash(&self, column: usize, type_oid: Oid, value: Datum) -> u64 {
        let IndexColumn { family, input_type, collation, .. } = IndexColumn::of(self.open(), column);
        let seed = Datum::from(0_i64);
        // SAFETY: the index is open. The caller promises a function that hashes this type, and for the column's own
        // type `MinlshIndex::of` has checked it.
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

/// Replaces `keys` by the keys of a scope's bands, ascending and distinct, or by [`NO_BAND`] if there are none. Only
/// the bits of `mask` are stored.
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
