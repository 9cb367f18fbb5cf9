//! An open relation, whose rows are read and written by its own access functions as core does with
//! catalogs and TOAST tables: no SQL, no plan, no rule, policy or trigger.
//!
//! References, pins and scans belong to PostgreSQL's resource owner: dropped in order on the way
//! back, and by the abort after an ERROR.

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::Result;
use crate::pg::interrupts::checkpoint;
use crate::pg::relation::Lock;
use crate::pg::{ffi, list, text};

/// An open table or index. The lock stays until the end of the transaction.
pub struct Open(pg_sys::Relation);

impl Open {
    /// Locks and opens `oid`; `None` if there is no such relation.
    pub fn relation(oid: Oid, lock: Lock) -> Option<Self> {
        // SAFETY: null for a relation that does not exist, else a reference that `Drop` gives back.
        let relation = unsafe { pg_sys::try_relation_open(oid, lock.mode()) };
        // Lazily: one that is null must not come to be, since dropping it closes it.
        (!relation.is_null()).then(|| Self(relation))
    }

    /// PostgreSQL's own entry, valid as long as `self`.
    pub fn raw(&self) -> pg_sys::Relation {
        self.0
    }

    /// `pg_class.oid`
    pub fn oid(&self) -> Oid {
        // SAFETY: an open relation.
        unsafe { (*self.0).rd_id }
    }

    /// The row of `pg_class`.
    pub fn class(&self) -> &pg_sys::FormData_pg_class {
        // SAFETY: an open relation has its row.
        unsafe { &*(*self.0).rd_rel }
    }

    /// The name, as messages show it.
    pub fn name(&self) -> String {
        // SAFETY: a name is a NUL-terminated array.
        unsafe { text::from_cstring(self.class().relname.data.as_ptr()) }
    }

    /// Its columns, dropped ones too.
    pub fn attributes(&self) -> impl Iterator<Item = &pg_sys::FormData_pg_attribute> {
        // SAFETY: the descriptor of an open relation has `natts` attributes.
        unsafe {
            let descriptor = (*self.0).rd_att;
            (0..(*descriptor).natts as usize).map(move |index| ffi::attribute(descriptor, index))
        }
    }

    /// How many pages it has.
    pub fn pages(&self) -> u32 {
        // SAFETY: an open relation with storage.
        unsafe { pg_sys::RelationGetNumberOfBlocksInFork(self.0, pg_sys::ForkNumber::MAIN_FORKNUM) }
    }

    /// Its indexes, locked and opened.
    pub fn indexes(&self, lock: Lock) -> Vec<Index> {
        // SAFETY: an open table; the list is a copy of ours, in the current memory context.
        let list: Vec<Oid> = unsafe {
            let list = pg_sys::RelationGetIndexList(self.0);
            let oids = list::oids(list);
            pg_sys::list_free(list);
            oids
        };
        list.into_iter().filter_map(|oid| Self::relation(oid, lock).map(Index)).collect()
    }

    /// An empty row of its kind.
    pub fn row(&self) -> Row {
        // SAFETY: an open table; `Drop` frees the slot.
        Row {
            slot: unsafe { pg_sys::table_slot_create(self.0, std::ptr::null_mut()) },
            owned: true,
        }
    }

    /// Calls `visit` with each row that the snapshot sees, in the order in which they are stored,
    /// until it says that it has enough.
    pub fn each(
        &self,
        snapshot: &Snapshot,
        mut visit: impl FnMut(&Row) -> Result<Continue>,
    ) -> Result<()> {
        let row = self.row();
        let flags = pg_sys::ScanOptions::SO_TYPE_SEQSCAN
            | pg_sys::ScanOptions::SO_ALLOW_STRAT
            | pg_sys::ScanOptions::SO_ALLOW_PAGEMODE;
        // SAFETY: an open table whose access method has all functions; the snapshot is held. The
        // scan ends before both.
        unsafe {
            let methods = &*(*self.0).rd_tableam;
            let (begin, next, end) =
                (methods.scan_begin, methods.scan_getnextslot, methods.scan_end);
            let (Some(begin), Some(next), Some(end)) = (begin, next, end) else { return Ok(()) };
            let (keys, parallel) = (std::ptr::null_mut(), std::ptr::null_mut());
            let scan =
                pg_guard_ffi_boundary(|| begin(self.0, snapshot.raw(), 0, keys, parallel, flags));
            let forward = pg_sys::ScanDirection::ForwardScanDirection;
            let mut result = Ok(());
            while pg_guard_ffi_boundary(|| next(scan, forward, row.slot)) {
                checkpoint();
                match visit(&row) {
                    Ok(Continue::Yes) => {}
                    Ok(Continue::No) => break,
                    Err(report) => {
                        result = Err(report);
                        break;
                    }
                }
            }
            pg_guard_ffi_boundary(|| end(scan));
            result
        }
    }

