//! An open index: what it is, and rows found and entries made through it.

use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::Result;
use crate::pg::catalog::{function_of_operator, operator_of_family};
use crate::pg::index::{IndexColumn, SearchOperator};
use crate::pg::memory::Memory;
use crate::pg::open::Open;
use crate::pg::reserve::check_interrupts;
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
        mut visit: impl FnMut(&Row) -> Result<Continue>,
    ) -> Result<()> {
        // SAFETY: the caller promises that index and table, which both stay open, belong together, and a value.
        let mut search = unsafe { Search::of(self, table, (operator, value), snapshot) };
        while let Some(row) = search.next_row() {
            if visit(row)? == Continue::No {
                break;
            }
        }
        Ok(())
    }

    /// The operator family of its first column.
    pub fn family(&self) -> Oid {
        // SAFETY: an open index has its operator families.
        unsafe { *(*self.raw()).rd_opfamily }
    }
}

struct Search<'a> {
    scan: pg_sys::IndexScanDesc,
    row: Row,
    /// Memory for what the index keeps.
    memory: Memory,
    /// The index, its table and the snapshot stay open.
    open: std::marker::PhantomData<(&'a Open, &'a Snapshot)>,
}

impl<'a> Search<'a> {
    /// A search for `column <operator> value`.
    ///
    /// # Safety
    /// The index is one of `table`, and the operator one of its family, which takes the value.
    unsafe fn of(
        index: &'a OpenIndex,
        table: &'a Open,
        (operator, value): (SearchOperator, Datum),
        snapshot: &'a Snapshot,
    ) -> Self {
        let memory = Memory::scratch(c"minlsh search");
        let mut key = pg_sys::ScanKeyData::default();
        let SearchOperator { strategy, right, function } = operator;
        // SAFETY: the operator is of the index, which is one of `table`, as # Safety asks. Both and the snapshot are
        // borrowed for as long as the scan, which `Drop` ends; the scan copies its one key.
        let scan = memory.run(|| unsafe {
            let collation = IndexColumn::of(index, 0).collation;
            pg_sys::ScanKeyEntryInitialize(
                &mut key, 0, 1, strategy, right, collation, function, value,
            );
            let scan = versions::index_beginscan(table.raw(), index.raw(), snapshot.raw());
            pg_sys::index_rescan(scan, &mut key, 1, std::ptr::null_mut(), 0);
            scan
        });
        Self { scan, row: Row::empty(table), memory, open: std::marker::PhantomData }
    }

    fn next_row(&mut self) -> Option<&Row> {
        check_interrupts();
        let (scan, slot) = (self.scan, self.row.raw());
        let forward = pg_sys::ScanDirection::ForwardScanDirection;
        // SAFETY: a scan that was started, and a slot for the rows of its table.
        let is_there =
            self.memory.run(|| unsafe { pg_sys::index_getnext_slot(scan, forward, slot) });
        is_there.then_some(&self.row)
    }
}

impl Drop for Search<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: begun by `of`, ended once.
            unsafe { pg_sys::index_endscan(self.scan) };
        }
    }
}
