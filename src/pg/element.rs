//! Elements of sets: values of the types that can be hashed, as the engine takes them.

use std::borrow::Cow;

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;
use sketch::{Element, ElementHash};

use crate::error::{Result, error};
use crate::pg::names::type_label;
use crate::pg::{bytes, lossless};

/// A value that can be hashed.
pub enum Value<'a> {
    Text(Cow<'a, str>),
    Bytes(&'a [u8]),
    Integer(i64),
    Uuid(&'a [u8; 16]),
}

impl Value<'_> {
    /// Its hash.
    pub fn hash(&self, hash: ElementHash) -> u64 {
        let element = match self {
            Self::Text(text) => Element::Text(text),
            Self::Bytes(bytes) => Element::Bytes(bytes),
            Self::Integer(number) => Element::Integer(*number),
            Self::Uuid(uuid) => Element::Uuid(uuid),
        };
        element.hash(hash)
    }
}

/// Reads a value of a type of which there are elements, or of a domain over one.
///
/// # Safety
/// `datum` must be a non-null value of type `type_oid`, valid for `'a`.
pub unsafe fn read<'a>(datum: Datum, type_oid: Oid) -> Result<Value<'a>> {
    // SAFETY: the caller's promise, of the type named before the arrow; a uuid is 16 bytes.
    unsafe {
        Ok(match pg_sys::getBaseType(type_oid) {
            pg_sys::TEXTOID | pg_sys::VARCHAROID => Value::Text(lossless::read(datum)?),
            pg_sys::BYTEAOID => Value::Bytes(bytes::read(datum)),
            pg_sys::INT2OID => Value::Integer((datum.value() as i16).into()),
            pg_sys::INT4OID => Value::Integer((datum.value() as i32).into()),
            pg_sys::INT8OID => Value::Integer(datum.value() as i64),
            pg_sys::UUIDOID => Value::Uuid(&*datum.cast_mut_ptr()),
            other => {
                let message = format!("elements of type {} cannot be hashed", type_label(other));
                return Err(error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message)
                    .set_hint("Cast them to text."));
            }
        })
    }
}
