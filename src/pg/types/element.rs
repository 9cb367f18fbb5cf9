//! Elements of sets: values of the types that can be hashed, as the engine takes them.

use pgrx::pg_sys::{self, Datum, Oid};
use sketch::{Element, ElementHash, memory};

use crate::error::{Result, type_mismatch};
use crate::pg::catalog::base_type;
use crate::pg::names::type_label;
use crate::pg::{array, bytes, lossless};

/// The type as whose values those of a type are hashed: itself, or what it is a domain over.
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
/// `datum` must be a non-null value of a type for which [`element_type`] gives `element_type`.
unsafe fn hash_as(element_type: Oid, datum: Datum, hash: ElementHash) -> Result<u64> {
    // SAFETY: `datum` is of the type named before the arrow, as # Safety asks; a uuid is 16 bytes.
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

/// Refuses a type of which there are no elements.
pub fn check(type_oid: Oid) -> Result<()> {
    element_type(type_oid).map(|_| ())
}

/// The hash of a value of a type of which there are elements, or of a domain over one.
///
/// # Safety
/// `datum` must be a non-null value of type `type_oid`.
pub unsafe fn hash(datum: Datum, type_oid: Oid, hash: ElementHash) -> Result<u64> {
    // SAFETY: `datum` is of `type_oid`, as # Safety asks.
    unsafe { hash_as(element_type(type_oid)?, datum, hash) }
}

/// The hashes of the elements of an array but its nulls, in its order and with its repeats. An array of a type of which
/// there are no elements is refused whatever is in it.
///
/// # Safety
/// `set` must be a non-null array.
pub unsafe fn hashes(set: Datum, hash: ElementHash) -> Result<Vec<u64>> {
    // SAFETY: the caller promises an array.
    let (set, type_oid) = unsafe { array::detoast(set) };
    // SAFETY: an array of elements of that type, as it says itself.
    let elements = unsafe { array::each_element(set) };
    let (mut hashes, of) = (memory::with_capacity(elements.len())?, element_type(type_oid)?);
    for element in elements.flatten() {
        // SAFETY: an element of that type.
        hashes.push(unsafe { hash_as(of, element, hash) }?);
    }
    Ok(hashes)
}
