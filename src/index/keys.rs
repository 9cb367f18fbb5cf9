//! From the column values of a row, or of a query, to keys of entries.
//!
//! A key is made of a band hash and of the hashes of all scope columns, so each bucket is of one
//! scope. A row without shingles has one entry, under a key of its own: a scan of all entries sees
//! every row.

use pgrx::pg_sys::{self, Datum, Oid, Relation};
use pgrx::prelude::*;
use sketch::pipeline::SignerBatch;
use sketch::{ScopeHash, memory, sort_by};

use crate::document::kind::Kind;
use crate::error::{Result, error, not_supported};
use crate::index::layout::{self, Layout, SCOPE_HASH};
use crate::index::reloptions::has_our_options;
use crate::index::validate::is_readable;
use crate::options::IndexOptions;
use crate::pg::catalog::function_of_family;
use crate::pg::interrupts::check_interrupts;
use crate::pg::names::type_label;

/// The key of a row without shingles.
pub const NO_BAND: u64 = 0;

/// Makes the keys of one index.
pub struct Keys {
    index: Relation,
    kind: Kind,
    layout: Layout,
    bands: Vec<i64>,
}

impl Keys {
    /// Makes those of an index of this access method; refuses any other relation.
    ///
    /// # Safety
    /// `index` is open, and stays open while the result is used.
    pub unsafe fn of(index: Relation) -> Result<Self> {
        // SAFETY: an open relation; once it is known for an index of ours it has what these read.
        unsafe {
            if !has_our_options(index) {
                let message = format!("\"{}\" is not a minlsh index", layout::name(index));
                return Err(error(PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE, message));
            }
            let layout = Layout::of(index)?;
            let input_type = layout::input_type(index, layout.document());
            if !is_readable(*(*index).rd_opfamily.add(layout.document()), input_type) {
                let message = format!("values of {} are not documents", type_label(input_type));
                return Err(not_supported(message).set_hint(
                    "Use an operator class of minlsh. amvalidate() lists what is wrong with another one.",
                ));
            }
            let kind = layout::kind(index, &layout);
            Ok(Self { index, kind, layout, bands: Vec::new() })
        }
    }

    /// The layout of entries in tuples.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The kind of the document column.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Replaces `keys` by those of a row, ascending, each once.
    ///
    /// # Safety
    /// `values` and `nulls` have an entry for each column of the index, of its type.
    pub unsafe fn row(
        &mut self,
        values: *const Datum,
        nulls: *const bool,
        options: &IndexOptions,
        keys: &mut Vec<u64>,
    ) -> Result<()> {
        self.bands.clear();
        // SAFETY: the caller's promise.
        let scope = unsafe {
            if let Some(document) = value(values, nulls, self.layout.document()) {
                self.kind.bands(document, options, &mut self.bands)?;
            }
            self.scope(values, nulls)
        };
        let mask = self.layout.mask();
        buckets(scope, &self.bands, mask, keys, &mut check_interrupts)?;
        if keys.is_empty() {
            keys.push(NO_BAND);
        }
        Ok(())
    }

    /// Copies the document of a row into a batch, to have its bands made there (NULL as an empty
    /// signature); returns its scope.
    ///
    /// # Safety
    /// As for [`Keys::row`].
    pub unsafe fn copy(
        &self,
        values: *const Datum,
        nulls: *const bool,
        options: &IndexOptions,
        documents: &mut SignerBatch,
    ) -> Result<ScopeHash> {
        // SAFETY: the caller's promise.
        unsafe {
            match value(values, nulls, self.layout.document()) {
                Some(document) => self.kind.copy(document, options, documents)?,
                None => documents.push_signature(&[])?,
            }
            Ok(self.scope(values, nulls))
        }
    }

