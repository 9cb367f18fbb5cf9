//! The result of a function with OUT parameters: rows in a tuplestore that keeps to work_mem and
//! spills beyond (materialize mode), or a single row. Values are of the types that `sql/minlsh.sql`
//! declares, as those of [`Call`] are.

use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::{Result, not_supported};
use crate::memory;
use crate::pg::call::Call;
use crate::pg::versions;

/// The rows a set-returning function gives back.
pub struct ResultRows {
    store: *mut pg_sys::Tuplestorestate,
    descriptor: pg_sys::TupleDesc,
    /// The type of the one OUT parameter, if that is composite: its columns are those of the rows.
    composite: Option<Oid>,
}

impl ResultRows {
    /// Prepares the call to return a set; from then on the function returns `None` and its
    /// rows are those put here.
    pub fn start(call: &Call) -> Result<Self> {
        // SAFETY: a valid call; resultinfo is checked to be a ReturnSetInfo that allows
        // materialize mode; what must outlive the call is made in the per-query context.
        unsafe {
            let info = (*call.raw()).resultinfo.cast::<pg_sys::ReturnSetInfo>();
            if info.is_null()
                || (*info).type_ != pg_sys::NodeTag::T_ReturnSetInfo
                || (*info).allowedModes & pg_sys::SetFunctionReturnMode::SFRM_Materialize as i32
                    == 0
            {
                return Err(not_supported(
                    "set-valued function called in context that cannot accept a set",
                ));
            }
            let context = (*(*info).econtext).ecxt_per_query_memory;
            let previous = pg_sys::MemoryContextSwitchTo(context);
            let (mut result, mut descriptor) = (Oid::INVALID, std::ptr::null_mut());
            let class = pg_sys::get_call_result_type(call.raw(), &mut result, &mut descriptor);
            let is_composite = class == pg_sys::TypeFuncClass::TYPEFUNC_COMPOSITE
                || class == pg_sys::TypeFuncClass::TYPEFUNC_COMPOSITE_DOMAIN;
            if class == pg_sys::TypeFuncClass::TYPEFUNC_SCALAR {
                // One OUT parameter makes a set of its type.
                descriptor = pg_sys::CreateTemplateTupleDesc(1);
                pg_sys::TupleDescInitEntry(descriptor, 1, std::ptr::null(), result, -1, 0);
                versions::finalize(descriptor);
            } else if !is_composite {
                pg_sys::MemoryContextSwitchTo(previous);
                return Err(not_supported(
                    "function returning record called in context that cannot accept type record",
                ));
            }
            let descriptor = pg_sys::BlessTupleDesc(descriptor);
            let random_access = (*info).allowedModes
                & pg_sys::SetFunctionReturnMode::SFRM_Materialize_Random as i32
                != 0;
            let store = pg_sys::tuplestore_begin_heap(random_access, false, memory::of_result());
            (*info).returnMode = pg_sys::SetFunctionReturnMode::SFRM_Materialize;
            (*info).setResult = store;
            (*info).setDesc = descriptor;
            pg_sys::MemoryContextSwitchTo(previous);
            let composite = (is_composite && result != pg_sys::RECORDOID).then_some(result);
            Ok(Self { store, descriptor, composite })
        }
    }

    /// The type of result column `column` (from 0) in this call.
    pub fn column_type(&self, column: usize) -> Oid {
        if let Some(composite) = self.composite {
            return composite;
        }
        // SAFETY: the descriptor has the columns of the SQL declaration.
        unsafe { pg_sys::SPI_gettypeid(self.descriptor, column as i32 + 1) }
    }

    /// Adds a row: one value for each column, `None` for NULL.
    pub fn push<const COLUMNS: usize>(&self, row: &[Option<Datum>; COLUMNS]) {
        if let (Some(_), [Some(value)]) = (self.composite, &row[..]) {
            return self.push_composite(*value);
        }
        // SAFETY: the descriptor of the call's result.
        let columns = unsafe { (*self.descriptor).natts } as usize;
        assert_eq!(COLUMNS, columns, "a row has the columns of the SQL declaration");
        let mut values = row.map(|value| value.unwrap_or(Datum::from(0)));
        let mut nulls = row.map(|value| value.is_none());
        // SAFETY: the arrays have one entry for each column; the store copies the values.
        unsafe {
            pg_sys::tuplestore_putvalues(
                self.store,
                self.descriptor,
                values.as_mut_ptr(),
                nulls.as_mut_ptr(),
            );
        }
    }

    /// Adds the row that a value is: one of the composite type that is the type of the result.
    fn push_composite(&self, value: Datum) {
        // SAFETY: a value of that type is a varlena, and detoasted the header of a row; the store copies the row.
        unsafe {
            let header = pg_sys::pg_detoast_datum(value.cast_mut_ptr());
            let mut tuple = pg_sys::HeapTupleData {
                t_len: pgrx::varlena::varsize_any(header) as u32,
                t_data: header.cast(),
                ..Default::default()
            };
            pg_sys::tuplestore_puttuple(self.store, &mut tuple);
        }
    }
}

/// A row of the call's result type: one value for each OUT parameter, `None` for NULL.
pub fn result_row<const COLUMNS: usize>(
    call: &Call,
    row: [Option<Datum>; COLUMNS],
) -> Result<Datum> {
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
