//! Errors that a user can cause, in PostgreSQL's style: a lower-case primary message without a full stop, a SQLSTATE
//! chosen by meaning, and a HINT that says what to do.

use std::borrow::Cow;

use pgrx::pg_sys;
use pgrx::pg_sys::panic::{ErrorReport, ErrorReportable};
use pgrx::prelude::*;

/// The result of an operation that a user's input can make fail; `E` may be the engine's error.
pub type Result<T, E = SqlError> = std::result::Result<T, E>;

/// A report for PostgreSQL to raise: as an ERROR by [`raise`], or as a WARNING or a NOTICE by [`SqlError::report`].
#[must_use]
pub struct SqlError(Box<(PgSqlErrorCode, ErrorReport)>);

impl SqlError {
    /// Sets the DETAIL.
    pub fn set_detail(self, detail: impl Into<String>) -> Self {
        let (code, report) = *self.0;
        Self(Box::new((code, report.set_detail(detail))))
    }

    /// Sets the HINT.
    pub fn set_hint(self, hint: impl Into<String>) -> Self {
        let (code, report) = *self.0;
        Self(Box::new((code, report.set_hint(hint))))
    }

    /// Sets the HINT unless there is one.
    pub fn or_hint(self, hint: &str) -> Self {
        if self.0.1.hint().is_some() { self } else { self.set_hint(hint) }
    }

    /// Rewrites the error so that it names an argument; `hint` says what the argument should be.
    #[track_caller]
    pub fn about(self, argument: &str, hint: &str) -> Self {
        let (code, report) = *self.0;
        let hint = match code {
            PgSqlErrorCode::ERRCODE_UNDEFINED_PARAMETER => "Write the value into the text, as format() does with %L.",
            _ => hint,
        };
        let hint = match report.hint() {
            Some(first) => format!("{first} {hint}"),
            None => hint.to_owned(),
        };
        let same = error(code, format!("{argument}: {}", report.message())).set_hint(hint);
        match report.detail() {
            Some(detail) => same.set_detail(detail),
            None => same,
        }
    }

    /// True if it has this SQLSTATE.
    pub fn is(&self, code: PgSqlErrorCode) -> bool {
        self.0.0 == code
    }

    /// The primary message.
    pub fn message(&self) -> &str {
        self.0.1.message()
    }

    /// Reports it as a WARNING or as a NOTICE, by its SQLSTATE.
    pub fn report(self) {
        let is_warning = self.is(PgSqlErrorCode::ERRCODE_WARNING);
        self.0.1.report(if is_warning { PgLogLevel::WARNING } else { PgLogLevel::NOTICE });
    }
}

/// An engine error is an invalid parameter (SQLSTATE 22023), except for refused memory (53200), damaged values (XX001),
/// temporary files (58030), and texts of too many words to compare (54000).
impl From<sketch::Error> for SqlError {
    #[track_caller]
    fn from(cause: sketch::Error) -> Self {
        let code = match cause {
            sketch::Error::OutOfMemory { .. } => PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
            sketch::Error::Damaged => PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
            sketch::Error::File(_) => PgSqlErrorCode::ERRCODE_IO_ERROR,
            sketch::Error::DiffWords => PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            _ => PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        };
        // The engine does not know how SQL represents a missing signature.
        let hint = match cause {
            sketch::Error::EmptySignature | sketch::Error::SignatureTooShort { slots: 0, .. } => {
                "Use NULL for a text without shingles, which has no signature.".to_owned()
            }
            _ => cause.hint(),
        };
        error(code, cause.to_string()).set_hint(hint)
    }
}

/// Maximum bytes of a value in a message, and of a message: another copy of 100 MB may not fit into memory.
pub const LONGEST_VALUE: usize = 256;
pub const LONGEST_MESSAGE: usize = 1024;

/// Two columns as one text, for HINTs: if one is NULL, the other remains.
pub const JOINED: &str = "coalesce(title, '') || ' ' || coalesce(body, '')";

/// A value for messages, shortened if it is long.
pub fn shortened(value: &str) -> Cow<'_, str> {
    beginning(value, LONGEST_VALUE)
}

/// The beginning of a text that is longer than `most` bytes; a shorter text itself.
pub fn beginning(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return text.into();
    }
    format!("{}...", &text[..text.floor_char_boundary(most)]).into()
}

/// An error report with a SQLSTATE and a message; add `.set_detail()` and `.set_hint()`.
#[track_caller]
pub fn error(code: PgSqlErrorCode, message: impl Into<String>) -> SqlError {
    let mut message = message.into();
    if let Cow::Owned(shorter) = beginning(&message, LONGEST_MESSAGE) {
        message = shorter;
    }
    SqlError(Box::new((code, ErrorReport::new(code, message, "minlsh"))))
}

