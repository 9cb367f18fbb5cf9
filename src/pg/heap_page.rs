//! Rows of a heap as they stand in its pages.

use pgrx::itemptr::item_pointer_get_both;
use pgrx::pg_sys::{self, ItemIdData, ItemPointerData, Relation};

use crate::pg::ffi;

/// Calls `look` with the page of a row and its line pointer, which is `None` if the page has no such. The page is
/// locked meanwhile, so `look` must not raise an error.
///
/// # Safety
/// `heap` is open and has the block of `tid`.
pub unsafe fn look_at<R>(
    heap: Relation,
    tid: ItemPointerData,
    look: impl FnOnce(*const u8, Option<ItemIdData>) -> R,
) -> R {
    const HEADER: usize = std::mem::offset_of!(pg_sys::PageHeaderData, pd_linp);
    const SIZE: usize = size_of::<ItemIdData>();
    let (block, offset) = item_pointer_get_both(tid);
    // SAFETY: the caller's promise; the line pointers end at pd_lower, which is checked.
    unsafe {
        let buffer = pg_sys::ReadBuffer(heap, block);
        ffi::lock_page(buffer, false);
        let page = pg_sys::BufferGetPage(buffer).cast::<u8>().cast_const();
        let lower = usize::from((*page.cast::<pg_sys::PageHeaderData>()).pd_lower);
        let end = HEADER + usize::from(offset) * SIZE;
        let within = offset > 0 && end <= lower.min(pg_sys::BLCKSZ as usize);
        let item = within.then(|| *page.add(end - SIZE).cast::<ItemIdData>());
        let result = look(page, item);
        pg_sys::UnlockReleaseBuffer(buffer);
        result
    }
}
