//! PostgreSQL functions that are not among pgrx's bindings. Each call is guarded, as pgrx
//! guards its own: an ERROR unwinds through Rust instead of jumping over it.

use std::ffi::{c_char, c_int};

use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;

use crate::pg::{list, versions};

pub(in crate::pg) mod raw {
    use super::{c_char, c_int, pg_sys};

    unsafe extern "C-unwind" {
        // utils/datum.h, the same since PostgreSQL 12
        pub fn datum_image_eq(
            a: pg_sys::Datum,
            b: pg_sys::Datum,
            by_value: bool,
            length: c_int,
        ) -> bool;
        // catalog/pg_conversion.h, the same since PostgreSQL 8
        pub fn FindDefaultConversion(
            schema: pg_sys::Oid,
            from_encoding: i32,
            to_encoding: i32,
        ) -> pg_sys::Oid;
        // catalog/pg_inherits.h, the same since PostgreSQL 7.4
        pub fn find_all_inheritors(
            parent: pg_sys::Oid,
            lock: c_int,
            parents: *mut *mut pg_sys::List,
        ) -> *mut pg_sys::List;
        // catalog/partition.h, the same since PostgreSQL 11
        pub fn get_partition_ancestors(relation: pg_sys::Oid) -> *mut pg_sys::List;
        // storage/bufmgr.h, the same since PostgreSQL 8; pgrx has it with a guard around each call
        pub fn ReadBuffer(relation: pg_sys::Relation, block: pg_sys::BlockNumber)
        -> pg_sys::Buffer;
        // storage/predicate.h, the same since PostgreSQL 9.1
        pub fn PredicateLockRelation(relation: pg_sys::Relation, snapshot: pg_sys::Snapshot);
        // commands/async.h, the same since PostgreSQL 9
        pub fn Async_Notify(channel: *const c_char, payload: *const c_char);
        // catalog/pg_constraint.h, the same since PostgreSQL 11; the first is an enum
        pub fn ConstraintNameIsUsed(
            category: c_int,
            object: pg_sys::Oid,
            name: *const c_char,
        ) -> bool;
    }
}

/// Locks a page that is pinned: for reading, or to be written.
///
/// # Safety
/// The buffer is pinned, and this transaction has not locked it.
pub unsafe fn lock_page(buffer: pg_sys::Buffer, write: bool) {
    let mode = if write { pg_sys::BUFFER_LOCK_EXCLUSIVE } else { pg_sys::BUFFER_LOCK_SHARE };
    // SAFETY: the caller has the buffer pinned, and has not locked it; nothing with a destructor lives in the closure.
    unsafe { pg_guard_ffi_boundary(|| versions::LockBuffer(buffer, mode as c_int)) }
}

/// The most bytes that a payload may have.
const LONGEST_PAYLOAD: usize = 7999;

/// Notifies whoever listens to `channel`, when the transaction commits. A payload that is too long is cut.
pub fn notify(channel: &std::ffi::CStr, payload: &[u8]) {
    let mut payload = payload[..payload.len().min(LONGEST_PAYLOAD)].to_vec();
    payload.push(0);
    // SAFETY: two NUL-terminated strings, which are copied.
    unsafe {
        pg_guard_ffi_boundary(|| raw::Async_Notify(channel.as_ptr(), payload.as_ptr().cast()));
    }
}

/// A table and all that inherit from it, locked.
pub fn inheritors(parent: pg_sys::Oid, lock: c_int) -> Vec<pg_sys::Oid> {
    // SAFETY: catalog lookups; the list is made for us.
    unsafe {
        let null = std::ptr::null_mut();
        let list = pg_guard_ffi_boundary(|| raw::find_all_inheritors(parent, lock, null));
        list::oids(list)
    }
}

/// The partitioned tables above a partition, from its parent to the root; none of any other
/// relation.
pub fn partition_ancestors(relation: pg_sys::Oid) -> Vec<pg_sys::Oid> {
    // SAFETY: catalog lookups; the list is made for us.
    unsafe {
        let list = pg_guard_ffi_boundary(|| raw::get_partition_ancestors(relation));
        list::oids(list)
    }
}

/// True if a table has a constraint of that name.
pub fn constraint_name_is_used(relation: pg_sys::Oid, name: &std::ffi::CStr) -> bool {
    const CONSTRAINT_RELATION: c_int = 0;
    let name = name.as_ptr();
    // SAFETY: a catalog lookup with a NUL-terminated name.
    unsafe {
        pg_guard_ffi_boundary(|| raw::ConstraintNameIsUsed(CONSTRAINT_RELATION, relation, name))
    }
}

/// True if two datums are the same, byte for byte, after detoasting.
///
/// # Safety
/// Both are non-null values of the type with that length and passing.
pub unsafe fn same_image(
    a: pg_sys::Datum,
    b: pg_sys::Datum,
    by_value: bool,
    length: c_int,
) -> bool {
    // SAFETY: both are passed by that length, as # Safety asks; no destructor is in the closure.
    unsafe { pg_guard_ffi_boundary(|| raw::datum_image_eq(a, b, by_value, length)) }
}

/// PostgreSQL's own conversion between two encodings, whatever the search path finds first;
/// `None` if it has none.
pub fn conversion(from_encoding: c_int, to_encoding: c_int) -> Option<pg_sys::Oid> {
    // SAFETY: a lookup in the system caches; nothing with a destructor lives in the closure.
    let function = unsafe {
        pg_guard_ffi_boundary(|| {
            let schema = pg_sys::Oid::from(pg_sys::PG_CATALOG_NAMESPACE);
            raw::FindDefaultConversion(schema, from_encoding, to_encoding)
        })
    };
    (function != pg_sys::Oid::INVALID).then_some(function)
}
