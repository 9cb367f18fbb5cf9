//! `aminsert`: a new row. Each of its entries goes into the tree by the B-tree's own insertion.

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;

use crate::document::kind::Kind;
use crate::index::layout::tid_to_u64;
use crate::index::minlsh_index::MinlshIndex;
use crate::index::nbtree::{self, Disguise};
use crate::index::own_rows;
use crate::pg::guc;
use crate::prelude::*;

/// `aminsert`. There is nothing to be unique, so it never says that a recheck is due.
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
        // SAFETY: PostgreSQL passes a table and its index, which are open, the place of a row, and its values for the
        // index, which `info` describes.
        unsafe {
            let (index, heap) = (Open::lent(&index), Open::lent(&heap));
            let mut entries = RowInsertion { heap, tid, unchanged, info };
            Memory::scratch(c"minlsh row").run(|| {
                let index = MinlshIndex::of(index)?;
                let row = index.row(values, nulls);
                let options = index.options()?;
                row.keys(&options)?.into_iter().for_each(|key| entries.insert(&index, key));
                if index.kind == Kind::Document && !(*info).ii_ExclusionOps.is_null() {
                    let image = row.document().map(|document| bytes::read(document));
                    own_rows::note(&index, heap, tid_to_u64(*tid), image)?;
                }
                Ok(false)
            })
        }
    })
}

struct RowInsertion<'a> {
    heap: &'a Open,
    tid: pg_sys::ItemPointer,
    unchanged: bool,
    info: *mut pg_sys::IndexInfo,
}

impl RowInsertion<'_> {
    /// `btinsert`: adds an entry.
    ///
    /// A row has as many entries as bands, and several of them may stand in one leaf page. What deletes entries
    /// bottom-up from such a page decides about each by its row, so it does not matter that a row is asked about
    /// repeatedly. But it sorts them by a comparison that asserts that no two are equal, so servers with assertions do
    /// without.
    fn insert(&mut self, index: &MinlshIndex, key: u64) {
        check_interrupts();
        const COLUMNS: usize = pg_sys::INDEX_MAX_KEYS as usize;
        let mut document = pg_sys::ItemPointerData::default();
        let (mut values, mut nulls) = ([Datum::null(); COLUMNS], [false; COLUMNS]);
        index.layout.datums(key, &mut document, &mut values);
        let (function, index) = (nbtree::routine().aminsert, index.open());
        let _disguise = Disguise::of(index);
        let unique = pg_sys::IndexUniqueCheck::UNIQUE_CHECK_NO;
        let unchanged = self.unchanged && !guc::has_assertions();
        let (index, heap) = (index.raw(), self.heap.raw());
        let (values, nulls) = (values.as_mut_ptr(), nulls.as_mut_ptr());
        let (tid, info) = (self.tid, self.info);
        // SAFETY: what `aminsert` was called with, and a value for each attribute of the index; nothing is dropped in
        // the closure.
        unsafe {
            pg_guard_ffi_boundary(|| {
                function
                    .map(|insert| insert(index, values, nulls, tid, heap, unique, unchanged, info))
            });
        }
    }
}
