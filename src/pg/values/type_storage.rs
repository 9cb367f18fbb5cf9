//! The way in which values of a type are stored and passed, for those known as datums only.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::pg::bytes;

/// The rules by which values of a type are passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeStorage {
    pub by_value: bool,
    /// `typlen`: -1 for a varlena, -2 for a C string.
    pub length: i16,
}

const C_STRING: i16 = -2;

impl TypeStorage {
    /// That of a type, which must exist.
    pub fn of(type_oid: Oid) -> Self {
        let (mut length, mut by_value) = (0, false);
        // SAFETY: a lookup in the system caches; the out parameters are valid.
        unsafe { pg_sys::get_typlenbyval(type_oid, &mut length, &mut by_value) };
        Self { by_value, length }
    }

    /// That of a column.
    pub fn of_attribute(attribute: &pg_sys::FormData_pg_attribute) -> Self {
        Self { by_value: attribute.attbyval, length: attribute.attlen }
    }

    /// A copy of a value in the current memory context, which no longer needs a TOAST table.
    ///
    /// # Safety
    /// `value` must be a non-null value that is passed like this.
    pub unsafe fn copy(self, value: Datum) -> Datum {
        // SAFETY: `value` is passed like this, as # Safety asks.
        unsafe {
            match self.length {
                -1 => Datum::from(pg_sys::pg_detoast_datum_copy(value.cast_mut_ptr())),
                length => pg_sys::datumCopy(value, self.by_value, length.into()),
            }
        }
    }

    /// The bytes of a value that is passed by reference: those of a varlena without its header, detoasted.
    ///
    /// # Safety
    /// `value` must be a non-null value that is passed like this, not by value, and valid for `'a`.
    pub unsafe fn bytes<'a>(self, value: Datum) -> &'a [u8] {
        // SAFETY: `value` is passed like this, as # Safety asks: a C string, a varlena, or `length` bytes.
        unsafe {
            match usize::try_from(self.length) {
                Ok(length) => std::slice::from_raw_parts(value.cast_mut_ptr::<u8>(), length),
                Err(_) if self.length == C_STRING => CStr::from_ptr(value.cast_mut_ptr()).to_bytes(),
                Err(_) => bytes::read(value),
            }
        }
    }

    /// True if two values are the same, byte for byte. Those that are stored alike, in place or in the
    /// same row of a TOAST table, are not read from there.
    ///
    /// # Safety
    /// Both must be non-null values that are passed like this.
    pub unsafe fn same(self, a: Datum, b: Datum) -> bool {
        // SAFETY: both are passed like this, as # Safety asks.
        unsafe {
            let length = self.length.into();
            pg_sys::datumIsEqual(a, b, self.by_value, length) || pg_sys::datum_image_eq(a, b, self.by_value, length)
        }
    }
}
