//! An open index: what it is, and rows found and entries made through it.

use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::Result;
use crate::pg::catalog::{function_of_operator, operator_of_family};
use crate::pg::index::{IndexColumn, SearchOperator};
use crate::pg::memory::Memory;
use crate::pg::open::Open;
use crate::pg::row::{Continue, Row};
use crate::pg::snapshot::Snapshot;
use crate::pg::versions;

pub struct OpenIndex(pub(super) Open);

impl std::ops::Deref for OpenIndex {
    type Target = Open;

    fn deref(&self) -> &Open {
        &self.0
    }
}

impl OpenIndex {
    pub fn form(&self) -> &pg_sys::FormData_pg_index {
        // SAFETY: an open index has its row.
        unsafe { &*(*self.raw()).rd_index }
    }

    /// True if rows are told apart by that column alone, at any time: what a key needs.
    pub fn is_key_of(&self, column: i16) -> bool {
        let form = self.form();
        let is_btree = self.class().relam == pg_sys::BTREE_AM_OID;
        let is_unique = form.indisunique && form.indimmediate && form.indisvalid;
        is_btree && is_unique && self.is_plain() && self.only_column() == Some(column)
    }

    /// The table's column that alone is its key; `None` if it has several, or an expression.
    pub fn only_column(&self) -> Option<i16> {
        let column = IndexColumn::of(self, 0).attribute;
        (self.form().indnkeyatts == 1 && column != 0).then_some(column)
    }

    /// True if it has all rows, by their columns as they are.
    pub fn is_plain(&self) -> bool {
        let is_whole = self.lacks(pg_sys::Anum_pg_index_indpred);
        is_whole && self.lacks(pg_sys::Anum_pg_index_indexprs) && !self.form().indisexclusion
    }

    /// Calls `visit` with the rows of `table` that this B-tree has for `key`.
    ///
    /// # Safety
    /// The index is one of `table`, and `key` a non-null value of its column's type.
    pub unsafe fn each_equal(
        &self,
        table: &Open,
        key: Datum,
        snapshot: &Snapshot,
        visit: impl FnMut(&Row) -> Result<Continue>,
    ) -> Result<()> {
        let strategy = pg_sys::BTEqualStrategyNumber as u16;
        let IndexColumn { family, input_type, .. } = IndexColumn::of(self, 0);
        let equal = operator_of_family(family, input_type, input_type, strategy as i16);
        let function = function_of_operator(equal);
        let operator = SearchOperator { strategy, right: Oid::INVALID, function };
        // SAFETY: the caller promises the table and the value; the operator is that of the index for such values.
        unsafe { self.each_match(table, operator, key, snapshot, visit) }
    }

    /// Calls `visit` with the rows of `table` that the index gives for `column <operator> value`.
    ///
    /// # Safety
    /// The index is one of `table`; the operator is one of its family, and takes `value`, which is not NULL.
    pub unsafe fn each_match(
        &self,
        table: &Open,
        operator: SearchOperator,
        value: Datum,
        snapshot: &Snapshot,
        visit: impl FnMut(&Row) -> Result<Continue>,
    ) -> Result<()> {
        // What the index keeps is in memory of its own.
        let (memory, row) = (Memory::scratch(c"minlsh search"), Row::empty(table));
        let SearchOperator { strategy, right, function } = operator;
        let collation = IndexColumn::of(self, 0).collation;
        let mut key = pg_sys::ScanKeyData::default();
        // SAFETY: the operator is of the index, which is one of `table`, as # Safety asks. Both stay open and the
        // snapshot held until the scan has ended, below; it copies its one key.
        let scan = memory.run(|| unsafe {
            pg_sys::ScanKeyEntryInitialize(&mut key, 0, 1, strategy, right, collation, function, value);
            let scan = versions::index_beginscan(table.raw(), self.raw(), snapshot.raw());
            pg_sys::index_rescan(scan, &mut key, 1, std::ptr::null_mut(), 0);
            scan
        });
        let (forward, slot) = (pg_sys::ScanDirection::ForwardScanDirection, row.raw());
        // SAFETY: a scan that was started, and a slot for the rows of its table.
        let next = || memory.run(|| unsafe { pg_sys::index_getnext_slot(scan, forward, slot) });
        let result = row.each(next, visit);
        // SAFETY: begun above, ended once; after an ERROR the abort does it.
        unsafe { pg_sys::index_endscan(scan) };
        result
    }
}