    /// Whether `row`, fetched from this table, is still there in the eyes of this transaction.
    pub fn has_live(&self, row: &Row) -> bool {
        // SAFETY: an open table, and a row of it with its place and its page pinned.
        unsafe {
            let Some(satisfies) = (*(*self.0).rd_tableam).tuple_satisfies_snapshot else {
                return false;
            };
            let snapshot = Snapshot::own();
            pg_guard_ffi_boundary(|| satisfies(self.0, row.slot, snapshot.raw()))
        }
    }

    /// Inserts a row, and its entries in `indexes`.
    pub fn insert(&self, row: &Row, indexes: &[Index]) {
        // SAFETY: an open table under ROW EXCLUSIVE lock, a row of it, and its indexes.
        unsafe {
            pg_sys::simple_table_tuple_insert(self.0, row.slot);
            indexes.iter().for_each(|index| index.insert(self, row, Entries::All));
        }
    }

    /// Puts `row` in the place of `old`, which was found in this table.
    pub fn update(&self, old: &Row, row: &Row, indexes: &[Index]) {
        // SAFETY: an open table under ROW EXCLUSIVE lock, rows of it, and its indexes.
        unsafe {
            let place = &raw mut (*old.slot).tts_tid;
            #[cfg(feature = "pg15")]
            let mut entries = false;
            #[cfg(not(feature = "pg15"))]
            let mut entries = pg_sys::TU_UpdateIndexes::TU_None;
            let snapshot = pg_sys::GetActiveSnapshot();
            pg_sys::simple_table_tuple_update(self.0, place, row.slot, snapshot, &mut entries);
            #[cfg(feature = "pg15")]
            let entries = entries.then_some(Entries::All);
            #[cfg(not(feature = "pg15"))]
            let entries = match entries {
                pg_sys::TU_UpdateIndexes::TU_All => Some(Entries::All),
                pg_sys::TU_UpdateIndexes::TU_Summarizing => Some(Entries::Summaries),
                _ => None,
            };
            if let Some(entries) = entries {
                indexes.iter().for_each(|index| index.insert(self, row, entries));
            }
        }
    }

    /// Deletes a row that was found in this table.
    pub fn delete(&self, row: &Row) {
        // SAFETY: an open table under ROW EXCLUSIVE lock, and a row of it.
        unsafe {
            let place = &raw mut (*row.slot).tts_tid;
            pg_sys::simple_table_tuple_delete(self.0, place, pg_sys::GetActiveSnapshot());
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: opened by `relation`, closed once; the lock stays.
            unsafe { pg_sys::relation_close(self.0, pg_sys::NoLock as i32) };
        }
    }
}

/// What a visitor of rows answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Continue {
    /// The next one.
    Yes,
    /// Enough.
    No,
}

/// Which entries an update needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entries {
    All,
    /// Those of indexes that summarize pages, as BRIN.
    Summaries,
}

/// An open index.
pub struct Index(Open);

impl std::ops::Deref for Index {
    type Target = Open;

    fn deref(&self) -> &Open {
        &self.0
    }
}

impl Index {
    /// The row of `pg_index`.
    pub fn form(&self) -> &pg_sys::FormData_pg_index {
        // SAFETY: an open index has its row.
        unsafe { &*(*self.raw()).rd_index }
    }

    /// The table's column that alone is its key; `None` if it has several, or an expression.
    pub fn only_column(&self) -> Option<i16> {
        let form = self.form();
        // SAFETY: indkey has `indnatts` entries, of which there is one at least.
        let column = unsafe { *form.indkey.values.as_ptr() };
        (form.indnkeyatts == 1 && column != 0).then_some(column)
    }

    /// Whether rows are told apart by its only column, at any time: what a key needs.
    pub fn is_key(&self) -> bool {
        let form = self.form();
        let is_btree = self.class().relam == pg_sys::BTREE_AM_OID;
        is_btree && form.indisunique && form.indimmediate && form.indisvalid && self.is_plain()
    }

