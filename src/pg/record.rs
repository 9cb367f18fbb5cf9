//! One row as the result of a function that is no set: OUT parameters.

use pgrx::pg_sys::{self, Datum};

use crate::error::{Result, not_supported};
use crate::pg::call::Call;

/// A row of the call's result type: one value for each OUT parameter, `None` for NULL.
pub fn write<const COLUMNS: usize>(call: &Call, row: [Option<Datum>; COLUMNS]) -> Result<Datum> {
    let mut values = row.map(|value| value.unwrap_or(Datum::from(0)));
    let mut nulls = row.map(|value| value.is_none());
    // SAFETY: a valid call; the descriptor is checked to have as many columns as the arrays; the
    // tuple is made in the current memory context.
    unsafe {
        let mut descriptor = std::ptr::null_mut();
        let class = pg_sys::get_call_result_type(call.raw(), std::ptr::null_mut(), &mut descriptor);
        if class != pg_sys::TypeFuncClass::TYPEFUNC_COMPOSITE
            || (*descriptor).natts as usize != COLUMNS
        {
            return Err(not_supported(
                "function returning record called in context that cannot accept type record",
            ));
        }
        let descriptor = pg_sys::BlessTupleDesc(descriptor);
        let tuple = pg_sys::heap_form_tuple(descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
        Ok(pg_sys::HeapTupleHeaderGetDatum((*tuple).t_data))
    }
}
