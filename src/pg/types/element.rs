//! Elements of sets: values of the types that the engine can hash.

use pgrx::pg_sys::{self, Datum, Oid};
use sketch::{Element, ElementHash, memory};

use crate::error::{Result, type_mismatch};
use crate::pg::catalog::base_type;
use crate::pg::names::type_label;
use crate::pg::{array, bytes, lossless};

/// The type that decides how values of `type_oid` are hashed: itself, or a domain's base type.
fn element_type(type_oid: Oid) -> Result<Oid> {
    match base_type(type_oid) {
        base @ (pg_sys::TEXTOID | pg_sys::VARCHAROID | pg_sys::BYTEAOID | pg_sys::UUIDOID) => Ok(base),
        base @ (pg_sys::INT2OID | pg_sys::INT4OID | pg_sys::INT8OID) => Ok(base),
        other => {
            let message = format!("elements of type {} cannot be hashed", type_label(other));
            Err(type_mismatch(message).set_hint("Cast them to text."))
        }
    }
}

/// # Safety
/// `datum` is a non-null value of a type for which [`element_type`] returns `element_type`.
unsafe fn hash_as(element_type: Oid, datum: Datum, hash: ElementHash) -> Result<u64> {
    // SAFETY: each arm reads `datum` as the type that it matches, as # Safety asks; a uuid has 16 bytes.
    let element = unsafe {
        match element_type {
            pg_sys::BYTEAOID => Element::Bytes(bytes::read(datum)),
            pg_sys::INT2OID => Element::Integer((datum.value() as i16).into()),
            pg_sys::INT4OID => Element::Integer((datum.value() as i32).into()),
            pg_sys::INT8OID => Element::Integer(datum.value() as i64),
            pg_sys::UUIDOID => Element::Uuid(&*datum.cast_mut_ptr()),
            // text or varchar
            _ => return Ok(Element::Text(&lossless::read(datum)?).hash(hash)),
        }
    };
    Ok(element.hash(hash))
}

/// Refuses a type that cannot be hashed as an element.
pub fn check(type_oid: Oid) -> Result<()> {
    element_type(type_oid).map(|_| ())
}

/// Hashes a value of an element type, or of a domain over one.
///
/// # Safety
/// `datum` is a non-null value of type `type_oid`.
pub unsafe fn hash(datum: Datum, type_oid: Oid, hash: ElementHash) -> Result<u64> {
    // SAFETY: `datum` is of `type_oid`, as # Safety asks.
    unsafe { hash_as(element_type(type_oid)?, datum, hash) }
}

/// Hashes the non-null elements of an array, in its order and with repeats. An array of an unsupported element type is
/// refused even if it is empty.
///
/// # Safety
/// `set` is a non-null array.
pub unsafe fn hashes(set: Datum, hash: ElementHash) -> Result<Vec<u64>> {
    // SAFETY: the caller promises an array.
    let (set, type_oid) = unsafe { array::detoast(set) };
    // SAFETY: `detoast` returned an array.
    let elements = unsafe { array::each_element(set) };
    let (mut hashes, of) = (memory::with_capacity(elements.len())?, element_type(type_oid)?);
    for element in elements.flatten() {
        // SAFETY: an element of the array has the element type that its header names.
        hashes.push(unsafe { hash_as(of, element, hash) }?);
    }
    Ok(hashes)
}