    /// Whether it has all rows, by their columns as they are.
    pub fn is_plain(&self) -> bool {
        let null = std::ptr::null_mut();
        // SAFETY: an open index has its pg_index tuple.
        unsafe {
            let tuple = (*self.raw()).rd_indextuple;
            pg_sys::heap_attisnull(tuple, pg_sys::Anum_pg_index_indpred as i32, null)
                && pg_sys::heap_attisnull(tuple, pg_sys::Anum_pg_index_indexprs as i32, null)
                && !self.form().indisexclusion
        }
    }

    /// The name of its access method.
    pub fn access_method(&self) -> String {
        // SAFETY: a lookup in the system caches; null for one that does not exist.
        unsafe { text::from_cstring(pg_sys::get_am_name(self.class().relam)) }
    }

    /// Calls `visit` with the rows of `table` that this B-tree has for `key`, of its column's type.
    pub fn each_equal(
        &self,
        table: &Open,
        key: Datum,
        snapshot: &Snapshot,
        visit: impl FnMut(&Row) -> Result<Continue>,
    ) -> Result<()> {
        let strategy = pg_sys::BTEqualStrategyNumber as u16;
        // SAFETY: an open index has its operator families and types.
        let function = unsafe {
            let (family, input) = (*(*self.raw()).rd_opfamily, *(*self.raw()).rd_opcintype);
            pg_sys::get_opcode(pg_sys::get_opfamily_member(family, input, input, strategy as i16))
        };
        self.each_match(table, (strategy, function), key, snapshot, visit)
    }

    /// Calls `visit` with the rows of `table` that the index gives for `column <operator> value`.
    pub fn each_match(
        &self,
        table: &Open,
        (strategy, function): (u16, Oid),
        value: Datum,
        snapshot: &Snapshot,
        mut visit: impl FnMut(&Row) -> Result<Continue>,
    ) -> Result<()> {
        let row = table.row();
        let mut key = pg_sys::ScanKeyData::default();
        // SAFETY: an open table and its index; the key is of the type that the operator takes; the
        // snapshot is held. The scan ends before all of them.
        unsafe {
            let collation = *(*self.raw()).rd_indcollation;
            let none = Oid::INVALID;
            pg_sys::ScanKeyEntryInitialize(
                &mut key, 0, 1, strategy, none, collation, function, value,
            );
            #[cfg(not(feature = "pg18"))]
            let scan = pg_sys::index_beginscan(table.raw(), self.raw(), snapshot.raw(), 1, 0);
            #[cfg(feature = "pg18")]
            let scan = {
                let no_statistics = std::ptr::null_mut();
                pg_sys::index_beginscan(
                    table.raw(),
                    self.raw(),
                    snapshot.raw(),
                    no_statistics,
                    1,
                    0,
                )
            };
            let forward = pg_sys::ScanDirection::ForwardScanDirection;
            let mut result = Ok(());
            pg_sys::index_rescan(scan, &mut key, 1, std::ptr::null_mut(), 0);
            while pg_sys::index_getnext_slot(scan, forward, row.slot) {
                checkpoint();
                if snapshot.waited() {
                    pg_sys::index_rescan(scan, &mut key, 1, std::ptr::null_mut(), 0);
                    continue;
                }
                match visit(&row) {
                    Ok(Continue::Yes) => {}
                    Ok(Continue::No) => break,
                    Err(report) => {
                        result = Err(report);
                        break;
                    }
                }
            }
            pg_sys::index_endscan(scan);
            result
        }
    }

    /// Inserts the entries of a row that is in its table.
    ///
    /// # Safety
    /// The index is one of `table`, and `is_plain`; the row has its place.
    unsafe fn insert(&self, table: &Open, row: &Row, entries: Entries) {
        const MOST: usize = pg_sys::INDEX_MAX_KEYS as usize;
        let (mut values, mut nulls) = ([Datum::from(0); MOST], [false; MOST]);
        // SAFETY: the caller's promise; an index without expressions needs no executor state.
        unsafe {
            let info = pg_sys::BuildIndexInfo(self.raw());
            #[cfg(feature = "pg15")]
            let wanted = entries == Entries::All;
            #[cfg(not(feature = "pg15"))]
            let wanted = entries == Entries::All || (*info).ii_Summarizing;
            if !(*info).ii_ReadyForInserts || !wanted {
                return;
            }
            let unique = if (*info).ii_Unique {
                pg_sys::IndexUniqueCheck::UNIQUE_CHECK_YES
            } else {
                pg_sys::IndexUniqueCheck::UNIQUE_CHECK_NO
            };
            let (values, nulls) = (values.as_mut_ptr(), nulls.as_mut_ptr());
            pg_sys::FormIndexDatum(info, row.slot, std::ptr::null_mut(), values, nulls);
            let place = &raw mut (*row.slot).tts_tid;
            pg_sys::index_insert(
                self.raw(),
                values,
                nulls,
                place,
                table.raw(),
                unique,
                false,
                info,
            );
            #[cfg(any(feature = "pg17", feature = "pg18"))]
            pg_sys::index_insert_cleanup(self.raw(), info);
        }
    }
}

