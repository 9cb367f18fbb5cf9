//! A call of an SQL function: its arguments, their types, and its result.
//!
//! [`sql_function!`] exports each function, which reads its arguments through [`Call`]. That is sound because
//! `sql/minlsh.sql` declares the types that the functions read. A polymorphic argument has its type in the call.

use std::ffi::{CStr, CString};

use pgrx::fcinfo::{pg_func_extra, pg_getarg_datum};
use pgrx::pg_sys::{self, Datum, Oid};
use sketch::memory;

use crate::error::{Result, null_not_allowed};
use crate::pg::array::ArrayElement;
use crate::pg::catalog::CatalogRow;
use crate::pg::typed_value::TypedValue;
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

/// An argument of a STRICT function, which is never NULL.
pub trait Strict<T> {
    /// The argument. An error if someone has declared the function differently.
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
    /// The type `minlsh_document`; invalid if there is none.
    pub document: Oid,
}

/// A call in progress.
pub struct Call {
    fcinfo: pg_sys::FunctionCallInfo,
}

impl Call {
    /// # Safety
    /// `fcinfo` is what PostgreSQL passed to the function, and outlives the `Call`.
    pub unsafe fn new(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        Self { fcinfo }
    }

    /// PostgreSQL's call, for the other modules of `pg`.
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

    /// Argument `index` (from 0); `None` for NULL.
    pub fn datum(&self, index: usize) -> Option<Datum> {
        // SAFETY: `new` promises a valid call, and the declaration in `sql/minlsh.sql` fixes the number of its
        // arguments.
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
        // SAFETY: `sql/minlsh.sql` declares the argument as `text`, and it lives as long as the call.
        self.datum(index).map(|datum| unsafe { text::read(datum) }).transpose()
    }

    /// The bytes of an argument of type `bytea`, `text` (in the database's encoding) or
    /// `minlsh_document`.
    pub fn bytes(&self, index: usize) -> Option<&[u8]> {
        // SAFETY: `sql/minlsh.sql` declares the argument as one of these types, all varlenas, and it lives as long as
        // the call.
        self.datum(index).map(|datum| unsafe { bytes::read(datum) })
    }

    /// The bytes of a `cstring` argument, in the database's encoding.
    pub fn cstring(&self, index: usize) -> Option<&[u8]> {
        // SAFETY: `sql/minlsh.sql` declares the argument as `cstring`, which ends with a NUL and lives as long as the
        // call.
        self.datum(index).map(|datum| unsafe { CStr::from_ptr(datum.cast_mut_ptr()).to_bytes() })
    }

    /// An array argument without NULLs.
    pub fn array<T: ArrayElement>(&self, index: usize) -> Result<Option<&[T]>> {
        // SAFETY: `sql/minlsh.sql` declares the argument as an array of `T`'s type, and it lives as long as the call.
        self.datum(index).map(|datum| unsafe { array::read(datum) }).transpose()
    }

    /// The elements of a `bigint[]` argument, without its NULLs.
    pub fn bigints(&self, index: usize) -> Result<Option<Vec<i64>>> {
        let Some(array) = self.datum(index) else { return Ok(None) };
        // SAFETY: `sql/minlsh.sql` declares the argument as `bigint[]`.
        let elements = unsafe { array::each_element(array) };
        let present = elements.flatten().map(|element| element.value() as i64);
        memory::collect(present).map(Some).map_err(Into::into)
    }

    /// A `name` argument in the database's encoding.
    pub fn raw_name(&self, index: usize) -> Option<CString> {
        // SAFETY: `sql/minlsh.sql` declares the argument as `name`, an array that ends with a NUL.
        let name = |datum: Datum| unsafe { CStr::from_ptr(datum.cast_mut_ptr()) };
        self.datum(index).map(|datum| name(datum).to_owned())
    }

    /// The type of argument `index` in this call, also of a polymorphic argument.
    pub fn argument_type(&self, index: usize) -> Oid {
        // SAFETY: `new` promises a valid call, which has its `flinfo`.
        unsafe { pg_sys::get_fn_expr_argtype((*self.fcinfo).flinfo, index as i32) }
    }

    /// An argument with its base type.
    pub fn value(&self, index: usize) -> Option<TypedValue<'_>> {
        let type_oid = catalog::base_type(self.argument_type(index));
        // SAFETY: PostgreSQL passes an argument of the type that the query gives it, and it lives as long as the call.
        self.datum(index).map(|value| unsafe { TypedValue::new(value, type_oid) })
    }

    /// The collation that applies to the arguments.
    pub fn collation(&self) -> Oid {
        // SAFETY: `new` promises a valid call.
        unsafe { (*self.fcinfo).fncollation }
    }

    /// True if argument `index` is the same in all calls of this query.
    pub fn is_constant(&self, index: usize) -> bool {
        // SAFETY: `new` promises a valid call, which has its `flinfo`.
        unsafe { pg_sys::get_fn_expr_arg_stable((*self.fcinfo).flinfo, index as i32) }
    }

    /// True if the call has no place in a query. Exclusion constraints call an operator this way.
    pub fn has_no_place(&self) -> bool {
        // SAFETY: `new` promises a valid call, which has its `flinfo`.
        unsafe { (*(*self.fcinfo).flinfo).fn_expr.is_null() }
    }

    /// The state that this place of a query keeps between calls, at first the default. It is dropped with the query.
    ///
    /// # Safety
    /// A function always asks for the same type, and only once in a call.
    #[expect(clippy::mut_from_ref, reason = "it is not part of the call: the caller's promise")]
    pub unsafe fn kept<T: Default + 'static>(&self) -> &mut T {
        // SAFETY: `new` promises a valid call with its `flinfo`. `fn_extra` belongs to this function, and its value
        // lives until the context that PostgreSQL keeps it in is reset.
        unsafe { &mut *pg_func_extra(self.fcinfo, T::default).as_ptr() }
    }

    /// The names of the arguments, in order, followed by the names of OUT parameters.
    pub fn argument_names(&self) -> Vec<String> {
        let row = CatalogRow::<pg_sys::FormData_pg_proc>::find(self.function());
        let names = row.as_ref().and_then(|row| row.column(pg_sys::Anum_pg_proc_proargnames));
        // SAFETY: `proargnames` is a text[]; its elements are copied while the row is held.
        let names = names.map(|names| unsafe { array::each_element(names) });
        // SAFETY: an element of a text[].
        let name = |name: Datum| unsafe { bytes::read(name) };
        let names = names.into_iter().flatten().flatten().map(name);
        names.take(self.count()).map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }

    /// The extension to which the called function belongs.
    pub fn extension(&self) -> Extension {
        let schema = catalog::function_schema(self.function());
        Extension { schema, document: catalog::document_type() }
    }

    /// The called function.
    pub fn function(&self) -> Oid {
        // SAFETY: `new` promises a valid call, which has its `flinfo`.
        unsafe { (*(*self.fcinfo).flinfo).fn_oid }
    }
}

/// An `f64` as a `double precision` datum.
pub fn float8_datum(value: f64) -> Datum {
    Datum::from(value.to_bits())
}
