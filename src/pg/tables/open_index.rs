//! Open indexes: their properties, searches for rows, and new entries.

use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::Result;
use crate::pg::catalog::{function_of_operator, operator_of_family};
use crate::pg::index::{IndexColumn, SearchOperator};
use crate::pg::memory::Memory;
use crate::pg::open::Open;
use crate::pg::row::{Continue, Row};
use crate::pg::snapshot::Snapshot;
use crate::pg::typed_value::TypedValue;
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

    /// Calls `visit` with the rows for which this B-tree of `table` has `key`. It is on a column of the key's type.
    pub fn each_equal(
        &self,
        table: &Open,
        key: TypedValue,
        snapshot: &Snapshot,
        visit: impl FnMut(&Row) -> Result<Continue>,
    ) -> Result<()> {
        let strategy = pg_sys::BTEqualStrategyNumber as u16;
        let IndexColumn { family, input_type, attribute, .. } = IndexColumn::of(self, 0);
        assert_eq!(self.form().indrelid, table.oid(), "an index of the table");
        let column = table.attributes().find(|column| column.attnum == attribute);
        let key = key.of_type(column.map_or(Oid::INVALID, |column| column.atttypid));
        let equal = operator_of_family(family, input_type, input_type, strategy as i16);
        let function = function_of_operator(equal);
        let operator = SearchOperator { strategy, right: Oid::INVALID, function };
        // SAFETY: the index is one of the table, as was just asserted. The operator is its own for values of the
        // column, whose type `of_type` has checked.
        unsafe { self.each_match(table, operator, key, snapshot, visit) }
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
