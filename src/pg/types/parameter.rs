//! Parameters of a query.

use pgrx::pg_sys::{self, Datum, Oid};

use crate::pg::typed_value::TypedValue;
use crate::pg::{array, catalog};

/// A typed parameter, valid for `'a`; `None` is NULL.
#[derive(Clone, Copy)]
pub struct Parameter<'a> {
    type_oid: Oid,
    value: Option<TypedValue<'a>>,
}

impl<'a> Parameter<'a> {
    /// A parameter of type `type_oid`. Its value must be [of](TypedValue::is_of) this type.
    pub fn new(type_oid: Oid, value: Option<TypedValue<'a>>) -> Self {
        assert!(value.is_none_or(|value| value.is_of(type_oid)), "a parameter is of its type");
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

    pub fn datum(&self) -> Option<Datum> {
        self.value.map(TypedValue::datum)
    }

    /// A `uuid`.
    pub fn uuid(value: Option<&'a [u8; 16]>) -> Self {
        Self { type_oid: pg_sys::UUIDOID, value: value.map(TypedValue::uuid) }
    }
}

/// Arrays are made in the current memory context.
impl Parameter<'static> {
    /// An array of values and NULLs, which must be [of](TypedValue::is_of) type `element`.
    pub fn array<'v>(values: impl Iterator<Item = Option<TypedValue<'v>>>, element: Oid) -> Self {
        let values = values.map(|value| value.map(|value| value.of_type(element)));
        let type_oid = catalog::array_of(element);
        // SAFETY: `of_type` checks that each value has the type, and the array copies it.
        let array = unsafe { TypedValue::new(array::from_elements(values, element), type_oid) };
        Self { type_oid, value: Some(array) }
    }

    /// A `bigint[]`.
    pub fn int8s(values: impl Iterator<Item = Option<i64>>) -> Self {
        Self::array(values.map(|value| value.map(TypedValue::int8)), pg_sys::INT8OID)
    }

    pub fn int8(value: i64) -> Self {
        Self { type_oid: pg_sys::INT8OID, value: Some(TypedValue::int8(value)) }
    }

    pub fn float8(value: f64) -> Self {
        Self { type_oid: pg_sys::FLOAT8OID, value: Some(TypedValue::float8(value)) }
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
            entry.value = parameter.datum().unwrap_or(Datum::from(0));
            entry.isnull = parameter.is_null();
            entry.pflags = pg_sys::PARAM_FLAG_CONST as u16;
            entry.ptype = parameter.type_oid;
        }
        list
    }
}
