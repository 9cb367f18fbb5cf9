//! Types of values that come from outside, refused before a value is touched where PostgreSQL knows too little of them.

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use crate::error::{Result, error};
use crate::pg::catalog::type_kind;
use crate::pg::names::type_label;

/// Refuses a pseudo-type, such as `cstring` or `anyarray`: none of its values can be stored, and what it says of their
/// length, their order and their elements holds for none. Records and arrays of them say that themselves. `what` has
/// that type, and `hint` says what to use instead.
pub fn check(type_oid: Oid, what: impl Fn() -> String, hint: &str) -> Result<()> {
    let is_record = [pg_sys::RECORDOID, pg_sys::RECORDARRAYOID].contains(&type_oid);
    if is_record || type_kind(type_oid) != pg_sys::TYPTYPE_PSEUDO {
        return Ok(());
    }
    let message = format!("{} is of pseudo-type {}", what(), type_label(type_oid));
    Err(error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message).set_hint(hint))
}
