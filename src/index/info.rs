//! What an index of the access method is of.

use pgrx::pg_sys::{self, Oid};

use crate::index::layout::SCOPE_HASH;
use crate::pg::index::{Index, IndexColumn};

/// The column of the documents: the one that is no scope column.
pub fn document_column(index: &Index) -> Option<&IndexColumn> {
    index.columns.iter().find(|column| !is_scope(column))
}

/// Whether a column is a scope.
pub fn is_scope(column: &IndexColumn) -> bool {
    is_scope_class(column.family, column.input_type)
}

/// Whether the operator class of a family for a type is for scope columns.
pub fn is_scope_class(family: Oid, input: Oid) -> bool {
    // SAFETY: a lookup in the system caches.
    let hash = unsafe { pg_sys::get_opfamily_proc(family, input, input, SCOPE_HASH as i16) };
    hash != Oid::INVALID
}
