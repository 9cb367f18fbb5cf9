//! Parameters of a query.

use pgrx::pg_sys::{self, Datum, Oid};

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

    /// Its type.
    pub fn type_oid(&self) -> Oid {
        self.type_oid
    }

    /// An `oid`.
    pub fn oid(value: Oid) -> Self {
        Self { type_oid: pg_sys::OIDOID, value: Some(Datum::from(value)) }
    }

    /// An `integer`.
    pub fn int4(value: i32) -> Self {
        Self { type_oid: pg_sys::INT4OID, value: Some(Datum::from(value)) }
    }

    /// A `bigint`.
    pub fn int8(value: i64) -> Self {
        Self { type_oid: pg_sys::INT8OID, value: Some(Datum::from(value)) }
    }

    /// A `double precision`.
    pub fn float8(value: f64) -> Self {
        Self { type_oid: pg_sys::FLOAT8OID, value: Some(crate::pg::call::float8_datum(value)) }
    }
}

/// Parameters as the executor takes them.
pub(super) fn parameter_list(values: &[Parameter]) -> pg_sys::ParamListInfo {
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