/// Functions that report a message with one SQLSTATE.
macro_rules! reports {
    ($($(#[$meta:meta])* $name:ident: $code:ident;)*) => {
        $($(#[$meta])*
        #[track_caller]
        pub fn $name(message: impl Into<String>) -> SqlError {
            error(PgSqlErrorCode::$code, message)
        })*
    };
}

reports! {
    /// SQLSTATE 22023: an argument outside its range.
    invalid_parameter: ERRCODE_INVALID_PARAMETER_VALUE;
    /// SQLSTATE XX000: a condition that should never occur.
    internal: ERRCODE_INTERNAL_ERROR;
    /// SQLSTATE 55000: the state of the object does not allow this.
    wrong_state: ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
    /// SQLSTATE 0A000: a reasonable request that is not supported.
    not_supported: ERRCODE_FEATURE_NOT_SUPPORTED;
    /// SQLSTATE 42501: the caller lacks a privilege.
    not_allowed: ERRCODE_INSUFFICIENT_PRIVILEGE;
    /// SQLSTATE 42809: an object of another kind.
    wrong_object: ERRCODE_WRONG_OBJECT_TYPE;
    /// SQLSTATE 42804: a value of another type.
    type_mismatch: ERRCODE_DATATYPE_MISMATCH;
    /// SQLSTATE 42704: an object that does not exist.
    undefined_object: ERRCODE_UNDEFINED_OBJECT;
    /// SQLSTATE 22004: NULL where a value is required.
    null_not_allowed: ERRCODE_NULL_VALUE_NOT_ALLOWED;
    /// SQLSTATE 54000: a limit is exceeded.
    limit_exceeded: ERRCODE_PROGRAM_LIMIT_EXCEEDED;
    /// SQLSTATE 53400: a setting, such as `work_mem`, allows too little.
    beyond_setting: ERRCODE_CONFIGURATION_LIMIT_EXCEEDED;
    /// SQLSTATE 42P01: a relation that does not exist.
    undefined_table: ERRCODE_UNDEFINED_TABLE;
    /// SQLSTATE 42703: a column that does not exist.
    undefined_column: ERRCODE_UNDEFINED_COLUMN;
    /// SQLSTATE 42883: a function that does not exist.
    undefined_function: ERRCODE_UNDEFINED_FUNCTION;
    /// SQLSTATE 42601: a text that is not the expected SQL.
    wrong_syntax: ERRCODE_SYNTAX_ERROR;
    /// SQLSTATE 55006: an object that something else uses or has changed.
    in_use: ERRCODE_OBJECT_IN_USE;
    /// SQLSTATE 40001: the snapshot does not allow this; another attempt may succeed.
    retry_later: ERRCODE_T_R_SERIALIZATION_FAILURE;
    /// SQLSTATE XX002: an index that contradicts itself or its table.
    damaged_index: ERRCODE_INDEX_CORRUPTED;
    /// SQLSTATE 01000: not an error; to be reported as a WARNING.
    warning: ERRCODE_WARNING;
    /// SQLSTATE 00000: not an error; to be reported as a NOTICE.
    notice: ERRCODE_SUCCESSFUL_COMPLETION;
}

/// Raises the error: control goes back to PostgreSQL.
pub fn raise(error: SqlError) -> ! {
    // Its texts are copied into the current context, and `ErrorContext` has reserved memory.
    // SAFETY: `ErrorContext` lives as long as the backend. A handler of the error sets its own context.
    unsafe { pg_sys::CurrentMemoryContext = pg_sys::ErrorContext };
    Err::<std::convert::Infallible, _>(error.0.1).unwrap_or_report();
    unreachable!("an ERROR does not return")
}

/// Raises an error if an allocation failed.
pub fn granted<T>(asked: Result<T, sketch::Error>) -> T {
    asked.unwrap_or_else(|refused| raise(refused.into()))
}

/// SQLSTATE 54000: a value would be larger than PostgreSQL allows.
#[track_caller]
pub fn too_large(bytes: usize) -> SqlError {
    limit_exceeded(format!("a value of {bytes} bytes exceeds the limit of 1 GB"))
        .set_hint("Pass a shorter text, or fewer or shorter elements.")
}

/// SQLSTATE 53200: an allocation that grows with the input failed.
#[track_caller]
pub fn out_of_memory() -> SqlError {
    error(PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY, "out of memory")
        .set_hint("Lower work_mem or maintenance_work_mem, or process fewer rows per statement.")
}
