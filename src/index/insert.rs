//! `aminsert`: inserts a new row. PostgreSQL's B-tree inserts each of its entries into the tree.

use crate::document::kind::Kind;
use crate::index::layout::{Entry, tid_to_u64};
use crate::index::minlsh_index::MinlshIndex;
use crate::index::nbtree::Disguise;
use crate::index::own_rows;
use crate::pg::guc;
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
                for key in row.keys(&options)? {
                    insert(&index, heap, Entry { key, tid }, unchanged);
                }
                if index.kind == Kind::Document && !(*info).ii_ExclusionOps.is_null() {
                    let image = row.document().map(|document| bytes::read(document));
                    own_rows::note(&index, heap, tid, image)?;
                }
                Ok(false)
            })
        }
    })
}

/// `btinsert`: adds an entry for a row of the table.
///
/// A row has an entry for each band, and several of them may be on one leaf page. Bottom-up deletion judges each entry
/// of such a page by its row, so repeated rows do no harm. But it sorts them by a comparison that asserts that no two
/// are equal, so servers with assertions do without it.
fn insert(index: &MinlshIndex, heap: &Open, entry: Entry, unchanged: bool) {
    check_interrupts();
    let (layout, index) = (&index.layout, index.open());
    let mut tuple = vec![0_u64; layout.size / size_of::<u64>()];
    let place = tuple.as_mut_ptr();
    let unique = pg_sys::IndexUniqueCheck::UNIQUE_CHECK_NO;
    let unchanged = unchanged && !guc::has_assertions();
    let _disguise = Disguise::of(index);
    // SAFETY: `MinlshIndex::of` has checked that the index's tuples have this layout. The entry has `size` bytes, a
    // multiple of 8, and is copied into a page. Index and table are open.
    unsafe {
        layout.write(entry, std::slice::from_raw_parts_mut(place.cast(), layout.size));
        pg_sys::_bt_doinsert(index.raw(), place.cast(), unique, unchanged, heap.raw());
    }
}
