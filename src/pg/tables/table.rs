//! Reads and writes rows of an open table by its access method, as core does with catalogs and TOAST tables: without
//! SQL, plans, rules, policies or triggers.
//!
//! PostgreSQL's resource owner tracks references, pins and scans. They are dropped in order on return, and by the abort
//! after an ERROR.

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

use crate::error::{Result, error, raise};
use crate::pg::catalog::{function_of_operator, operator_of_family};
use crate::pg::index::{IndexColumn, SearchOperator};
use crate::pg::list;
use crate::pg::memory::{Memory, in_transaction};
use crate::pg::open::Open;
use crate::pg::relation::Lock;
use crate::pg::reserve::check_interrupts;
use crate::pg::row::{Continue, Row};
use crate::pg::snapshot::Snapshot;
use crate::pg::typed_value::TypedValue;
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

    /// Calls `visit` with each row that the snapshot sees, in physical order.
    pub fn each(&self, snapshot: &Snapshot, visit: impl FnMut(&Row) -> Result<()>) -> Result<()> {
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

/// An open index: its properties, and searches for rows.
pub struct OpenIndex(Open);

impl std::ops::Deref for OpenIndex {
    type Target = Open;

    fn deref(&self) -> &Open {
        &self.0
    }
}

impl OpenIndex {
    pub fn form(&self) -> &pg_sys::FormData_pg_index {
        // SAFETY: an open index has its row of `pg_index`.
        unsafe { &*(*self.raw()).rd_index }
    }

    /// True if it makes `column` alone unique at any time, as a key must be.
    pub fn is_key_of(&self, column: i16) -> bool {
        let form = self.form();
        let is_btree = self.class().relam == pg_sys::BTREE_AM_OID;
        let is_unique = form.indisunique && form.indimmediate && form.indisvalid;
        is_btree && is_unique && self.is_plain() && self.only_column() == Some(column)
    }

    /// The only column of its key; `None` if there are several, or an expression.
    pub fn only_column(&self) -> Option<i16> {
        let column = IndexColumn::of(self, 0).attribute;
        (self.form().indnkeyatts == 1 && column != 0).then_some(column)
    }

    /// True if it has all rows, and no expressions.
    pub fn is_plain(&self) -> bool {
        let is_whole = self.lacks(pg_sys::Anum_pg_index_indpred);
        is_whole && self.lacks(pg_sys::Anum_pg_index_indexprs) && !self.form().indisexclusion
    }

    /// Reads the row for which this unique B-tree of `table` has `key`. It is on a column of the key's type.
    pub fn equal_row<T>(
        &self,
        table: &Open,
        key: TypedValue,
        snapshot: &Snapshot,
        mut read: impl FnMut(&Row) -> Result<T>,
    ) -> Result<Option<T>> {
        let strategy = pg_sys::BTEqualStrategyNumber as u16;
        let IndexColumn { family, input_type, attribute, .. } = IndexColumn::of(self, 0);
        assert_eq!(self.form().indrelid, table.oid(), "an index of the table");
        let column = table.attributes().find(|column| column.attnum == attribute);
        let key = key.of_type(column.map_or(Oid::INVALID, |column| column.atttypid));
        let equal = operator_of_family(family, input_type, input_type, strategy as i16);
        let function = function_of_operator(equal);
        let operator = SearchOperator { strategy, right: Oid::INVALID, function };
        let mut found = None;
        let visit = |row: &Row| {
            found = Some(read(row)?);
            Ok(Continue::No)
        };
        // SAFETY: the index is one of the table, as was just asserted. The operator is its own for values of the
        // column, whose type `of_type` has checked.
        unsafe { self.each_match(table, operator, key, snapshot, visit) }?;
        Ok(found)
    }

    /// Calls `visit` with the rows of `table` that the index finds for `column <operator> value`.
    ///
    /// # Safety
    /// The index belongs to `table`. The operator is in its operator family, and takes `value`, which is not NULL.
    pub unsafe fn each_match(
        &self,
        table: &Open,
        operator: SearchOperator,
        value: Datum,
        snapshot: &Snapshot,
        visit: impl FnMut(&Row) -> Result<Continue>,
    ) -> Result<()> {
        // Memory that the index allocates during the search.
        let (memory, row) = (Memory::scratch(c"minlsh search"), Row::empty(table));
        let SearchOperator { strategy, right, function } = operator;
        let collation = IndexColumn::of(self, 0).collation;
        let mut key = pg_sys::ScanKeyData::default();
        // SAFETY: the caller promises the index's table and operator. Both relations stay open, and the snapshot stays
        // registered, until the scan ends below. It copies its key.
        let scan = memory.run(|| unsafe {
            pg_sys::ScanKeyEntryInitialize(&mut key, 0, 1, strategy, right, collation, function, value);
            let scan = versions::index_beginscan(table.raw(), self.raw(), snapshot.raw());
            pg_sys::index_rescan(scan, &mut key, 1, std::ptr::null_mut(), 0);
            scan
        });
        let (forward, slot) = (pg_sys::ScanDirection::ForwardScanDirection, row.raw());
        // SAFETY: the scan has begun, and `row` has a slot for rows of its table.
        let next = || memory.run(|| unsafe { pg_sys::index_getnext_slot(scan, forward, slot) });
        let result = row.each(next, visit);
        // SAFETY: begun above, ended once; after an ERROR the abort ends it.
        unsafe { pg_sys::index_endscan(scan) };
        result
    }
}
