//! `aminsert`: a new row. Each of its entries goes into the tree by the B-tree's own insertion.

use crate::document::kind::Kind;
use crate::index::layout::{Entry, tid_to_u64};
use crate::index::minlsh_index::MinlshIndex;
use crate::index::nbtree::Disguise;
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

/// `btinsert`: adds an entry of a row of that table.
///
/// A row has as many entries as bands, and several of them may stand in one leaf page. What deletes entries bottom-up
/// from such a page decides about each by its row, so it does not matter that a row is asked about repeatedly. But it
/// sorts them by a comparison that asserts that no two are equal, so servers with assertions do without.
fn insert(index: &MinlshIndex, heap: &Open, entry: Entry, unchanged: bool) {
    check_interrupts();
    let (layout, index) = (&index.layout, index.open());
    let mut tuple = vec![0_u64; layout.size / size_of::<u64>()];
    let place = tuple.as_mut_ptr();
    let unique = pg_sys::IndexUniqueCheck::UNIQUE_CHECK_NO;
    let unchanged = unchanged && !guc::has_assertions();
    let _disguise = Disguise::of(index);
    // SAFETY: the entries of an index are tuples of its layout, as `MinlshIndex::of` has found. They have `size` bytes,
    // a multiple of 8, and are copied into a page. Index and table are open.
    unsafe {
        layout.write(entry, std::slice::from_raw_parts_mut(place.cast(), layout.size));
        pg_sys::_bt_doinsert(index.raw(), place.cast(), unique, unchanged, heap.raw());
    }
}
