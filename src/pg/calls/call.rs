//! A call of a SQL function: its arguments, their types, and its result.
//!
//! Every function is exported by [`sql_function!`], and reads its arguments through [`Call`]: by the
//! type that `sql/minlsh.sql` declares, which is what makes that sound. A polymorphic one says in the
//! call which type it is.

use std::ffi::{CStr, CString};

use pgrx::fcinfo::{pg_func_extra, pg_getarg_datum};
use pgrx::pg_sys::{self, Datum, Oid};
use sketch::memory;

use crate::error::{Result, null_not_allowed};
use crate::pg::array::ArrayElement;
use crate::pg::catalog::CatalogRow;
use crate::pg::parameter::Parameter;
use crate::pg::{array, bytes, catalog, text};

/// Exports `$implementation: fn(&Call) -> Result<Option<Datum>>` to PostgreSQL as the C
/// function `$name` (version 1 calling convention). `None` is SQL NULL.
macro_rules! sql_function {
    ($name:ident, $implementation:expr) => {
        const _: () = {
            #[unsafe(export_name = concat!("pg_finfo_", stringify!($name)))]
            extern "C" fn info() -> &'static pgrx::pg_sys::Pg_finfo_record {
                const V1: pgrx::pg_sys::Pg_finfo_record = pgrx::pg_sys::Pg_finfo_record { api_version: 1 };
                &V1
            }

            #[unsafe(export_name = stringify!($name))]
            #[pgrx::pg_guard]
            unsafe extern "C-unwind" fn entry(fcinfo: pgrx::pg_sys::FunctionCallInfo) -> pgrx::pg_sys::Datum {
                // SAFETY: PostgreSQL passes a valid call for the duration of the call.
                let call = unsafe { $crate::pg::call::Call::new(fcinfo) };
                let result = $crate::pg::reserve::answer(|| ($implementation)(&call));
                result.unwrap_or_else(|| call.null())
            }
        };
    };
}
pub(crate) use sql_function;

/// An argument of a function that is STRICT, which is never NULL.
pub trait Strict<T> {
    /// The argument; an error if somebody has declared the function otherwise.
    fn given(self) -> Result<T>;
}

impl<T> Strict<T> for Option<T> {
    fn given(self) -> Result<T> {
        self.ok_or_else(|| null_not_allowed("an argument of a STRICT function is NULL"))
    }
}

impl<T> Strict<T> for Result<Option<T>> {
    fn given(self) -> Result<T> {
        self?.given()
    }
}

/// The installed extension as the catalogs know it, by OID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extension {
    pub schema: Oid,
    /// Its type `minlsh_document`; invalid if there is none.
    pub document: Oid,
}

/// One call in progress.
pub struct Call {
    fcinfo: pg_sys::FunctionCallInfo,
}

impl Call {
    /// # Safety
    /// `fcinfo` must be what PostgreSQL handed to the function, and outlive the `Call`.
    pub unsafe fn new(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        Self { fcinfo }
    }

    /// The raw call, for the other islands.
    pub fn raw(&self) -> pg_sys::FunctionCallInfo {
        self.fcinfo
    }

    pub fn null(&self) -> Datum {
        // SAFETY: `new` promises a valid call.
        unsafe { pgrx::fcinfo::pg_return_null(self.fcinfo) }
    }

    pub fn count(&self) -> usize {
        // SAFETY: `new` promises a valid call.
        unsafe { (*self.fcinfo).nargs as usize }
    }

    /// Argument `index` (from 0), `None` when it is NULL.
    pub fn datum(&self, index: usize) -> Option<Datum> {
        // SAFETY: `new` promises a valid call; the SQL declaration fixes the number of arguments.
        unsafe { pg_getarg_datum(self.fcinfo, index) }
    }

    pub fn int4(&self, index: usize) -> Option<i32> {
        self.datum(index).map(|datum| datum.value() as i32)
    }

    pub fn int8(&self, index: usize) -> Option<i64> {
        self.datum(index).map(|datum| datum.value() as i64)
    }

    pub fn bool(&self, index: usize) -> Option<bool> {
        self.datum(index).map(|datum| datum.value() as u8 != 0)
    }

    pub fn float8(&self, index: usize) -> Option<f64> {
        self.datum(index).map(|datum| f64::from_bits(datum.value() as u64))
    }

    /// An `oid` or `regclass` argument.
    pub fn oid(&self, index: usize) -> Option<Oid> {
        self.datum(index).map(|datum| Oid::from(datum.value() as u32))
    }

    /// A `text` argument as UTF-8, whatever the database's encoding is.
    pub fn text(&self, index: usize) -> Result<Option<&str>> {
        // SAFETY: the argument is declared `text`, and lives as long as the call.
        self.datum(index).map(|datum| unsafe { text::read(datum) }).transpose()
    }

    /// The bytes of an argument of type `bytea`, `text` (in the database's encoding) or
    /// `minlsh_document`.
    pub fn bytes(&self, index: usize) -> Option<&[u8]> {
        // SAFETY: the argument is declared as one of those, all varlenas, and lives as long as the call.
        self.datum(index).map(|datum| unsafe { bytes::read(datum) })
    }

