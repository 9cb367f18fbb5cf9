//! `aminsert`: a new row. Each of its entries goes into the tree by the B-tree's own insertion.

use pgrx::pg_sys::{self, Datum, Relation};
use pgrx::prelude::*;

use crate::error::{Result, raise};
use crate::index::keys::Keys;
use crate::index::layout::tid_to_u64;
use crate::index::table_scan::row_context;
use crate::index::{nbtree, own_rows, stored_options};
use crate::pg::interrupts::check_interrupts;

/// `aminsert`. There is nothing to be unique, so it never says that a recheck is due.
#[pg_guard]
#[expect(clippy::too_many_arguments, reason = "PostgreSQL's signature")]
pub unsafe extern "C-unwind" fn aminsert(
    index: Relation,
    values: *mut Datum,
    nulls: *mut bool,
    tid: pg_sys::ItemPointer,
    heap: Relation,
    _unique: pg_sys::IndexUniqueCheck::Type,
    unchanged: bool,
    info: *mut pg_sys::IndexInfo,
) -> bool {
    // SAFETY: PostgreSQL passes an open index and the values of a row for it; what the row needs
    // is freed below, or with the context's parent.
    unsafe {
        let memory = row_context();
        let previous = pg_sys::MemoryContextSwitchTo(memory);
        let result = insert(index, values, nulls, tid, heap, unchanged, info);
        pg_sys::MemoryContextSwitchTo(previous);
        pg_sys::MemoryContextDelete(memory);
        if let Err(report) = result {
            raise(report);
        }
    }
    false
}

/// # Safety
/// As for `aminsert`.
unsafe fn insert(
    index: Relation,
    values: *const Datum,
    nulls: *const bool,
    tid: pg_sys::ItemPointer,
    heap: Relation,
    unchanged: bool,
    info: *mut pg_sys::IndexInfo,
) -> Result<()> {
    let mut document = pg_sys::ItemPointerData::default();
    let mut datums = [Datum::null(); pg_sys::INDEX_MAX_KEYS as usize];
    let mut row_keys = Vec::new();
    // SAFETY: the caller's promise.
    unsafe {
        let options = stored_options::built_of(index)?;
        let mut keys = Keys::of(index)?;
        keys.row(values, nulls, &options, &mut row_keys)?;
        for key in row_keys {
            check_interrupts();
            keys.layout().datums(key, &mut document, &mut datums);
            nbtree::insert(index, &mut datums, tid, heap, unchanged, info);
        }
        let document = keys.layout().document();
        let document = (!*nulls.add(document)).then(|| *values.add(document));
        own_rows::note(&keys, index, heap, info, tid_to_u64(*tid), document)?;
    }
    Ok(())
}
