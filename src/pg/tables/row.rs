//! A row in a slot: of an open table, or as the executor hands it on.

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Datum};

use crate::pg::memory::in_transaction;
use crate::pg::open::Open;

/// The answer of a visitor of rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Continue {
    /// The next one.
    Yes,
    /// Enough.
    No,
}

/// A row: a slot.
pub struct Row {
    slot: *mut pg_sys::TupleTableSlot,
    owned: bool,
}

impl Row {
    /// An empty row of a table's kind.
    pub fn empty(table: &Open) -> Self {
        // SAFETY: an open table; `Drop` frees the slot, which lives in the transaction's memory.
        let slot = in_transaction(|| unsafe {
            let slot = pg_sys::table_slot_create(table.raw(), std::ptr::null_mut());
            (*slot).tts_tableOid = table.oid();
            slot
        });
        Self { slot, owned: true }
    }

    /// # Safety
    /// `slot` must be a slot that outlives the `Row`.
    pub unsafe fn borrowed(slot: *mut pg_sys::TupleTableSlot) -> Self {
        Self { slot, owned: false }
    }

    /// The slot, for the other islands.
    pub fn raw(&self) -> *mut pg_sys::TupleTableSlot {
        self.slot
    }

    /// The value of column `number` (from 1), valid until the row is another; `None` for NULL, and
    /// for a column that there is not.
    pub fn value(&self, number: i16) -> Option<Datum> {
        // SAFETY: after slot_getsomeattrs_int the first `number` attributes are in the arrays.
        unsafe {
            let slot = self.slot;
            if number < 1 || i32::from(number) > (*(*slot).tts_tupleDescriptor).natts {
                return None;
            }
            if (*slot).tts_nvalid < number {
                pg_sys::slot_getsomeattrs_int(slot, number.into());
            }
            let index = number as usize - 1;
            (!*(*slot).tts_isnull.add(index)).then(|| *(*slot).tts_values.add(index))
        }
    }

    /// True if it is one of that table.
    pub fn is_of(&self, table: &Open) -> bool {
        // SAFETY: every slot has this field, which `empty` sets, and whoever puts a row of a table into a slot.
        unsafe { (*self.slot).tts_tableOid == table.oid() }
    }

    /// The place at which it is stored, if it was fetched from a table.
    pub fn place(&self) -> pg_sys::ItemPointerData {
        // SAFETY: every slot has this field, which is invalid unless the row was fetched from a table.
        unsafe { (*self.slot).tts_tid }
    }

    /// Fills the row with `values`, one for each column, `None` for NULL.
    ///
    /// # Safety
    /// The values are of the columns' types, and live as long as they are in the row.
    pub unsafe fn fill(&self, values: &[Option<Datum>]) {
        // SAFETY: the values are of the columns' types, as # Safety asks, and no more are stored than the arrays of the
        // slot have entries, one for each column of its descriptor.
        unsafe {
            let slot = self.slot;
            if let Some(clear) = (*(*slot).tts_ops).clear {
                pg_guard_ffi_boundary(|| clear(slot));
            }
            let count = values.len().min((*(*slot).tts_tupleDescriptor).natts as usize);
            for (index, value) in values[..count].iter().enumerate() {
                *(*slot).tts_values.add(index) = value.unwrap_or(Datum::from(0));
                *(*slot).tts_isnull.add(index) = value.is_none();
            }
            pg_sys::ExecStoreVirtualTuple(slot);
        }
    }
}

impl Drop for Row {
    fn drop(&mut self) {
        if self.owned && !std::thread::panicking() {
            // SAFETY: made by `empty`, dropped once.
            unsafe { pg_sys::ExecDropSingleTupleTableSlot(self.slot) };
        }
    }
}
