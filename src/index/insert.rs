//! `aminsert`: inserts a new row. PostgreSQL's B-tree inserts its entries into the tree, at once or at the end of the
//! statement.

use crate::document::kind::Kind;
use crate::index::layout::{Entry, tid_to_u64};
use crate::index::minlsh_index::MinlshIndex;
use crate::index::{own_rows, pending};
use crate::prelude::*;

/// `aminsert`. There is no uniqueness to check, so it never asks for a recheck.
#[pg_guard]
#[expect(clippy::too_many_arguments, reason = "PostgreSQL's signature")]
pub unsafe extern "C-unwind" fn aminsert(
    index: pg_sys::Relation,
    values: *mut Datum,
    nulls: *mut bool,
    tid: pg_sys::ItemPointer,
    heap: pg_sys::Relation,
    _unique: pg_sys::IndexUniqueCheck::Type,
    unchanged: bool,
    info: *mut pg_sys::IndexInfo,
) -> bool {
    answer(|| {
        // SAFETY: PostgreSQL passes an open table, its open index, the address of a row, and the row's values for the
        // index, which `info` describes.
        unsafe {
            let (index, heap) = (Open::lent(&index), Open::lent(&heap));
            let tid = tid_to_u64(*tid);
            Memory::scratch(c"minlsh row").run(|| {
                let index = MinlshIndex::of(index)?;
                let row = index.row(values, nulls);
                let options = index.options()?;
                let keys = row.keys(&options)?;
                // A constraint searches for the row's conflicts next. The first row may be the only one.
                let is_constraint = !(*info).ii_ExclusionOps.is_null();
                let is_first = std::mem::replace(&mut (*info).ii_AmCache, info.cast()).is_null();
                if is_constraint || is_first || !pending::add(&index, heap, tid, &keys, unchanged)? {
                    for key in keys {
                        check_interrupts();
                        pending::insert(&index, heap, Entry { key, tid }, unchanged);
                    }
                }
                if index.kind == Kind::Document && is_constraint {
                    let image = row.document().map(|document| bytes::read(document));
                    own_rows::note(&index, heap, tid, image)?;
                }
                Ok(false)
            })
        }
    })
}

/// `aminsertcleanup`: the end of a statement that may have inserted rows.
#[pg_guard]
pub unsafe extern "C-unwind" fn aminsertcleanup(_index: pg_sys::Relation, _info: *mut pg_sys::IndexInfo) {
    pending::flush_if_any();
}
