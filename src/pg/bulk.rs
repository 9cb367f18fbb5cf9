//! Many rows at once: into a table without indexes yet, as COPY writes them; and a table's contents
//! thrown away, as TRUNCATE does.

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Datum, Oid};

use crate::pg::open::Open;
use crate::pg::relation::Lock;
use crate::pg::row::Row;

/// Rows that are written together: they share pages and WAL records. More gain nothing.
const BATCH: usize = 64;

/// Writes rows to the end of a table.
pub struct Bulk<'a> {
    table: &'a Open,
    rows: Vec<Row>,
    used: usize,
    state: pg_sys::BulkInsertState,
}

impl<'a> Bulk<'a> {
    /// Begins to write to `table`, which has no index that is kept meanwhile.
    pub fn new(table: &'a Open) -> Self {
        let rows = (0..BATCH).map(|_| Row::empty(table)).collect();
        // SAFETY: freed by `finish`, or with its memory context after an ERROR.
        let state = unsafe { pg_sys::GetBulkInsertState() };
        Self { table, rows, used: 0, state }
    }

    /// Adds a row: one value for each column, copied; `None` for NULL.
    ///
    /// # Safety
    /// The values are of the columns' types.
    pub unsafe fn push(&mut self, values: &[Option<Datum>]) {
        let row = &self.rows[self.used];
        // SAFETY: the caller's promise; the values are copied at once.
        unsafe { row.fill(values) };
        row.keep();
        self.used += 1;
        if self.used == self.rows.len() {
            self.flush();
        }
    }

    /// Writes what is left.
    pub fn finish(mut self) {
        self.flush();
        // SAFETY: made by `new`, freed once; what was written is there for the next command.
        unsafe {
            pg_sys::FreeBulkInsertState(self.state);
            pg_sys::CommandCounterIncrement();
        }
    }

    fn flush(&mut self) {
        let mut slots: Vec<_> = self.rows[..self.used].iter().map(Row::raw).collect();
        self.used = 0;
        if slots.is_empty() {
            return;
        }
        let (slots, count) = (slots.as_mut_ptr(), slots.len() as i32);
        let options = pg_sys::TABLE_INSERT_SKIP_FSM as i32;
        // SAFETY: an open table under lock, and `count` rows of its kind.
        unsafe {
            let Some(insert) = (*(*self.table.raw()).rd_tableam).multi_insert else { return };
            let (table, command) = (self.table.raw(), pg_sys::GetCurrentCommandId(true));
            let state = self.state;
            pg_guard_ffi_boundary(|| insert(table, slots, count, command, options, state));
        }
    }
}

/// Throws away the contents of a table and its indexes, and gives it that persistence. The caller
/// holds ACCESS EXCLUSIVE. A rollback brings all back.
pub fn empty(table: &Open, persistence: u8) {
    // SAFETY: an open table under ACCESS EXCLUSIVE lock, and its TOAST table likewise.
    unsafe {
        pg_sys::CheckTableNotInUse(table.raw(), c"TRUNCATE".as_ptr());
        new_file(table, persistence);
        if let Some(toast) = Open::relation(table.class().reltoastrelid, Lock::Exclusive) {
            new_file(&toast, persistence);
        }
        rebuild_indexes(table.oid(), persistence);
        pg_sys::pgstat_count_truncate(table.raw());
    }
}

/// # Safety
/// `table` is open under ACCESS EXCLUSIVE lock, and not in use otherwise.
unsafe fn new_file(table: &Open, persistence: u8) {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(feature = "pg15")]
        pg_sys::RelationSetNewRelfilenode(table.raw(), persistence as i8 as _);
        #[cfg(not(feature = "pg15"))]
        pg_sys::RelationSetNewRelfilenumber(table.raw(), persistence as i8 as _);
    }
}

/// Builds the indexes of a table again, as its owner, like REINDEX TABLE.
pub fn rebuild_indexes(table: Oid, persistence: u8) {
    let kind = match persistence {
        b'u' => pg_sys::REINDEX_REL_FORCE_INDEXES_UNLOGGED,
        b'p' => pg_sys::REINDEX_REL_FORCE_INDEXES_PERMANENT,
        _ => 0,
    };
    let flags = (pg_sys::REINDEX_REL_PROCESS_TOAST | kind) as i32;
    let parameters = pg_sys::ReindexParams::default();
    // SAFETY: a table that the caller has locked; the parameters are only read.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        pg_sys::reindex_relation(table, flags, (&raw const parameters).cast_mut());
        #[cfg(any(feature = "pg17", feature = "pg18"))]
        pg_sys::reindex_relation(std::ptr::null(), table, flags, &parameters);
        pg_sys::CommandCounterIncrement();
    }
}
