//! Types whose values are datums: their default B-tree order, and their text form.

use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::ffi::CStr;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::{LONGEST_VALUE, Result, undefined_function};
use crate::pg::memory::Memory;
use crate::pg::names::type_label;
use crate::pg::{catalog, lossless, text};

/// Compares values of one type under one collation.
pub struct Order {
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
            let type_oid = type_label(type_oid);
            return Err(undefined_function(format!("could not identify a comparison function for type {type_oid}"))
                .set_hint("Use a type with a default btree operator class."));
        }
        let quick = match function.to_u32() {
            pg_sys::F_BTINT4CMP => Some(Quick::Int4),
            pg_sys::F_BTINT8CMP => Some(Quick::Int8),
            _ => None,
        };
        Ok(Self { compare, less_than, collation, quick })
    }

    /// Compares two values.
    ///
    /// # Safety
    /// Both are non-null values of the order's type.
    pub unsafe fn compare(&self, a: Datum, b: Datum) -> Ordering {
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
        Self { function: output.into(), _memory: memory, is_padded }
    }

    /// The value as a `text` datum, in the current memory context.
    ///
    /// # Safety
    /// `value` is a non-null value of the type.
    pub unsafe fn text(&self, value: Datum) -> Datum {
        // SAFETY: the caller promises a value of the type; `call` returns an allocated string, freed once.
        unsafe {
            let string = self.call(value);
            let text = Datum::from(pg_sys::cstring_to_text(string));
            pg_sys::pfree(string.cast());
            text
        }
    }

    /// # Safety
    /// `value` is a non-null value of the type.
    unsafe fn call(&self, value: Datum) -> *mut std::ffi::c_char {
        // SAFETY: the caller promises a value of the type, whose output function `of` looked up. The function returns a
        // new string that ends with a NUL and may be cut.
        unsafe {
            let string = pg_sys::OutputFunctionCall(&mut *self.function.borrow_mut(), value);
            if self.is_padded {
                let bytes = CStr::from_ptr(string).to_bytes();
                let end = bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
                *string.add(end) = 0;
            }
            string
        }
    }

    /// The value as its output function writes it, in the current memory context.
    ///
    /// # Safety
    /// `value` is a non-null value of the type, and `'a` ends before that context is reset.
    pub unsafe fn written<'a>(&self, value: Datum) -> Result<Cow<'a, str>> {
        // SAFETY: the caller promises a value of the type; `call` returns a string that ends with a NUL.
        lossless::decode(unsafe { CStr::from_ptr(self.call(value)) }.to_bytes())
    }

    /// The value for messages, shortened if it is long.
    ///
    /// # Safety
    /// `value` is a non-null value of the type.
    pub unsafe fn shown(&self, value: Datum) -> String {
        // SAFETY: the caller promises a value of the type; `call` returns a string that ends with a NUL. It is copied
        // before its memory is reset.
        text::beginning(unsafe { CStr::from_ptr(self.call(value)) }.to_bytes(), LONGEST_VALUE)
    }
}
