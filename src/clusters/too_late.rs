//! Refusals of a refresh that a transaction asks for whose snapshot is too old.

use pgrx::PgSqlErrorCode;

use crate::error::{SqlError, error};

/// The error, of which `detail` says what has happened since the snapshot.
pub fn too_late(detail: &str) -> SqlError {
    let code = PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE;
    error(code, "could not refresh clusters in this transaction")
        .set_detail(format!(
            "The isolation level is REPEATABLE READ or SERIALIZABLE, and {detail}."
        ))
        .set_hint("Retry the transaction, or refresh in READ COMMITTED.")
}

/// The error if a key stands twice in what the snapshot sees. Both rows would be one document, and unite clusters that
/// have nothing in common.
pub fn seen_twice() -> SqlError {
    too_late("another transaction has deleted a row whose key this one has inserted again")
}
