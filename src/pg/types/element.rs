//! Elements of sets: values of the types that can be hashed, as the engine takes them.

use pgrx::pg_sys::{self, Datum, Oid};
use sketch::{Element, ElementHash, memory};

use crate::error::{Result, type_mismatch};
use crate::pg::catalog::base_type;
use crate::pg::names::type_label;
use crate::pg::{array, bytes, lossless};

/// The types of which there are elements, each with the domains over it.
#[derive(Clone, Copy)]
enum ElementType {
    Text,
    Bytes,
    Int2,
    Int4,
    Int8,
    Uuid,
}

impl ElementType {
    fn of(type_oid: Oid) -> Result<Self> {
        Ok(match base_type(type_oid) {
            pg_sys::TEXTOID | pg_sys::VARCHAROID => Self::Text,
            pg_sys::BYTEAOID => Self::Bytes,
            pg_sys::INT2OID => Self::Int2,
            pg_sys::INT4OID => Self::Int4,
            pg_sys::INT8OID => Self::Int8,
            pg_sys::UUIDOID => Self::Uuid,
            other => {
                let message = format!("elements of type {} cannot be hashed", type_label(other));
                return Err(type_mismatch(message).set_hint("Cast them to text."));
            }
        })
    }

    /// # Safety
    /// `datum` must be a non-null value of this type.
    unsafe fn hash(self, datum: Datum, hash: ElementHash) -> Result<u64> {
        // SAFETY: `datum` is of the type named before the arrow, as # Safety asks; a uuid is 16 bytes.
        let element = unsafe {
            match self {
                Self::Text => return Ok(Element::Text(&lossless::read(datum)?).hash(hash)),
                Self::Bytes => Element::Bytes(bytes::read(datum)),
                Self::Int2 => Element::Integer((datum.value() as i16).into()),
                Self::Int4 => Element::Integer((datum.value() as i32).into()),
                Self::Int8 => Element::Integer(datum.value() as i64),
                Self::Uuid => Element::Uuid(&*datum.cast_mut_ptr()),
            }
        };
        Ok(element.hash(hash))
    }
}

/// Refuses a type of which there are no elements.
pub fn check(type_oid: Oid) -> Result<()> {
    ElementType::of(type_oid).map(|_| ())
}

/// The hash of a value of a type of which there are elements, or of a domain over one.
///
/// # Safety
/// `datum` must be a non-null value of type `type_oid`.
pub unsafe fn hash(datum: Datum, type_oid: Oid, hash: ElementHash) -> Result<u64> {
    let of = ElementType::of(type_oid)?;
    // SAFETY: `datum` is of `type_oid`, as # Safety asks, and `of` is the type of elements that belongs to it.
    unsafe { of.hash(datum, hash) }
}

/// The hashes of the elements of an array but its nulls, in its order and with its repeats. An array of a type of which
/// there are no elements is refused whatever is in it.
///
/// # Safety
/// `set` must be a non-null array.
pub unsafe fn hashes(set: Datum, hash: ElementHash) -> Result<Vec<u64>> {
    // SAFETY: the caller promises an array.
    let (set, element_type) = unsafe { array::detoast(set) };
    // SAFETY: an array of elements of that type, as it says itself.
    let elements = unsafe { array::each_element(set) };
    let (mut hashes, of) = (memory::with_capacity(elements.len())?, ElementType::of(element_type)?);
    for element in elements.flatten() {
        // SAFETY: an element of that type.
        hashes.push(unsafe { of.hash(element, hash) }?);
    }
    Ok(hashes)
}
