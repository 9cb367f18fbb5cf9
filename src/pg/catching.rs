//! Errors of PostgreSQL, caught to be raised again in better words.

use std::panic::AssertUnwindSafe;

use pgrx::pg_sys::PgTryBuilder;
use pgrx::pg_sys::panic::CaughtError;

use crate::error::{Result, error};

/// Does `work`. What PostgreSQL raises meanwhile becomes an error of ours: the caller adds to it
/// what the user needs to know, and must raise it again.
pub fn catching<T>(work: impl FnOnce() -> T) -> Result<T> {
    PgTryBuilder::new(AssertUnwindSafe(|| Ok(work())))
        .catch_others(|caught| match caught {
            CaughtError::PostgresError(report) | CaughtError::ErrorReport(report) => {
                let mut again = error(report.sql_error_code(), report.message());
                if let Some(detail) = report.detail() {
                    again = again.set_detail(detail);
                }
                if let Some(hint) = report.hint() {
                    again = again.set_hint(hint);
                }
                Err(again)
            }
            panic => panic.rethrow(),
        })
        .execute()
}
