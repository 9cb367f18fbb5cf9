//! The storage and passing of values of a type, for code that knows them only as datums.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::pg::bytes;

/// The rules by which values of a type are stored and passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeStorage {
    pub by_value: bool,
    /// `typlen`: -1 for a varlena, -2 for a C string.
    pub length: i16,
}

const C_STRING: i16 = -2;

impl TypeStorage {
    /// The rules for an existing type.
    pub fn of(type_oid: Oid) -> Self {
        let (mut length, mut by_value) = (0, false);
        // SAFETY: a look-up in the system caches, whose results go to local variables.
        unsafe { pg_sys::get_typlenbyval(type_oid, &mut length, &mut by_value) };
        Self { by_value, length }
    }

    /// The rules for a column.
    pub fn of_attribute(attribute: &pg_sys::FormData_pg_attribute) -> Self {
        Self { by_value: attribute.attbyval, length: attribute.attlen }
    }

    /// Copies a value into the current memory context. The copy does not need a TOAST table.
    ///
    /// # Safety
    /// `value` is a non-null value of such a type.
    pub unsafe fn copy(self, value: Datum) -> Datum {
        // SAFETY: the caller promises a value of such a type.
        unsafe {
            match self.length {
                -1 => Datum::from(pg_sys::pg_detoast_datum_copy(value.cast_mut_ptr())),
                length => pg_sys::datumCopy(value, self.by_value, length.into()),
            }
        }
    }

    /// Returns the bytes of a value that is passed by reference; a varlena is detoasted, without its header.
    ///
    /// # Safety
    /// `value` is a non-null value of such a type, passed by reference, and valid for `'a`.
    pub unsafe fn bytes<'a>(self, value: Datum) -> &'a [u8] {
        // SAFETY: the caller promises such a value: a C string, a varlena, or `length` bytes.
        unsafe {
            match usize::try_from(self.length) {
                Ok(length) => std::slice::from_raw_parts(value.cast_mut_ptr::<u8>(), length),
                Err(_) if self.length == C_STRING => CStr::from_ptr(value.cast_mut_ptr()).to_bytes(),
                Err(_) => bytes::read(value),
            }
        }
    }

    /// True if two values are equal byte for byte. Values that are stored alike, in place or in the same row of a TOAST
    /// table, are not fetched from there.
    ///
    /// # Safety
    /// Both are non-null values of such a type.
    pub unsafe fn same(self, a: Datum, b: Datum) -> bool {
        // SAFETY: the caller promises two values of such a type.
        unsafe {
            let length = self.length.into();
            pg_sys::datumIsEqual(a, b, self.by_value, length) || pg_sys::datum_image_eq(a, b, self.by_value, length)
        }
    }
}
