//! Values as their type writes them.

use std::cell::RefCell;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::pg::text;

/// The output function of a type.
pub struct Output(RefCell<pg_sys::FmgrInfo>);

impl Output {
    /// That of a type, which must exist.
    pub fn of(type_oid: Oid) -> Self {
        let mut output = pg_sys::FmgrInfo::default();
        let (mut function, mut is_varlena) = (Oid::INVALID, false);
        // SAFETY: the output function of an existing type.
        unsafe {
            pg_sys::getTypeOutputInfo(type_oid, &mut function, &mut is_varlena);
            pg_sys::fmgr_info(function, &mut output);
        }
        Self(output.into())
    }

    /// The value as a `text` datum, in the current memory context.
    ///
    /// # Safety
    /// `value` must be a non-null value of the type.
    pub unsafe fn text(&self, value: Datum) -> Datum {
        // SAFETY: the caller's promise; a palloc'd string in the database's encoding, used once.
        unsafe {
            let string = pg_sys::OutputFunctionCall(&mut *self.0.borrow_mut(), value);
            let text = Datum::from(pg_sys::cstring_to_text(string));
            pg_sys::pfree(string.cast());
            text
        }
    }

    /// The value as messages show it.
    ///
    /// # Safety
    /// `value` must be a non-null value of the type.
    pub unsafe fn shown(&self, value: Datum) -> String {
        // SAFETY: the caller's promise; a NUL-terminated string.
        unsafe { text::from_cstring(pg_sys::OutputFunctionCall(&mut *self.0.borrow_mut(), value)) }
    }
}
