//! A row as the executor hands it on.

use pgrx::pg_sys::{self, Datum};

/// A row in a slot, for as long as it is shown.
pub struct Row {
    slot: *mut pg_sys::TupleTableSlot,
}

impl Row {
    /// # Safety
    /// `slot` holds a row while the `Row` lives.
    pub unsafe fn of(slot: *mut pg_sys::TupleTableSlot) -> Self {
        Self { slot }
    }

    /// The slot.
    pub fn slot(&self) -> *mut pg_sys::TupleTableSlot {
        self.slot
    }

    /// The value of column `column` (from 0), `None` for NULL and where there is no such column.
    pub fn datum(&self, column: usize) -> Option<Datum> {
        // SAFETY: the slot holds a row; after `slot_getsomeattrs_int` the arrays have entries for
        // the columns asked for.
        unsafe {
            let slot = &mut *self.slot;
            if column >= (*slot.tts_tupleDescriptor).natts as usize {
                return None;
            }
            if slot.tts_nvalid as usize <= column {
                pg_sys::slot_getsomeattrs_int(slot, column as i32 + 1);
            }
            (!*slot.tts_isnull.add(column)).then(|| *slot.tts_values.add(column))
        }
    }
}
