//! Rows put aside: in memory as far as it goes, in a temporary file beyond. What was stored out of
//! line stays there.

use pgrx::pg_sys;

use crate::error::Result;
use crate::pg::memory::{in_transaction, with_files};
use crate::pg::row::Row;
use crate::pg::versions;

/// Rows of one type, read in the order in which they came.
pub struct TupleStore {
    store: *mut pg_sys::Tuplestorestate,
    /// A slot to read with, once the type of the rows is known.
    slot: *mut pg_sys::TupleTableSlot,
}

impl TupleStore {
    /// No rows yet; `memory` bytes for them.
    pub fn new(memory: usize) -> Self {
        let kilobytes = i32::try_from(memory / 1024).unwrap_or(i32::MAX).max(64);
        // SAFETY: a store in the transaction's memory, which outlives it; so does the owner of its file.
        let store =
            with_files(|| unsafe { pg_sys::tuplestore_begin_heap(false, false, kilobytes) });
        Self { store, slot: std::ptr::null_mut() }
    }

    /// The same, to be read several times: see [`Self::rewind`].
    pub fn rewindable(memory: usize) -> Self {
        let store = Self::new(memory);
        // SAFETY: an empty store.
        unsafe { pg_sys::tuplestore_set_eflags(store.store, pg_sys::EXEC_FLAG_REWIND as i32) };
        store
    }

    /// Has [`Self::each`] begin with the first row again.
    pub fn rewind(&mut self) {
        // SAFETY: a store that was made to be rewound.
        unsafe { pg_sys::tuplestore_rescan(self.store) };
    }

    /// Adds a row. All rows are of one type: that of the first.
    pub fn push(&mut self, row: &Row) {
        let types = |slot: *mut pg_sys::TupleTableSlot| {
            // SAFETY: a slot has a descriptor with so many columns.
            unsafe {
                let descriptor = (*slot).tts_tupleDescriptor;
                (0..(*descriptor).natts as usize)
                    .map(move |column| versions::attribute(descriptor, column).atttypid)
            }
        };
        if self.slot.is_null() {
            // SAFETY: a slot for rows of that type, with a copy of the descriptor, which no one else holds.
            self.slot = in_transaction(|| unsafe {
                let descriptor = pg_sys::CreateTupleDescCopy((*row.raw()).tts_tupleDescriptor);
                pg_sys::MakeSingleTupleTableSlot(descriptor, &raw const pg_sys::TTSOpsMinimalTuple)
            });
        }
        assert!(types(self.slot).eq(types(row.raw())), "a row of the type of the first");
        // SAFETY: the slot holds a row of the type by which it is read again, as was asserted; the store copies it.
        unsafe { pg_sys::tuplestore_puttupleslot(self.store, row.raw()) };
    }

    /// Calls `visit` with each row, once.
    pub fn each(&mut self, visit: &mut dyn FnMut(&Row) -> Result<()>) -> Result<()> {
        while let Some(visited) = self.with_next(|row| visit(row)) {
            visited?;
        }
        Ok(())
    }

    /// Calls `visit` with the next row; `None` behind the last one.
    pub fn with_next<T>(&mut self, visit: impl FnOnce(&Row) -> T) -> Option<T> {
        if self.slot.is_null() {
            return None;
        }
        // SAFETY: the store is read forward, into a slot for its rows, which `push` has made.
        let is_there =
            unsafe { pg_sys::tuplestore_gettupleslot(self.store, true, false, self.slot) };
        // SAFETY: the slot holds a row until the next one is read, which takes `&mut self` again.
        is_there.then(|| visit(&unsafe { Row::borrowed(self.slot) }))
    }
}

impl Drop for TupleStore {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: made in `new` and `push`, ended once; on an ERROR the abort cleans up.
            unsafe {
                if !self.slot.is_null() {
                    let descriptor = (*self.slot).tts_tupleDescriptor;
                    pg_sys::ExecDropSingleTupleTableSlot(self.slot);
                    pg_sys::FreeTupleDesc(descriptor);
                }
                pg_sys::tuplestore_end(self.store);
            }
        }
    }
}
