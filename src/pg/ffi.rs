//! PostgreSQL functions that are not among pgrx's bindings. Each call is guarded, as pgrx
//! guards its own: an ERROR unwinds through Rust instead of jumping over it.

use std::ffi::{c_char, c_int};

use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;

mod raw {
    use super::{c_char, c_int, pg_sys};

    unsafe extern "C-unwind" {
        // executor/tstoreReceiver.h, the same since PostgreSQL 14
        pub fn SetTuplestoreDestReceiverParams(
            receiver: *mut pg_sys::DestReceiver,
            store: *mut pg_sys::Tuplestorestate,
            context: pg_sys::MemoryContext,
            detoast: bool,
            target: pg_sys::TupleDesc,
            message: *const c_char,
        );
        // utils/datum.h, the same since PostgreSQL 12
        pub fn datum_image_eq(
            a: pg_sys::Datum,
            b: pg_sys::Datum,
            by_value: bool,
            length: c_int,
        ) -> bool;
        pub fn datumCopy(value: pg_sys::Datum, by_value: bool, length: c_int) -> pg_sys::Datum;
    }
}

/// Points a tuplestore receiver at its store.
///
/// # Safety
/// As for the C function: `receiver` is a tuplestore receiver, and the rest outlives its use.
pub unsafe fn set_tuplestore_receiver(
    receiver: *mut pg_sys::DestReceiver,
    store: *mut pg_sys::Tuplestorestate,
    context: pg_sys::MemoryContext,
    target: pg_sys::TupleDesc,
    message: &'static std::ffi::CStr,
) {
    // SAFETY: the caller's promise; nothing with a destructor lives in the closure.
    unsafe {
        pg_guard_ffi_boundary(|| {
            raw::SetTuplestoreDestReceiverParams(
                receiver,
                store,
                context,
                true,
                target,
                message.as_ptr(),
            );
        });
    }
}

/// Whether two datums are the same, byte for byte, after detoasting.
///
/// # Safety
/// Both are non-null values of the type with that length and passing.
pub unsafe fn same_image(
    a: pg_sys::Datum,
    b: pg_sys::Datum,
    by_value: bool,
    length: c_int,
) -> bool {
    // SAFETY: the caller's promise; nothing with a destructor lives in the closure.
    unsafe { pg_guard_ffi_boundary(|| raw::datum_image_eq(a, b, by_value, length)) }
}

/// A copy of a datum in the current memory context.
///
/// # Safety
/// A non-null value of the type with that length and passing.
pub unsafe fn copy(value: pg_sys::Datum, by_value: bool, length: c_int) -> pg_sys::Datum {
    // SAFETY: the caller's promise; nothing with a destructor lives in the closure.
    unsafe { pg_guard_ffi_boundary(|| raw::datumCopy(value, by_value, length)) }
}

/// Attribute `index` (from 0) of a row type.
///
/// # Safety
/// `descriptor` is a valid descriptor with more than `index` attributes.
pub unsafe fn attribute<'a>(
    descriptor: pg_sys::TupleDesc,
    index: usize,
) -> &'a pg_sys::FormData_pg_attribute {
    // SAFETY: the attributes lie in the descriptor itself.
    #[cfg(not(feature = "pg18"))]
    unsafe {
        &*(*descriptor).attrs.as_ptr().add(index)
    }
    // SAFETY: since PostgreSQL 18 they lie behind its compact attributes (TupleDescAttr).
    #[cfg(feature = "pg18")]
    unsafe {
        let compact = (*descriptor).compact_attrs.as_ptr().add((*descriptor).natts as usize);
        &*compact.cast::<pg_sys::FormData_pg_attribute>().add(index)
    }
}
