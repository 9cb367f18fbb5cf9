//! Many rows at once, as COPY writes them; and a table's contents thrown away, as TRUNCATE does.

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Datum, Oid};

use crate::pg::memory::Memory;
use crate::pg::open::Open;
use crate::pg::relation::Lock;
use crate::pg::row::Row;
use crate::pg::versions;

/// Rows that are written together: they share pages and WAL records. More gain nothing.
const BATCH: usize = 64;

/// Writes rows to the end of a table that has no index that is kept meanwhile, in batches.
pub struct Bulk<'a> {
    table: &'a Open,
    rows: Vec<Row>,
    used: usize,
    place: pg_sys::BulkInsertState,
    /// Memory for one batch.
    batch: Memory,
    /// The memory of the state of bulk insertion.
    _lasting: Memory,
}

impl<'a> Bulk<'a> {
    /// Begins to write.
    pub fn at_end(table: &'a Open) -> Self {
        let (lasting, batch) = (Memory::scratch(c"minlsh rows"), Memory::scratch(c"minlsh batch"));
        // SAFETY: freed by `finish`, or with its memory; a pin that it holds is given back by then, or by an abort.
        let place = lasting.run(|| unsafe { pg_sys::GetBulkInsertState() });
        Self { table, rows: Vec::new(), used: 0, place, batch, _lasting: lasting }
    }

    /// Adds a row: one value for each column, copied; `None` for NULL.
    ///
    /// # Safety
    /// The values are of the columns' types.
    pub unsafe fn push(&mut self, values: &[Option<Datum>]) {
        if self.used == self.rows.len() {
            self.rows.push(Row::empty(self.table));
        }
        let row = &self.rows[self.used];
        // SAFETY: the caller's promise; the values are copied at once.
        unsafe { row.fill(values) };
        row.keep();
        self.used += 1;
        if self.used == BATCH {
            self.flush();
        }
    }

    /// Writes what is left.
    pub fn finish(mut self) {
        self.flush();
        // SAFETY: made by `at_end`, used and freed once; what was written is there for the next command.
        unsafe {
            pg_sys::FreeBulkInsertState(self.place);
            pg_sys::CommandCounterIncrement();
        }
    }

    fn flush(&mut self) {
        let mut slots: Vec<_> = self.rows[..self.used].iter().map(Row::raw).collect();
        self.used = 0;
        if slots.is_empty() {
            return;
        }
        let (table, place) = (self.table, self.place);
        self.batch.run_and_reset(|| {
            let (slots, count) = (slots.as_mut_ptr(), slots.len() as i32);
            // SAFETY: an open table under lock, and `count` rows of its kind.
            unsafe {
                let raw = table.raw();
                let Some(insert) = (*(*raw).rd_tableam).multi_insert else { return };
                let command = pg_sys::GetCurrentCommandId(true);
                let options = pg_sys::TABLE_INSERT_SKIP_FSM as _;
                pg_guard_ffi_boundary(|| insert(raw, slots, count, command, options, place));
            }
        });
    }
}

/// Throws away the contents of a table and its indexes, as TRUNCATE does. The caller holds ACCESS EXCLUSIVE. A rollback
/// brings all back.
pub fn empty(table: &Open) {
    // SAFETY: an open table under ACCESS EXCLUSIVE lock, and its TOAST table likewise.
    unsafe {
        pg_sys::CheckTableNotInUse(table.raw(), c"TRUNCATE".as_ptr());
        versions::set_new_file(table.raw());
        if let Some(toast) = Open::relation(table.class().reltoastrelid, Lock::Exclusive) {
            versions::set_new_file(toast.raw());
        }
        rebuild_indexes(table.oid());
        pg_sys::pgstat_count_truncate(table.raw());
    }
}

/// Builds the indexes of a table again, as its owner, like REINDEX TABLE.
pub fn rebuild_indexes(table: Oid) {
    let flags = pg_sys::REINDEX_REL_PROCESS_TOAST as i32;
    // SAFETY: a table that the caller has locked.
    unsafe {
        versions::reindex_relation(table, flags);
        pg_sys::CommandCounterIncrement();
    }
}
