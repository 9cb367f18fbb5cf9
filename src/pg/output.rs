//! Values as their type writes them.

use std::cell::RefCell;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::pg::catalog;
use crate::pg::memory::Memory;
use crate::pg::text;

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
        // SAFETY: the output function of an existing type, which keeps what it makes in the memory that is current here.
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
        // SAFETY: the caller's promise; a palloc'd string in the database's encoding, used once.
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
        // SAFETY: the caller's promise; a NUL-terminated string that is ours to cut.
        unsafe {
            let string = pg_sys::OutputFunctionCall(&mut *self.function.borrow_mut(), value);
            if self.is_padded {
                let bytes = std::ffi::CStr::from_ptr(string).to_bytes();
                let end = bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
                *string.add(end) = 0;
            }
            string
        }
    }

    /// The value as messages show it.
    ///
    /// # Safety
    /// `value` must be a non-null value of the type.
    pub unsafe fn shown(&self, value: Datum) -> String {
        // SAFETY: the caller's promise; a NUL-terminated string.
        unsafe { text::from_cstring(self.call(value)) }
    }
}
