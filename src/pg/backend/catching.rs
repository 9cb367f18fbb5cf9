//! Errors of PostgreSQL, caught to be raised again in words that name the argument they are about.

use std::panic::AssertUnwindSafe;

use pgrx::pg_sys::PgTryBuilder;
use pgrx::pg_sys::panic::CaughtError;
use pgrx::prelude::*;

use crate::error::{SqlError, error};
use crate::pg::memory::unmoved;

/// A complaint about something that a user wrote. It must be raised in the end.
pub struct Complaint {
    code: PgSqlErrorCode,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
}

impl Complaint {
    /// A complaint of our own.
    pub fn new(code: PgSqlErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), detail: None, hint: None }
    }

    /// True if it has that SQLSTATE.
    pub fn is(&self, code: PgSqlErrorCode) -> bool {
        self.code == code
    }

    /// The error as PostgreSQL made it, with `hint` if it has none of its own.
    pub fn or_hint(self, hint: &str) -> SqlError {
        let own = self.hint.clone();
        self.with_hint(own.unwrap_or_else(|| hint.to_owned())).report()
    }

    /// The same complaint with another hint.
    pub fn with_hint(self, hint: String) -> Self {
        Self { hint: Some(hint), ..self }
    }

    /// The error as PostgreSQL made it.
    pub fn report(self) -> SqlError {
        let mut report = error(self.code, self.message);
        if let Some(hint) = self.hint {
            report = report.set_hint(hint);
        }
        if let Some(detail) = self.detail {
            report = report.set_detail(detail);
        }
        report
    }

    /// The error, in the words of the argument that it is about; `hint` says what that should be.
    pub fn about(self, argument: &str, hint: &str) -> SqlError {
        let parameter = self.code == PgSqlErrorCode::ERRCODE_UNDEFINED_PARAMETER;
        let hint = if parameter {
            "Write the value into the text, as format() does with %L."
        } else {
            hint
        };
        let hint = match &self.hint {
            Some(first) => format!("{first} {hint}"),
            None => hint.to_owned(),
        };
        Self { message: format!("{argument}: {}", self.message), ..self.with_hint(hint) }.report()
    }
}

/// Does `work`. What PostgreSQL raises meanwhile about what a user wrote becomes a complaint.
pub fn catching<T>(work: impl FnOnce() -> T) -> Result<T, Complaint> {
    let attempt =
        PgTryBuilder::new(AssertUnwindSafe(|| Ok(work()))).catch_others(|caught| match caught {
            CaughtError::PostgresError(report) | CaughtError::ErrorReport(report)
                if !is_of_server(report.sql_error_code()) =>
            {
                Err(Complaint {
                    code: report.sql_error_code(),
                    message: report.message().to_owned(),
                    detail: report.detail().map(str::to_owned),
                    hint: report.hint().map(str::to_owned),
                })
            }
            other => other.rethrow(),
        });
    unmoved(|| attempt.execute())
}

/// True if an error says nothing of what a user wrote: it was cancelled, or the server was short of something.
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
