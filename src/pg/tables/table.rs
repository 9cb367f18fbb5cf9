//! The rows of an open table, read and written by its own access functions as core does with
//! catalogs and TOAST tables: no SQL, no plan, no rule, policy or trigger.
//!
//! References, pins and scans belong to PostgreSQL's resource owner: dropped in order on the way
//! back, and by the abort after an ERROR.

use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::prelude::*;

use crate::error::{Result, error, raise};
use crate::pg::list;
use crate::pg::memory::in_transaction;
use crate::pg::open::Open;
use crate::pg::open_index::OpenIndex;
use crate::pg::relation::Lock;
use crate::pg::reserve::check_interrupts;
use crate::pg::row::{Continue, Row};
use crate::pg::snapshot::Snapshot;
use crate::pg::versions;

impl Open {
    /// Its indexes, locked and opened.
    pub fn indexes(&self, lock: Lock) -> Vec<OpenIndex> {
        // SAFETY: an open table; the list is a copy.
        let list = unsafe { list::oids(pg_sys::RelationGetIndexList(self.raw())) };
        list.into_iter().filter_map(|oid| Self::relation(oid, lock).map(OpenIndex)).collect()
    }

    /// The index that tells its rows apart by a column, if there is one.
    pub fn key_index(&self, column: i16, lock: Lock) -> Option<OpenIndex> {
        self.indexes(lock).into_iter().find(|index| index.is_key_of(column))
    }

    /// Calls `visit` with each row that the snapshot sees, in the order in which they are stored,
    /// until it says that it has enough.
    pub fn each(&self, snapshot: &Snapshot, visit: impl FnMut(&Row) -> Result<Continue>) -> Result<()> {
        let row = Row::empty(self);
        let flags = pg_sys::ScanOptions::SO_TYPE_SEQSCAN
            | pg_sys::ScanOptions::SO_ALLOW_STRAT
            | pg_sys::ScanOptions::SO_ALLOW_PAGEMODE;
        // SAFETY: an open table whose access method has all functions; the snapshot is held. The
        // scan ends before both.
        unsafe {
            let methods = &*(*self.raw()).rd_tableam;
            let (begin, next, end) = (methods.scan_begin, methods.scan_getnextslot, methods.scan_end);
            let (Some(begin), Some(next), Some(end)) = (begin, next, end) else { return Ok(()) };
            let (keys, parallel) = (std::ptr::null_mut(), std::ptr::null_mut());
            let scan = pg_guard_ffi_boundary(|| begin(self.raw(), snapshot.raw(), 0, keys, parallel, flags));
            let forward = pg_sys::ScanDirection::ForwardScanDirection;
            let next = || pg_guard_ffi_boundary(|| next(scan, forward, row.raw()));
            let result = row.each(next, visit);
            pg_guard_ffi_boundary(|| end(scan));
            result
        }
    }

    /// Makes of `places`, which an index has, those of the rows that the snapshot sees there: that of
    /// a row which was updated without new index entries is another.
    pub fn resolve(&self, snapshot: &Snapshot, places: &mut Vec<pg_sys::ItemPointerData>) {
        let Some(mut rows) = RowsAt::of(self, snapshot) else { return places.clear() };
        places.retain_mut(|place| {
            let row = rows.at(*place);
            row.inspect(|row| *place = row.place()).is_some()
        });
    }

    /// Deletes a row that was found in this table.
    pub fn delete(&self, row: &Row) {
        assert!(row.is_of(self), "a row of the table");
        // SAFETY: an open table, and a row of it, as was asserted; nothing is dropped in the closure.
        unsafe {
            let place = &raw mut (*row.raw()).tts_tid;
            let result = pg_guard_ffi_boundary(|| versions::tuple_delete(self.raw(), place));
            result.into_iter().for_each(|result| self.check_written(result));
        }
    }

    /// Raises an ERROR if a row could not be written, for somebody else has written it since it was found: whoever owns
    /// the table may.
    fn check_written(&self, result: pg_sys::TM_Result::Type) {
        let (code, message) = match result {
            pg_sys::TM_Result::TM_Ok => return,
            pg_sys::TM_Result::TM_Updated | pg_sys::TM_Result::TM_Deleted => (
                PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
                format!("a row of table \"{}\" was changed by another transaction", self.name()),
            ),
            _ => (
                PgSqlErrorCode::ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION,
                format!("a row of table \"{}\" was changed by the same command", self.name()),
            ),
        };
        raise(
            error(code, message)
                .set_hint("Run the statement again. Do not write to the tables that minlsh keeps meanwhile."),
        );
    }
}

/// The rows at places that an index has, as a snapshot sees them.
pub struct RowsAt<'a> {
    table: &'a Open,
    snapshot: &'a Snapshot,
    methods: &'a pg_sys::TableAmRoutine,
    state: *mut pg_sys::IndexFetchTableData,
    row: Row,
}

impl<'a> RowsAt<'a> {
    /// Those of a table; `None` if its access method has none.
    pub fn of(table: &'a Open, snapshot: &'a Snapshot) -> Option<Self> {
        // SAFETY: an open table has the functions of its access method as long as it is open.
        let methods = unsafe { &*(*table.raw()).rd_tableam };
        // SAFETY: an open table; ended by `Drop`.
        let state = in_transaction(|| unsafe { pg_guard_ffi_boundary(|| versions::index_fetch_begin(table.raw())) })?;
        Some(Self { table, snapshot, methods, state, row: Row::empty(table) })
    }

    /// The row that was asked for last, if there was one.
    pub fn last(&self) -> &Row {
        &self.row
    }

    /// The row at a place, until the next one is asked for.
    pub fn at(&mut self, mut place: pg_sys::ItemPointerData) -> Option<&Row> {
        check_interrupts();
        let fetch = self.methods.index_fetch_tuple?;
        let (mut again, mut all_dead) = (false, false);
        let (state, snapshot, slot) = (self.state, self.snapshot.raw(), self.row.raw());
        // SAFETY: a slot for the rows of the open table, and a snapshot that is held.
        let found =
            unsafe { pg_guard_ffi_boundary(|| fetch(state, &mut place, snapshot, slot, &mut again, &mut all_dead)) };
        found.then_some(&self.row)
    }

    /// The very version of a row that is stored at a place, as a scan has found it there: until the next one is asked
    /// for. Versions of one page take less time by [`Self::at`], which keeps the page, but finds none that was made
    /// by an update without new index entries.
    pub fn version(&mut self, mut place: pg_sys::ItemPointerData) -> Option<&Row> {
        let fetch = self.methods.tuple_fetch_row_version?;
        let (table, snapshot, slot) = (self.table.raw(), self.snapshot.raw(), self.row.raw());
        // SAFETY: an open table, a slot for its rows, and a snapshot that is held.
        let found = unsafe { pg_guard_ffi_boundary(|| fetch(table, &mut place, snapshot, slot)) };
        found.then_some(&self.row)
    }
}

impl Drop for RowsAt<'_> {
    fn drop(&mut self) {
        if let Some(end) = self.methods.index_fetch_end.filter(|_| !std::thread::panicking()) {
            // SAFETY: begun by `of`, ended once, while the table is open.
            unsafe { pg_guard_ffi_boundary(|| end(self.state)) };
        }
    }
}
