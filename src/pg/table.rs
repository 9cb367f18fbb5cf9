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
use crate::pg::snapshot::Snapshot;
use crate::pg::table_index::{Entries, Index};
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

    /// Whether `snapshot` is younger than the relation as it is now: one that was made or built anew
    /// since has rows that the snapshot does not see.
    pub fn is_older_than(&self, snapshot: &Snapshot) -> bool {
        // SAFETY: a lookup in the system cache; the header is read before the release. The snapshot
        // is one of a statement.
        unsafe {
            let cache = pg_sys::SysCacheIdentifier::RELOID as i32;
            let tuple = pg_sys::SearchSysCache1(cache, Datum::from(self.oid()));
            if tuple.is_null() {
                return false;
            }
            let header = &*(*tuple).t_data;
            let frozen = pg_sys::HEAP_XMIN_FROZEN as u16;
            let is_frozen = header.t_infomask & frozen == frozen;
            let writer = header.t_choice.t_heap.t_xmin;
            pg_sys::ReleaseSysCache(tuple);
            is_frozen
                || pg_sys::TransactionIdIsCurrentTransactionId(writer)
                || !pg_sys::XidInMVCCSnapshot(writer, snapshot.raw())
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
        list.into_iter().filter_map(|oid| Self::relation(oid, lock).map(Index::from)).collect()
    }

    /// An empty row of its kind.
    pub fn row(&self) -> Row {
        // SAFETY: an open table; `Drop` frees the slot.
        let slot = unsafe { pg_sys::table_slot_create(self.0, std::ptr::null_mut()) };
        Row { slot, owned: true }
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

    /// Makes of `places`, which an index has, those of the rows that the snapshot sees there: that of
    /// a row which was updated without new index entries is another.
    pub fn resolve(&self, snapshot: &Snapshot, places: &mut Vec<pg_sys::ItemPointerData>) {
        let row = self.row();
        let mut found = 0;
        // SAFETY: an open table, a slot for its rows, and a snapshot that is held; the access method
        // has the functions that every index needs, and sets a place to that of the row it finds.
        unsafe {
            let methods = &*(*self.0).rd_tableam;
            let (begin, fetch, end) =
                (methods.index_fetch_begin, methods.index_fetch_tuple, methods.index_fetch_end);
            let (Some(begin), Some(fetch), Some(end)) = (begin, fetch, end) else { return };
            let state = pg_guard_ffi_boundary(|| begin(self.0));
            for at in 0..places.len() {
                checkpoint();
                let place = &raw mut places[at];
                let (mut again, mut all_dead) = (false, false);
                if pg_guard_ffi_boundary(|| {
                    fetch(state, place, snapshot.raw(), row.slot, &mut again, &mut all_dead)
                }) {
                    places[found] = places[at];
                    found += 1;
                }
            }
            pg_guard_ffi_boundary(|| end(state));
        }
        places.truncate(found);
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
