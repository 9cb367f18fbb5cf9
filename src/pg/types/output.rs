//! Values as their type writes them.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::CStr;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::shortened;
use crate::pg::catalog;
use crate::pg::memory::Memory;

/// The output function of a type. A `char(n)` comes without its padding, as a cast to text has it.
pub struct Output {
    function: RefCell<pg_sys::FmgrInfo>,
    /// Memory for what the function keeps from one call to the next.
    _memory: Memory,
    is_padded: bool,
}

impl Output {
    /// That of a type, which must exist.
    pub fn of(type_oid: Oid) -> Self {
        let mut output = pg_sys::FmgrInfo::default();
        let (mut function, mut is_varlena) = (Oid::INVALID, false);
        let memory = Memory::scratch(c"minlsh output");
        // SAFETY: the output function of an existing type; what it keeps it has in the memory that is current here.
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
    /// `value` must be a non-null value of the type.
    pub unsafe fn text(&self, value: Datum) -> Datum {
        // SAFETY: `value` is of the type, as # Safety asks; `call` gives a palloc'd string, freed once.
        unsafe {
            let string = self.call(value);
            let text = Datum::from(pg_sys::cstring_to_text(string));
            pg_sys::pfree(string.cast());
            text
        }
    }

    /// # Safety
    /// `value` must be a non-null value of the type.
    unsafe fn call(&self, value: Datum) -> *mut std::ffi::c_char {
        // SAFETY: `value` is of the type whose output function `of` has looked up, as # Safety asks. The string is new,
        // NUL-terminated, and ours to cut.
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

    /// The value as its type writes it, in the current memory context.
    ///
    /// # Safety
    /// `value` must be a non-null value of the type, and `'a` end before that context is reset.
    pub unsafe fn written<'a>(&self, value: Datum) -> Cow<'a, str> {
        // SAFETY: a value of the type whose output function this is, which gives a NUL-terminated string.
        unsafe { CStr::from_ptr(self.call(value)) }.to_string_lossy()
    }

    /// The value as messages show it: the beginning of one that is long.
    ///
    /// # Safety
    /// `value` must be a non-null value of the type.
    pub unsafe fn shown(&self, value: Datum) -> String {
        // SAFETY: a value of the type; the string is copied before its memory can be reset.
        shortened(&unsafe { self.written(value) }).into_owned()
    }
}
