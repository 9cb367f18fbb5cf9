//! The result of a function with OUT parameters: a single row, or rows in a tuplestore, which keeps to work_mem and
//! spills beyond it (materialize mode). As with [`Call`], values have the types that `sql/minlsh.sql` declares.

use std::cell::RefCell;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::{Result, not_supported};
use crate::pg::call::Call;
use crate::pg::catalog;
use crate::pg::memory::Memory;
use crate::pg::reserve::check_interrupts;

/// The rows that a set-returning function returns.
pub struct ResultRows {
    store: *mut pg_sys::Tuplestorestate,
    descriptor: pg_sys::TupleDesc,
    /// The type of the only OUT parameter, if it is composite. The rows then have its columns.
    composite: Option<Oid>,
    /// Memory for the values of a row.
    memory: RefCell<Memory>,
}

impl ResultRows {
    /// Prepares the call to return a set. The function then returns `None`, and the rows pushed here are its result.
    pub fn start(call: &Call) -> Self {
        let flags = pg_sys::MAT_SRF_USE_EXPECTED_DESC | pg_sys::MAT_SRF_BLESS;
        // SAFETY: `Call::new` promises a valid call; `InitMaterializedSRF` raises an ERROR unless it can return a set
        // this way.
        unsafe {
            pg_sys::InitMaterializedSRF(call.raw(), flags);
            let info = &*(*call.raw()).resultinfo.cast::<pg_sys::ReturnSetInfo>();
            let mut result = Oid::INVALID;
            pg_sys::get_call_result_type(call.raw(), &mut result, std::ptr::null_mut());
            let is_composite = result != pg_sys::RECORDOID && catalog::is_rowtype(result);
            let composite = is_composite.then_some(result);
            let memory = RefCell::new(Memory::scratch(c"minlsh result row"));
            Self { store: info.setResult, descriptor: info.setDesc, composite, memory }
        }
    }

    /// The type of result column `column` (from 0) in this call.
    pub fn column_type(&self, column: usize) -> Oid {
        if let Some(composite) = self.composite {
            return composite;
        }
        // SAFETY: `start` got the descriptor from the call, with the columns that `sql/minlsh.sql` declares.
        unsafe { pg_sys::SPI_gettypeid(self.descriptor, column as i32 + 1) }
    }

    /// Appends the row that `make` returns, and frees the memory that `make` has allocated.
    pub fn add<const COLUMNS: usize>(&self, make: impl FnOnce() -> Result<[Option<Datum>; COLUMNS]>) -> Result<()> {
        self.memory.borrow_mut().run_and_reset(|| make().map(|row| self.push(&row)))
    }

    /// Appends a row: one value for each column, `None` for NULL. Checks for interrupts, so a loop over rows need not.
    pub fn push<const COLUMNS: usize>(&self, row: &[Option<Datum>; COLUMNS]) {
        check_interrupts();
        if let (Some(_), [Some(value)]) = (self.composite, &row[..]) {
            return self.push_composite(*value);
        }
        // SAFETY: `start` got the descriptor from the call, in whose memory it lives.
        let columns = unsafe { (*self.descriptor).natts } as usize;
        assert_eq!(COLUMNS, columns, "a row has the columns of the SQL declaration");
        let mut values = row.map(|value| value.unwrap_or(Datum::from(0)));
        let mut nulls = row.map(|value| value.is_none());
        // SAFETY: both arrays have an entry for each column, as just checked; the store copies the values.
        unsafe {
            pg_sys::tuplestore_putvalues(self.store, self.descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
        }
    }

    /// Appends a row that is a value of the result's composite type.
    fn push_composite(&self, value: Datum) {
        // SAFETY: a composite value is a varlena, and starts with a row's header once it is detoasted; the store copies
        // the row.
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

/// Exports `$implementation: fn(&Call, &ResultRows) -> Result<()>` as a function that returns the set of rows pushed.
macro_rules! set_function {
    ($name:ident, $implementation:expr) => {
        $crate::pg::call::sql_function!($name, |call: &$crate::pg::call::Call| {
            let rows = $crate::pg::result_rows::ResultRows::start(call);
            ($implementation)(call, &rows).map(|()| None)
        });
    };
}
pub(crate) use set_function;

/// A row of the call's result type: one value for each OUT parameter, `None` for NULL.
pub fn result_row<const COLUMNS: usize>(call: &Call, row: [Option<Datum>; COLUMNS]) -> Result<Datum> {
    let mut values = row.map(|value| value.unwrap_or(Datum::from(0)));
    let mut nulls = row.map(|value| value.is_none());
    // SAFETY: `Call::new` promises a valid call. The descriptor is checked to have as many columns as the arrays. The
    // tuple is made in the current memory context.
    unsafe {
        let mut descriptor = std::ptr::null_mut();
        let class = pg_sys::get_call_result_type(call.raw(), std::ptr::null_mut(), &mut descriptor);
        if class != pg_sys::TypeFuncClass::TYPEFUNC_COMPOSITE || (*descriptor).natts as usize != COLUMNS {
            return Err(not_supported("function returning record called in context that cannot accept type record"));
        }
        let descriptor = pg_sys::BlessTupleDesc(descriptor);
        let tuple = pg_sys::heap_form_tuple(descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
        Ok(pg_sys::HeapTupleHeaderGetDatum((*tuple).t_data))
    }
}
