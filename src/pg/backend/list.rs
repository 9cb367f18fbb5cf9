//! PostgreSQL's lists of nodes and of OIDs.

use pgrx::pg_sys::{self, Oid};

/// The elements of a list of pointers; none of a null list.
///
/// # Safety
/// `list` is null or a valid list of pointers to `T`, and stays so while the result is used.
pub unsafe fn pointers<'a, T>(list: *const pg_sys::List) -> impl Iterator<Item = *mut T> + 'a {
    // SAFETY: null or a valid list for `'a`, as # Safety asks, whose cells hold pointers.
    unsafe { cells(list) }.iter().map(|cell| unsafe { cell.ptr_value }.cast::<T>())
}

/// The elements of a list of OIDs; none of a null list.
///
/// # Safety
/// `list` is null or a valid list of OIDs.
pub unsafe fn oids(list: *const pg_sys::List) -> Vec<Oid> {
    // SAFETY: null or a valid list, as # Safety asks, whose cells hold OIDs.
    unsafe { cells(list).iter().map(|cell| cell.oid_value).collect() }
}

/// # Safety
/// `list` is null or a valid list, and stays so for `'a`.
unsafe fn cells<'a>(list: *const pg_sys::List) -> &'a [pg_sys::ListCell] {
    // SAFETY: null or a valid list for `'a`, as # Safety asks: it has `length` cells.
    unsafe {
        let Some(list) = list.as_ref() else { return &[] };
        std::slice::from_raw_parts(list.elements, list.length as usize)
    }
}
