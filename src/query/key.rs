//! From the `doc_id` that a user writes to a key of the index.

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

use crate::error::{Result, error};
use crate::index::definition::Index;
use crate::pg::call::Call;
use crate::pg::names::{cstring, type_label};

/// Argument `argument` as a value of the key's type; `None` if no document can have that key
/// (it is NULL, or an integer beyond the key's range).
pub fn argument(call: &Call, argument: usize, index: &Index) -> Result<Option<Datum>> {
    let Some(datum) = call.datum(argument) else {
        return Ok(None);
    };
    let given = call.argument_type(argument);
    // SAFETY: lookups in the system caches.
    let (given, key) =
        unsafe { (pg_sys::getBaseType(given), pg_sys::getBaseType(index.key.type_oid)) };
    if given == key {
        return Ok(Some(datum));
    }
    if let (Some(value), true) = (integer(datum, given), is_integer(key)) {
        return Ok(from_integer(value, key));
    }
    if given == pg_sys::TEXTOID {
        return from_text(call, argument, index).map(Some);
    }
    let mismatch = error(
        PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
        format!(
            "the key of minlsh index \"{}\" is of type {}, not {}",
            crate::pg::names::relation_name(index.storage),
            type_label(key),
            type_label(given)
        ),
    )
    .set_hint(format!("Cast the argument: near_duplicates(...::{}).", type_label(key)));
    Err(match integer(datum, given) {
        Some(_) => mismatch.set_detail(format!(
            "Asked by an integer it gives keys as bigint, which not every {} is.",
            type_label(key)
        )),
        None => mismatch,
    })
}

fn is_integer(type_oid: Oid) -> bool {
    [pg_sys::INT2OID, pg_sys::INT4OID, pg_sys::INT8OID].contains(&type_oid)
}

fn integer(datum: Datum, type_oid: Oid) -> Option<i64> {
    match type_oid {
        pg_sys::INT2OID => Some((datum.value() as i16).into()),
        pg_sys::INT4OID => Some((datum.value() as i32).into()),
        pg_sys::INT8OID => Some(datum.value() as i64),
        _ => None,
    }
}

fn from_integer(value: i64, key: Oid) -> Option<Datum> {
    match key {
        pg_sys::INT2OID => i16::try_from(value).ok().map(Datum::from),
        pg_sys::INT4OID => i32::try_from(value).ok().map(Datum::from),
        _ => Some(Datum::from(value)),
    }
}

/// A string is read as the key's type reads its literals; its error is the type's own.
fn from_text(call: &Call, argument: usize, index: &Index) -> Result<Datum> {
    let value = call.text(argument)?.unwrap_or_default();
    let value = cstring(&value);
    let (mut input, mut parameter) = (Oid::INVALID, Oid::INVALID);
    // SAFETY: the input function of an existing type, with a valid string.
    unsafe {
        pg_sys::getTypeInputInfo(index.key.type_oid, &mut input, &mut parameter);
        Ok(pg_sys::OidInputFunctionCall(input, value.as_ptr().cast_mut(), parameter, -1))
    }
}
