//! The transactions of a procedure that commits as it goes.

use std::panic::AssertUnwindSafe;

use pgrx::pg_sys;
use pgrx::pg_sys::panic::CaughtError;
use pgrx::prelude::*;

use crate::error::{Result, error};
use crate::pg::call::Call;

/// The right to commit: a procedure has it unless it runs in somebody else's transaction block.
pub struct Transactions(());

impl Transactions {
    /// Ends the transaction of the CALL itself, in which nothing has been done yet.
    ///
    /// # Errors
    /// SQLSTATE 25001 if the procedure `name` may not commit here.
    pub fn of(call: &Call, name: &str) -> Result<Self> {
        // SAFETY: PostgreSQL hands a procedure a CallContext, or null.
        let atomic = unsafe {
            let context = (*call.raw()).context.cast::<pg_sys::CallContext>();
            context.is_null()
                || (*context).type_ != pg_sys::NodeTag::T_CallContext
                || (*context).atomic
        };
        if atomic {
            return Err(error(
                PgSqlErrorCode::ERRCODE_ACTIVE_SQL_TRANSACTION,
                format!("{name} cannot run inside a transaction block"),
            )
            .set_hint("It commits as it goes: CALL it by itself, not between BEGIN and COMMIT nor from a function."));
        }
        // SAFETY: a connection that may commit, since the call is not atomic; paired with
        // SPI_finish in `Drop`.
        unsafe {
            pg_sys::SPI_connect_ext(pg_sys::SPI_OPT_NONATOMIC as i32);
            pg_sys::SPI_commit();
        }
        Ok(Self(()))
    }

    /// Does `work` in a transaction of its own, and commits it. Whatever the session's default
    /// is, each statement in it sees what has been committed before it.
    pub fn run<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        // SAFETY: the transaction has just begun and has no snapshot yet; the one pushed here is
        // popped before the commit, and an ERROR pops it too.
        unsafe {
            pg_sys::XactIsoLevel = pg_sys::XACT_READ_COMMITTED as i32;
            pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
            let done = work()?;
            pg_sys::PopActiveSnapshot();
            pg_sys::SPI_commit();
            Ok(done)
        }
    }
}

impl Drop for Transactions {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: pairs with SPI_connect_ext.
            unsafe { pg_sys::SPI_finish() };
        }
    }
}

/// Does `work`, or nothing: `None` if a lock was not to be had within lock_timeout.
pub fn unless_locked<T>(work: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
    // SAFETY: what PL/pgSQL does for a block with EXCEPTION: a subtransaction, which every way
    // out of here ends, and the memory context and resource owner put back as they were.
    unsafe {
        let (context, owner) = (pg_sys::CurrentMemoryContext, pg_sys::CurrentResourceOwner);
        let end = move |commit: bool| {
            if commit {
                pg_sys::ReleaseCurrentSubTransaction();
            } else {
                pg_sys::RollbackAndReleaseCurrentSubTransaction();
            }
            pg_sys::MemoryContextSwitchTo(context);
            pg_sys::CurrentResourceOwner = owner;
        };
        pg_sys::BeginInternalSubTransaction(std::ptr::null());
        pg_sys::MemoryContextSwitchTo(context);
        let locked = PgSqlErrorCode::ERRCODE_LOCK_NOT_AVAILABLE;
        let outcome = PgTryBuilder::new(AssertUnwindSafe(|| {
            let done = work();
            end(done.is_ok());
            done.map(Some)
        }))
        .catch_others(move |cause| {
            end(false);
            match &cause {
                CaughtError::PostgresError(report) | CaughtError::ErrorReport(report)
                    if report.sql_error_code() == locked =>
                {
                    Ok(None)
                }
                _ => cause.rethrow(),
            }
        })
        .catch_rust_panic(move |cause| {
            end(false);
            cause.rethrow()
        });
        outcome.execute()
    }
}
