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
    /// `value` must be of that type, or NULL, and live as long as what is made of the parameter.
    pub unsafe fn new(type_oid: Oid, value: Option<Datum>) -> Self {
        Self { type_oid, value }
    }

    /// NULL, of that type.
    pub fn null(type_oid: Oid) -> Self {
        Self { type_oid, value: None }
    }

    pub fn is_null(&self) -> bool {
        self.value.is_none()
    }

    pub fn type_oid(&self) -> Oid {
        self.type_oid
    }

    /// The value, if it is of that type; `None` for NULL.
    pub fn of_type(&self, type_oid: Oid) -> Option<Datum> {
        self.value.filter(|_| self.type_oid == type_oid)
    }

    /// The text that it is, in the database's encoding; `None` for NULL, and for a value of another type.
    pub fn text(&self) -> Option<&[u8]> {
        let text = self.of_type(pg_sys::TEXTOID);
        // SAFETY: a value of that type, as `new` promises, which lives as long as this is used.
        text.map(|text| unsafe { bytes::read(text) })
    }

    /// The `integer[]` that it is, which must not hold NULLs; `None` for NULL, and for a value of another type.
    pub fn int4_array(&self) -> Result<Option<&[i32]>> {
        let array = self.of_type(pg_sys::INT4ARRAYOID);
        // SAFETY: a value of that type, as `new` promises, which lives as long as this is used.
        array.map(|array| unsafe { array::read(array) }).transpose()
    }

    /// An array of values, and of NULLs.
    ///
    /// # Safety
    /// They must be values of type `element`.
    pub unsafe fn array(values: impl Iterator<Item = Option<Datum>>, element: Oid) -> Self {
        // SAFETY: the values are of type `element`, as # Safety asks; the array is a copy.
        let array = unsafe { array::from_elements(values, element) };
        Self { type_oid: catalog::array_of(element), value: Some(array) }
    }

    /// A `bigint[]`.
    pub fn int8s(values: impl Iterator<Item = Option<i64>>) -> Self {
        // SAFETY: values of that type.
        unsafe { Self::array(values.map(|value| value.map(Datum::from)), pg_sys::INT8OID) }
    }

    pub fn int8(value: i64) -> Self {
        Self { type_oid: pg_sys::INT8OID, value: Some(Datum::from(value)) }
    }

    pub fn float8(value: f64) -> Self {
        Self { type_oid: pg_sys::FLOAT8OID, value: Some(Datum::from(value.to_bits())) }
    }
}

/// Parameters as the executor takes them.
pub(in crate::pg) fn parameter_list(values: &[Parameter]) -> pg_sys::ParamListInfo {
    if values.is_empty() {
        return std::ptr::null_mut();
    }
    // SAFETY: the list has as many entries as there are values.
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
