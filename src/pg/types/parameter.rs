//! Parameters of a query.

use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::Result;
use crate::pg::{array, bytes, catalog};

/// A typed parameter; `None` is NULL.
#[derive(Clone, Copy)]
pub struct Parameter {
    type_oid: Oid,
    value: Option<Datum>,
}

impl Parameter {
    /// A parameter of any type.
    ///
    /// # Safety
    /// `value` is NULL or of this type, and lives as long as what is made of the parameter.
    pub unsafe fn new(type_oid: Oid, value: Option<Datum>) -> Self {
        Self { type_oid, value }
    }

    /// NULL, of this type.
    pub fn null(type_oid: Oid) -> Self {
        Self { type_oid, value: None }
    }

    pub fn is_null(&self) -> bool {
        self.value.is_none()
    }

    pub fn type_oid(&self) -> Oid {
        self.type_oid
    }

    /// The value, if it has this type; `None` for NULL.
    pub fn of_type(&self, type_oid: Oid) -> Option<Datum> {
        self.value.filter(|_| self.type_oid == type_oid)
    }

    /// The text, in the database's encoding; `None` for NULL, and for a value of another type.
    pub fn text(&self) -> Option<&[u8]> {
        let text = self.of_type(pg_sys::TEXTOID);
        // SAFETY: `of_type` has compared the type, and `new` promises that the value lives as long as this parameter.
        text.map(|text| unsafe { bytes::read(text) })
    }

    /// The `integer[]`, without NULLs; `None` for NULL, and for a value of another type.
    pub fn int4_array(&self) -> Result<Option<&[i32]>> {
        let array = self.of_type(pg_sys::INT4ARRAYOID);
        // SAFETY: `of_type` has compared the type, and `new` promises that the value lives as long as this parameter.
        array.map(|array| unsafe { array::read(array) }).transpose()
    }

    /// An array of values and NULLs.
    ///
    /// # Safety
    /// The values are of type `element`.
    pub unsafe fn array(values: impl Iterator<Item = Option<Datum>>, element: Oid) -> Self {
        // SAFETY: the caller promises values of type `element`; the array copies them.
        let array = unsafe { array::from_elements(values, element) };
        Self { type_oid: catalog::array_of(element), value: Some(array) }
    }

    /// A `bigint[]`.
    pub fn int8s(values: impl Iterator<Item = Option<i64>>) -> Self {
        // SAFETY: an `i64` is passed as a `bigint` datum.
        unsafe { Self::array(values.map(|value| value.map(Datum::from)), pg_sys::INT8OID) }
    }

    pub fn int8(value: i64) -> Self {
        Self { type_oid: pg_sys::INT8OID, value: Some(Datum::from(value)) }
    }

    pub fn float8(value: f64) -> Self {
        Self { type_oid: pg_sys::FLOAT8OID, value: Some(Datum::from(value.to_bits())) }
    }
}

/// Converts parameters for the executor.
pub(in crate::pg) fn parameter_list(values: &[Parameter]) -> pg_sys::ParamListInfo {
    if values.is_empty() {
        return std::ptr::null_mut();
    }
    // SAFETY: the list is allocated with an entry for each value.
    unsafe {
        let list = pg_sys::makeParamList(values.len() as i32);
        let entries = (*list).params.as_mut_slice(values.len());
        for (entry, parameter) in entries.iter_mut().zip(values) {
            entry.value = parameter.value.unwrap_or(Datum::from(0));
            entry.isnull = parameter.value.is_none();
            entry.pflags = pg_sys::PARAM_FLAG_CONST as u16;
            entry.ptype = parameter.type_oid;
        }
        list
    }
}
