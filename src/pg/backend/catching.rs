//! Catches errors of PostgreSQL, to raise them again in words that name the argument they are about.

use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe};

use pgrx::pg_sys::PgTryBuilder;
use pgrx::pg_sys::panic::CaughtError;
use pgrx::prelude::*;

use crate::error::{LONGEST_MESSAGE, Result, beginning, error};
use crate::pg::memory::unmoved;

/// Runs `work`. An error that it raises about the user's input is returned, and the caller must raise it in the end.
pub fn catching<T>(work: impl FnOnce() -> T) -> Result<T> {
    let attempt = PgTryBuilder::new(AssertUnwindSafe(|| Ok(work()))).catch_others(|caught| match caught {
        CaughtError::PostgresError(report) | CaughtError::ErrorReport(report)
            if !is_of_server(report.sql_error_code()) =>
        {
            // Copies of a message are made only once it is short.
            let cut = |text| beginning(text, LONGEST_MESSAGE);
            let mut same = error(report.sql_error_code(), cut(report.message()));
            if let Some(detail) = report.detail() {
                same = same.set_detail(cut(detail));
            }
            if let Some(hint) = report.hint() {
                same = same.set_hint(cut(hint));
            }
            Err(same)
        }
        other => other.rethrow(),
    });
    unmoved(|| attempt.execute())
}

/// Runs `work`. An error of SQLSTATE `code` is returned with the HINT that `hint` makes, and the caller must raise it
/// in the end.
pub fn hinting<T>(
    code: PgSqlErrorCode,
    hint: impl Fn() -> Option<&'static str> + UnwindSafe + RefUnwindSafe,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let attempt = PgTryBuilder::new(AssertUnwindSafe(work)).catch_when(code, |caught| {
        let (CaughtError::PostgresError(report), Some(hint)) = (&caught, hint()) else { caught.rethrow() };
        Err(error(report.sql_error_code(), report.message()).set_hint(hint))
    });
    unmoved(|| attempt.execute())
}

/// True if the user's input did not cause an error: a cancelled query, or a server short of something.
fn is_of_server(code: PgSqlErrorCode) -> bool {
    use PgSqlErrorCode::*;
    // The first two characters of a SQLSTATE are its lowest twelve bits.
    const CLASS: i32 = (1 << 12) - 1;
    let of_class = |other: PgSqlErrorCode| code as i32 & CLASS == other as i32 & CLASS;
    let classes = [
        ERRCODE_TRANSACTION_ROLLBACK,
        ERRCODE_INSUFFICIENT_RESOURCES,
        ERRCODE_OPERATOR_INTERVENTION,
        ERRCODE_SYSTEM_ERROR,
    ];
    let own = [ERRCODE_STATEMENT_TOO_COMPLEX, ERRCODE_LOCK_NOT_AVAILABLE];
    own.contains(&code) || classes.into_iter().any(of_class)
}
