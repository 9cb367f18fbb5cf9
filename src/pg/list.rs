//! PostgreSQL's lists of nodes, and of OIDs.

use pgrx::pg_sys::{self, Oid};

/// The elements of a list of pointers; none of a null list.
///
/// # Safety
/// `list` is null or a valid list of pointers to `T`, and stays so while the result is used.
pub unsafe fn pointers<'a, T>(list: *const pg_sys::List) -> impl Iterator<Item = *mut T> + 'a {
    let cells: &'a [pg_sys::ListCell] = if list.is_null() {
        &[]
    } else {
        // SAFETY: the caller's promise: a list has `length` cells.
        unsafe { std::slice::from_raw_parts((*list).elements, (*list).length as usize) }
    };
    // SAFETY: the caller's promise: the cells hold pointers.
    cells.iter().map(|cell| unsafe { cell.ptr_value }.cast::<T>())
}

/// The elements of a list of OIDs; none of a null list.
///
/// # Safety
/// `list` is null or a valid list of OIDs.
pub unsafe fn oids(list: *const pg_sys::List) -> Vec<Oid> {
    if list.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller's promise: a list has `length` cells, which hold OIDs.
    unsafe {
        let cells = std::slice::from_raw_parts((*list).elements, (*list).length as usize);
        cells.iter().map(|cell| cell.oid_value).collect()
    }
}
