//! Reads and writes rows of an open table by its access method, as core does with catalogs and TOAST tables: without
//! SQL, plans, rules, policies or triggers.
//!
//! PostgreSQL's resource owner tracks references, pins and scans. They are dropped in order on return, and by the abort
//! after an ERROR.

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

/// The options of a scan that reads a whole table, not synchronised with other scans.
pub const SEQUENTIAL: u32 =
    pg_sys::ScanOptions::SO_TYPE_SEQSCAN | pg_sys::ScanOptions::SO_ALLOW_STRAT | pg_sys::ScanOptions::SO_ALLOW_PAGEMODE;

impl Open {
    /// Its indexes, locked and opened.
    pub fn indexes(&self, lock: Lock) -> Vec<OpenIndex> {
        // SAFETY: the table is open; PostgreSQL returns a copy of the list.
        let list = unsafe { list::oids(pg_sys::RelationGetIndexList(self.raw())) };
        list.into_iter().filter_map(|oid| Self::relation(oid, lock).map(OpenIndex)).collect()
    }

    /// The index that makes a column unique, if there is one.
    pub fn key_index(&self, column: i16, lock: Lock) -> Option<OpenIndex> {
        self.indexes(lock).into_iter().find(|index| index.is_key_of(column))
    }

    /// Calls `visit` with each row that the snapshot sees, in physical order, until it returns that it has enough.
    pub fn each(&self, snapshot: &Snapshot, visit: impl FnMut(&Row) -> Result<Continue>) -> Result<()> {
        let row = Row::empty(self);
        // SAFETY: the table is open, and its access method has all functions; `snapshot` is registered. The scan ends
        // before both.
        unsafe {
            let methods = &*(*self.raw()).rd_tableam;
            let (begin, next, end) = (methods.scan_begin, methods.scan_getnextslot, methods.scan_end);
            let (Some(begin), Some(next), Some(end)) = (begin, next, end) else { return Ok(()) };
            let (keys, parallel) = (std::ptr::null_mut(), std::ptr::null_mut());
            let scan = pg_guard_ffi_boundary(|| begin(self.raw(), snapshot.raw(), 0, keys, parallel, SEQUENTIAL));
            let forward = pg_sys::ScanDirection::ForwardScanDirection;
            let next = || pg_guard_ffi_boundary(|| next(scan, forward, row.raw()));
            let result = row.each(next, visit);
            pg_guard_ffi_boundary(|| end(scan));
            result
        }
    }

    /// Replaces each of `places`, which an index has, by the `ctid` of the row version that the snapshot sees there.
    /// They differ for a row that was updated without new index entries.
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
        // SAFETY: the table is open, and the row belongs to it, as just asserted; nothing is dropped in the closure.
        unsafe {
            let place = &raw mut (*row.raw()).tts_tid;
            let result = pg_guard_ffi_boundary(|| versions::tuple_delete(self.raw(), place));
            result.into_iter().for_each(|result| self.check_written(result));
        }
    }

    /// Raises an ERROR if a row could not be written because someone has written it since it was found. Only the
    /// table's owner can do so.
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

/// Fetches rows that an index points to, as a snapshot sees them.
pub struct RowsAt<'a> {
    table: &'a Open,
    snapshot: &'a Snapshot,
    methods: &'a pg_sys::TableAmRoutine,
    state: *mut pg_sys::IndexFetchTableData,
    row: Row,
}

impl<'a> RowsAt<'a> {
    /// Starts fetching from a table; `None` if its access method does not support it.
    pub fn of(table: &'a Open, snapshot: &'a Snapshot) -> Option<Self> {
        // SAFETY: an open table has the functions of its access method.
        let methods = unsafe { &*(*table.raw()).rd_tableam };
        // SAFETY: the table is open; `drop` ends what this begins.
        let state = in_transaction(|| unsafe { pg_guard_ffi_boundary(|| versions::index_fetch_begin(table.raw())) })?;
        Some(Self { table, snapshot, methods, state, row: Row::empty(table) })
    }

    /// The last row that was fetched.
    pub fn last(&self) -> &Row {
        &self.row
    }

    /// Fetches the row at `place`, valid until the next call.
    pub fn at(&mut self, mut place: pg_sys::ItemPointerData) -> Option<&Row> {
        check_interrupts();
        let fetch = self.methods.index_fetch_tuple?;
        let (mut again, mut all_dead) = (false, false);
        let (state, snapshot, slot) = (self.state, self.snapshot.raw(), self.row.raw());
        // SAFETY: the slot has the columns of the open table, and the snapshot is registered.
        let found =
            unsafe { pg_guard_ffi_boundary(|| fetch(state, &mut place, snapshot, slot, &mut again, &mut all_dead)) };
        found.then_some(&self.row)
    }

    /// Fetches the row version that is stored at `place`, where a scan has found it; valid until the next call.
    /// [`Self::at`] keeps the page and is faster for versions of one page, but does not find a version that an update
    /// made without new index entries.
    pub fn version(&mut self, mut place: pg_sys::ItemPointerData) -> Option<&Row> {
        let fetch = self.methods.tuple_fetch_row_version?;
        let (table, snapshot, slot) = (self.table.raw(), self.snapshot.raw(), self.row.raw());
        // SAFETY: the slot has the columns of the open table, and the snapshot is registered.
        let found = unsafe { pg_guard_ffi_boundary(|| fetch(table, &mut place, snapshot, slot)) };
        found.then_some(&self.row)
    }
}

impl Drop for RowsAt<'_> {
    fn drop(&mut self) {
        if let Some(end) = self.methods.index_fetch_end.filter(|_| !std::thread::panicking()) {
            // SAFETY: `of` began it, and it is ended once, while the table is open.
            unsafe { pg_guard_ffi_boundary(|| end(self.state)) };
        }
    }
}
