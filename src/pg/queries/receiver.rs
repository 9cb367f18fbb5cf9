//! A receiver of the rows of a statement, which hands them on one by one, as the executor makes them.

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use crate::error::{Result, SqlError, error, raise};
use crate::pg::row::Row;
use crate::pg::versions;

/// A receiver of rows that hands each to a closure.
#[repr(C)]
pub(super) struct Receiver<'a> {
    base: pg_sys::DestReceiver,
    gives: Option<&'a [Oid]>,
    visit: &'a mut dyn FnMut(&Row) -> Result<()>,
    /// The error that has ended it.
    pub(super) outcome: Result<()>,
}

impl<'a> Receiver<'a> {
    /// Hands rows to `visit`, which must be of those types, if they are known.
    pub(super) fn new(
        gives: Option<&'a [Oid]>,
        visit: &'a mut dyn FnMut(&Row) -> Result<()>,
    ) -> Self {
        #[pg_guard]
        unsafe extern "C-unwind" fn receive(
            slot: *mut pg_sys::TupleTableSlot,
            receiver: *mut pg_sys::DestReceiver,
        ) -> bool {
            // SAFETY: called by the executor with a row, and with the receiver given to it, which
            // is the head of ours.
            let (row, receiver) =
                unsafe { (Row::borrowed(slot), &mut *receiver.cast::<Receiver>()) };
            receiver.outcome = (receiver.visit)(&row);
            receiver.outcome.is_ok()
        }
        #[pg_guard]
        unsafe extern "C-unwind" fn start(
            receiver: *mut pg_sys::DestReceiver,
            _operation: i32,
            descriptor: pg_sys::TupleDesc,
        ) {
            // SAFETY: called by the executor before the first row, with the descriptor of all rows, and with the
            // receiver given to it, which is the head of ours.
            let is_so = unsafe {
                (*receiver.cast::<Receiver>()).gives.is_none_or(|types| {
                    let found = (0..(*descriptor).natts as usize)
                        .map(|column| versions::attribute(descriptor, column).atttypid);
                    found.eq(types.iter().copied())
                })
            };
            if !is_so {
                raise(changed());
            }
        }
        #[pg_guard]
        unsafe extern "C-unwind" fn end(_receiver: *mut pg_sys::DestReceiver) {}
        let base = pg_sys::DestReceiver {
            receiveSlot: Some(receive),
            rStartup: Some(start),
            rShutdown: Some(end),
            rDestroy: Some(end),
            mydest: pg_sys::CommandDest::DestNone,
        };
        Self { base, gives, visit, outcome: Ok(()) }
    }
}

fn changed() -> SqlError {
    error(
        PgSqlErrorCode::ERRCODE_OBJECT_IN_USE,
        "a column of the source changed its type while the statement read it",
    )
    .set_hint("Retry the statement.")
}