    /// The bytes of a `cstring` argument, in the database's encoding.
    pub fn cstring(&self, index: usize) -> Option<&[u8]> {
        // SAFETY: the argument is declared `cstring`, NUL-terminated, and lives as long as the call.
        self.datum(index).map(|datum| unsafe { CStr::from_ptr(datum.cast_mut_ptr()).to_bytes() })
    }

    /// An array argument, which must not hold NULLs.
    pub fn array<T: ArrayElement>(&self, index: usize) -> Result<Option<&[T]>> {
        // SAFETY: the argument is declared as an array of that type, and lives as long as the call.
        self.datum(index).map(|datum| unsafe { array::read(datum) }).transpose()
    }

    /// The elements of a `bigint[]` argument but its NULLs.
    pub fn bigints(&self, index: usize) -> Result<Option<Vec<i64>>> {
        let Some(array) = self.datum(index) else { return Ok(None) };
        // SAFETY: the argument is declared `bigint[]`.
        let elements = unsafe { array::each_element(array) };
        let present = elements.flatten().map(|element| element.value() as i64);
        memory::collect(present).map(Some).map_err(Into::into)
    }

    /// A `name` argument in the database's encoding.
    pub fn raw_name(&self, index: usize) -> Option<CString> {
        // SAFETY: the argument is declared `name`: a NUL-terminated array.
        let name = |datum: Datum| unsafe { CStr::from_ptr(datum.cast_mut_ptr()) };
        self.datum(index).map(|datum| name(datum).to_owned())
    }

    /// The type of argument `index` in this very call: what a polymorphic argument stands for.
    pub fn argument_type(&self, index: usize) -> Oid {
        // SAFETY: a valid call has a valid flinfo.
        unsafe { pg_sys::get_fn_expr_argtype((*self.fcinfo).flinfo, index as i32) }
    }

    /// A polymorphic argument as a parameter of a query, of its base type, by which it must be asked for.
    pub fn parameter(&self, index: usize) -> Option<Parameter> {
        let type_oid = catalog::base_type(self.argument_type(index));
        // SAFETY: an argument is of the type that its place in the query has; it lives as long as the call.
        self.datum(index).map(|value| unsafe { Parameter::new(type_oid, Some(value)) })
    }

    /// The collation that applies to the arguments.
    pub fn collation(&self) -> Oid {
        // SAFETY: `new` promises a valid call.
        unsafe { (*self.fcinfo).fncollation }
    }

    /// True if argument `index` is the same in all calls of this query.
    pub fn is_constant(&self, index: usize) -> bool {
        // SAFETY: a valid call has a valid flinfo.
        unsafe { pg_sys::get_fn_expr_arg_stable((*self.fcinfo).flinfo, index as i32) }
    }

    /// True if the call is of no place in a query: an exclusion constraint compares values so.
    pub fn has_no_place(&self) -> bool {
        // SAFETY: a valid call has a valid flinfo.
        unsafe { (*(*self.fcinfo).flinfo).fn_expr.is_null() }
    }

    /// The state that this place of a query keeps from one call to the next, at first the default. It is
    /// dropped with the query.
    ///
    /// # Safety
    /// A function must always ask for the same type, and only once in a call.
    #[expect(clippy::mut_from_ref, reason = "it is not part of the call: the caller's promise")]
    pub unsafe fn kept<T: Default + 'static>(&self) -> &mut T {
        // SAFETY: a valid call has a valid flinfo; the value lives until the memory context in
        // which PostgreSQL says that `fn_extra` shall be is reset, and `fn_extra` is ours.
        unsafe { &mut *pg_func_extra(self.fcinfo, T::default).as_ptr() }
    }

    /// The names of the arguments, in order. Those of results are declared behind them.
    pub fn argument_names(&self) -> Vec<String> {
        let row = CatalogRow::<pg_sys::FormData_pg_proc>::find(self.function());
        let names = row.as_ref().and_then(|row| row.column(pg_sys::Anum_pg_proc_proargnames));
        // SAFETY: `proargnames` is a text[], whose elements are copied while the row is held.
        let names = names.map(|names| unsafe { array::each_element(names) });
        // SAFETY: an element of a text[].
        let name = |name: Datum| unsafe { bytes::read(name) };
        let names = names.into_iter().flatten().flatten().map(name);
        names.take(self.count()).map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }

    /// The extension that the function being called belongs to.
    pub fn extension(&self) -> Extension {
        let schema = catalog::function_schema(self.function());
        Extension { schema, document: catalog::document_type() }
    }

    /// The function being called.
    pub fn function(&self) -> Oid {
        // SAFETY: a valid call has a valid flinfo.
        unsafe { (*(*self.fcinfo).flinfo).fn_oid }
    }
}

/// An `f64` as a `double precision` datum.
pub fn float8_datum(value: f64) -> Datum {
    Datum::from(value.to_bits())
}
