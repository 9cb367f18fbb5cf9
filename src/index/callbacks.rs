//! Callbacks at the ends of transactions and subtransactions, and before queries.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

use pgrx::pg_sys::SubTransactionId;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;

use crate::index::{own_rows, pending};
use crate::prelude::*;

/// `TopSubTransactionId`: the number of the transaction itself.
const TRANSACTION: SubTransactionId = 1;

/// The hook that was there before.
static NEXT: OnceLock<pg_sys::ExecutorStart_hook_type> = OnceLock::new();

/// Registers the callbacks when the library is loaded.
pub fn register() {
    // SAFETY: the functions exist as long as the backend, which has one thread when it loads a library.
    unsafe {
        pg_sys::RegisterXactCallback(Some(at_end), null_mut());
        pg_sys::RegisterSubXactCallback(Some(at_end_of_part), null_mut());
        if versions::HAS_INSERT_CLEANUP && NEXT.set(pg_sys::ExecutorStart_hook).is_ok() {
            pg_sys::ExecutorStart_hook = Some(before_query);
        }
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn at_end(event: pg_sys::XactEvent::Type, _argument: *mut c_void) {
    use pg_sys::XactEvent::{XACT_EVENT_PRE_COMMIT, XACT_EVENT_PRE_PREPARE};
    match event {
        XACT_EVENT_PRE_COMMIT | XACT_EVENT_PRE_PREPARE => pending::flush_if_any(),
        _ => forget(TRANSACTION),
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn at_end_of_part(
    event: pg_sys::SubXactEvent::Type,
    own: SubTransactionId,
    _parent: SubTransactionId,
    _argument: *mut c_void,
) {
    match event {
        pg_sys::SubXactEvent::SUBXACT_EVENT_PRE_COMMIT_SUB => pending::flush_if_of(own),
        pg_sys::SubXactEvent::SUBXACT_EVENT_ABORT_SUB => forget(own),
        _ => (),
    }
}

/// Forgets the rows of a subtransaction, or of the transaction, that is over.
fn forget(own: SubTransactionId) {
    pending::forget(own);
    own_rows::forget();
}

#[pg_guard]
unsafe extern "C-unwind" fn before_query(query: *mut pg_sys::QueryDesc, flags: c_int) {
    pending::flush_if_any();
    // SAFETY: PostgreSQL's arguments go on to the function that it would have called.
    unsafe {
        match NEXT.get().copied().flatten() {
            Some(next) => pg_guard_ffi_boundary(|| next(query, flags)),
            None => pg_sys::standard_ExecutorStart(query, flags),
        }
    }
}