/// A row of an open table: a slot.
pub struct Row {
    slot: *mut pg_sys::TupleTableSlot,
    owned: bool,
}

impl Row {
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

    /// Fills the row with `values`, one for each column; they must live as long as they are in it.
    pub fn fill(&self, values: &[Datum]) {
        // SAFETY: the slot's arrays have one entry for each column of its descriptor.
        unsafe {
            let slot = self.slot;
            let clear = (*(*slot).tts_ops).clear;
            if let Some(clear) = clear {
                pg_guard_ffi_boundary(|| clear(slot));
            }
            let count = values.len().min((*(*slot).tts_tupleDescriptor).natts as usize);
            for (index, value) in values[..count].iter().enumerate() {
                *(*slot).tts_values.add(index) = *value;
                *(*slot).tts_isnull.add(index) = false;
            }
            pg_sys::ExecStoreVirtualTuple(slot);
        }
    }
}

impl Row {
    /// Copies the values into the row's own memory.
    pub fn keep(&self) {
        let slot = self.slot;
        // SAFETY: a slot that holds a row.
        unsafe {
            if let Some(materialize) = (*(*slot).tts_ops).materialize {
                pg_guard_ffi_boundary(|| materialize(slot));
            }
        }
    }
}

impl Drop for Row {
    fn drop(&mut self) {
        if self.owned && !std::thread::panicking() {
            // SAFETY: made by `Open::row`, dropped once.
            unsafe { pg_sys::ExecDropSingleTupleTableSlot(self.slot) };
        }
    }
}

/// Which rows are seen.
pub struct Snapshot {
    raw: pg_sys::Snapshot,
    kind: Kind,
}

enum Kind {
    /// Somebody else's: the statement's, or a constant.
    Borrowed,
    Registered,
    /// Rows that others are writing are seen too: their ends have to be waited for.
    Dirty(Box<std::cell::UnsafeCell<pg_sys::SnapshotData>>),
}

impl Snapshot {
    /// What the statement that called us sees.
    pub fn statement() -> Self {
        // SAFETY: a function is called under an active snapshot, which outlives the call.
        Self { raw: unsafe { pg_sys::GetActiveSnapshot() }, kind: Kind::Borrowed }
    }

    /// All that is committed, and what this transaction has done, even just now.
    pub fn own() -> Self {
        Self { raw: &raw mut pg_sys::SnapshotSelfData, kind: Kind::Borrowed }
    }

    /// All that is committed by now, in any isolation level, and what this transaction has done.
    pub fn latest() -> Self {
        // SAFETY: registered here, given back by `Drop`.
        let raw = unsafe { pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot()) };
        Self { raw, kind: Kind::Registered }
    }

    /// As [`Snapshot::own`], but a lookup waits for those who are writing the rows it finds.
    pub fn settled() -> Self {
        let data = pg_sys::SnapshotData {
            snapshot_type: pg_sys::SnapshotType::SNAPSHOT_DIRTY,
            ..Default::default()
        };
        let data = Box::new(std::cell::UnsafeCell::new(data));
        Self { raw: data.get(), kind: Kind::Dirty(data) }
    }

    fn raw(&self) -> pg_sys::Snapshot {
        self.raw
    }

    /// Waits for the transaction that is writing the row just found, if one is.
    fn waited(&self) -> bool {
        let Kind::Dirty(data) = &self.kind else { return false };
        // SAFETY: our own snapshot; the scan that fills it in is not at work now.
        let (inserter, deleter) = unsafe { ((*data.get()).xmin, (*data.get()).xmax) };
        let writer = if inserter.into_inner() == 0 { deleter } else { inserter };
        if writer.into_inner() == 0 {
            return false;
        }
        let (relation, place) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: waits for a transaction in progress.
        unsafe {
            let reason = pg_sys::XLTW_Oper::XLTW_None;
            pg_sys::XactLockTableWait(writer, relation, place, reason);
        }
        true
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        if matches!(self.kind, Kind::Registered) && !std::thread::panicking() {
            // SAFETY: registered by `latest`, given back once.
            unsafe { pg_sys::UnregisterSnapshot(self.raw) };
        }
    }
}