    /// # Safety
    /// As for [`Keys::row`].
    unsafe fn scope(&self, values: *const Datum, nulls: *const bool) -> ScopeHash {
        (0..self.layout.columns()).filter(|&number| number != self.layout.document()).fold(
            ScopeHash::default(),
            |scope, number| {
                // SAFETY: the caller's promise: a value of the column's type.
                let hash = unsafe {
                    value(values, nulls, number).map(|value| self.hash(number, None, value))
                };
                scope.with(hash)
            },
        )
    }

    /// Replaces `keys` by those under which rows with these band hashes and scope values are.
    /// `scope` has for each scope column, in order, its value and type.
    ///
    /// # Safety
    /// The operators of the index's families take values of those types.
    pub unsafe fn search(
        &self,
        bands: &[i64],
        scope: &[(usize, Oid, Datum)],
        keys: &mut Vec<u64>,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        let scope = unsafe { self.scope_of(scope) };
        buckets(scope, bands, self.layout.mask(), keys, &mut check_interrupts).map_err(Into::into)
    }

    /// The keys under which rows with these scope values are, for each of `entries` in order.
    ///
    /// # Safety
    /// As for [`Keys::search`].
    pub unsafe fn each(&self, entries: &[u64], scope: &[(usize, Oid, Datum)]) -> Result<Vec<u64>> {
        // SAFETY: the caller's promise.
        let scope = unsafe { self.scope_of(scope) };
        let key = |entry: &u64| scope.bucket(*entry as i64) & self.layout.mask();
        memory::collect(entries.iter().map(key)).map_err(Into::into)
    }

    /// # Safety
    /// As for [`Keys::search`].
    unsafe fn scope_of(&self, scope: &[(usize, Oid, Datum)]) -> ScopeHash {
        scope.iter().fold(ScopeHash::default(), |folded, &(number, type_oid, value)| {
            // SAFETY: the caller's promise.
            folded.with(Some(unsafe { self.hash(number, Some(type_oid), value) }))
        })
    }

    /// The hash of a value of a scope column; of another type of the same family, where `=` compares
    /// two types.
    ///
    /// # Safety
    /// `value` is a non-null value of `type_oid`, or of the column's type.
    unsafe fn hash(&self, column: usize, type_oid: Option<Oid>, value: Datum) -> u64 {
        let number = (column + 1) as i16;
        // SAFETY: the index is open; the function is one of the family's, for that type.
        unsafe {
            let own = layout::input_type(self.index, column);
            let collation = *(*self.index).rd_indcollation.add(column);
            let seed = Datum::from(0_i64);
            let hash = match type_oid {
                Some(other) if other != own && other != pg_sys::InvalidOid => {
                    let family = *(*self.index).rd_opfamily.add(column);
                    let function = function_of_family(family, other, SCOPE_HASH as i16);
                    pg_sys::OidFunctionCall2Coll(function, collation, value, seed)
                }
                _ => {
                    let function = pg_sys::index_getprocinfo(self.index, number, SCOPE_HASH);
                    pg_sys::FunctionCall2Coll(function, collation, value, seed)
                }
            };
            hash.value() as u64
        }
    }
}

/// A value of a row; `None` for NULL.
///
/// # Safety
/// There is a column of that number.
unsafe fn value(values: *const Datum, nulls: *const bool, number: usize) -> Option<Datum> {
    // SAFETY: the caller's promise.
    unsafe { (!*nulls.add(number)).then(|| *values.add(number)) }
}

/// Replaces `keys` by those of a scope's bands, ascending, each once; of a key the bits of `mask`
/// are stored.
pub fn buckets(
    scope: ScopeHash,
    bands: &[i64],
    mask: u64,
    keys: &mut Vec<u64>,
    check_interrupts: &mut dyn FnMut(),
) -> std::result::Result<(), sketch::Error> {
    keys.clear();
    memory::reserve(keys, bands.len() + 1)?;
    keys.extend(bands.iter().map(|band| scope.bucket(*band) & mask));
    sort_by(keys, Ord::cmp, check_interrupts);
    keys.dedup();
    Ok(())
}
