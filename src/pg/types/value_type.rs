//! Types whose values are datums: their default B-tree order, and their text form.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::ffi::CStr;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::{LONGEST_VALUE, Result, undefined_function};
use crate::pg::memory::Memory;
use crate::pg::names::type_label;
use crate::pg::typed_value::TypedValue;
use crate::pg::{catalog, lossless, text};

/// Compares values of one type under one collation.
pub struct Order {
    type_oid: Oid,
    compare: *mut pg_sys::FmgrInfo,
    /// The operator by which a sort gives the same order.
    pub(in crate::pg) less_than: Oid,
    collation: Oid,
    quick: Option<Quick>,
}

/// Numbers that are compared without a function call.
#[derive(Clone, Copy)]
enum Quick {
    Int4,
    Int8,
}

impl Order {
    /// The order of `type_oid`. An error if it has no default B-tree operator class.
    pub fn of(type_oid: Oid, collation: Oid) -> Result<Self> {
        let flags = pg_sys::TYPECACHE_CMP_PROC_FINFO | pg_sys::TYPECACHE_LT_OPR;
        // SAFETY: the type cache keeps its entry, with the FmgrInfo, for the session.
        let (compare, function, less_than) = unsafe {
            let entry = pg_sys::lookup_type_cache(type_oid, flags as i32);
            let compare = &raw mut (*entry).cmp_proc_finfo;
            (compare, (*compare).fn_oid, (*entry).lt_opr)
        };
        if [function, less_than].contains(&Oid::INVALID) {
            let label = type_label(type_oid);
            return Err(undefined_function(format!("could not identify a comparison function for type {label}"))
                .set_hint("Use a type with a default btree operator class."));
        }
        let quick = match function.to_u32() {
            pg_sys::F_BTINT4CMP => Some(Quick::Int4),
            pg_sys::F_BTINT8CMP => Some(Quick::Int8),
            _ => None,
        };
        Ok(Self { type_oid, compare, less_than, collation, quick })
    }

    /// Compares two values, which must be of the order's type.
    pub fn compare(&self, a: TypedValue, b: TypedValue) -> Ordering {
        // SAFETY: `of_type` checks the types of both values.
        unsafe { self.compare_datums(a.of_type(self.type_oid), b.of_type(self.type_oid)) }
    }

    /// Compares two values.
    ///
    /// # Safety
    /// Both are non-null values of the order's type.
    pub unsafe fn compare_datums(&self, a: Datum, b: Datum) -> Ordering {
        match self.quick {
            Some(Quick::Int4) => (a.value() as i32).cmp(&(b.value() as i32)),
            Some(Quick::Int8) => (a.value() as i64).cmp(&(b.value() as i64)),
            None => {
                // SAFETY: the caller promises values of the type for which `of` found this function.
                let result = unsafe { pg_sys::FunctionCall2Coll(self.compare, self.collation, a, b) };
                (result.value() as i32).cmp(&0)
            }
        }
    }
}

/// The output function of a type. It returns a `char(n)` without padding, like a cast to text.
pub struct Output {
    type_oid: Oid,
    function: RefCell<pg_sys::FmgrInfo>,
    /// Memory for the state that the function keeps between calls.
    _memory: Memory,
    is_padded: bool,
}

impl Output {
    /// The output function of an existing type.
    pub fn of(type_oid: Oid) -> Self {
        let mut output = pg_sys::FmgrInfo::default();
        let (mut function, mut is_varlena) = (Oid::INVALID, false);
        let memory = Memory::scratch(c"minlsh output");
        // SAFETY: PostgreSQL looks up the output function, which keeps its state in the current context, `memory`.
        memory.run(|| unsafe {
            pg_sys::getTypeOutputInfo(type_oid, &mut function, &mut is_varlena);
            pg_sys::fmgr_info(function, &mut output);
        });
        let is_padded = catalog::base_type(type_oid) == pg_sys::BPCHAROID;
        Self { type_oid, function: output.into(), _memory: memory, is_padded }
    }

    /// Calls `read` with the bytes that the function writes, in the database's encoding, in the current memory context.
    /// The value must be of the function's type.
    pub fn with_bytes<T>(&self, value: TypedValue, read: impl FnOnce(&CStr) -> T) -> T {
        // SAFETY: `of_type` checks that the value has the type whose output function `of` looked up. The function
        // returns a new string that ends with a NUL and may be cut.
        read(unsafe {
            let string = pg_sys::OutputFunctionCall(&mut *self.function.borrow_mut(), value.of_type(self.type_oid));
            if self.is_padded {
                let bytes = CStr::from_ptr(string).to_bytes();
                let end = bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
                *string.add(end) = 0;
            }
            CStr::from_ptr(string)
        })
    }

    /// Calls `read` with the value as a text.
    pub fn with_text<T>(&self, value: TypedValue, read: impl FnOnce(&str) -> Result<T>) -> Result<T> {
        self.with_bytes(value, |bytes| read(&lossless::decode(bytes.to_bytes())?))
    }

    /// The value as a `text` datum, in the current memory context.
    pub fn text(&self, value: TypedValue) -> Datum {
        // SAFETY: the string is copied, and is then freed once.
        self.with_bytes(value, |string| unsafe {
            let text = Datum::from(pg_sys::cstring_to_text(string.as_ptr()));
            pg_sys::pfree(string.as_ptr().cast_mut().cast());
            text
        })
    }

    /// The value for messages, shortened if it is long.
    pub fn shown(&self, value: TypedValue) -> String {
        self.with_bytes(value, |bytes| text::beginning(bytes.to_bytes(), LONGEST_VALUE))
    }
}

impl TypedValue<'_> {
    /// Calls `read` with the value as a text, by the output function of its type; a `char(n)` without its padding.
    pub fn with_text<T>(self, read: impl FnOnce(&str) -> Result<T>) -> Result<T> {
        Output::of(self.type_oid()).with_text(self, read)
    }

    /// The value as a text, in the current memory context.
    pub fn to_text(self) -> TypedValue<'static> {
        // SAFETY: `Output::text` returns a text.
        unsafe { TypedValue::new(Output::of(self.type_oid()).text(self), pg_sys::TEXTOID) }
    }

    /// The value, for messages.
    pub fn shown(self) -> String {
        Output::of(self.type_oid()).shown(self)
    }

    /// The value as a result of type `type_oid`.
    pub fn as_result(self, type_oid: Oid) -> Datum {
        match self.integer() {
            _ if self.is_of(type_oid) => self.datum(),
            Some(number) if type_oid == pg_sys::INT8OID => Datum::from(number),
            _ => self.to_text().datum(),
        }
    }
}
