//! An open relation, under a lock. Its rows are read and written by [`table`](crate::pg::table).

use std::ffi::c_int;

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Oid};

use crate::pg::catalog::ClassRow;
use crate::pg::memory::unless_raised;
use crate::pg::snapshot::Snapshot;
use crate::pg::{text, versions};

unsafe extern "C-unwind" {
    /// storage/bufmgr.h, the same since PostgreSQL 8. pgrx guards each call of its own binding.
    fn ReadBuffer(relation: pg_sys::Relation, block: pg_sys::BlockNumber) -> pg_sys::Buffer;
}

/// Locks on a relation, held until the end of the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// No lock: the caller holds one.
    Held,
    /// `ACCESS SHARE`: what a SELECT takes.
    Read,
    /// `ROW EXCLUSIVE`: what an INSERT takes.
    Write,
    /// `SHARE ROW EXCLUSIVE`: blocks writers but not readers, as CREATE TRIGGER does.
    HoldWriters,
    /// `EXCLUSIVE`: blocks writers and other holders of this lock, but not readers.
    Alone,
    /// `ACCESS EXCLUSIVE`: what DROP takes.
    Exclusive,
}

impl Lock {
    /// PostgreSQL's number of the lock mode.
    pub fn mode(self) -> i32 {
        let mode = match self {
            Self::Held => pg_sys::NoLock,
            Self::Write => pg_sys::RowExclusiveLock,
            Self::Read => pg_sys::AccessShareLock,
            Self::HoldWriters => pg_sys::ShareRowExclusiveLock,
            Self::Alone => pg_sys::ExclusiveLock,
            Self::Exclusive => pg_sys::AccessExclusiveLock,
        };
        mode as i32
    }
}

/// An open table or index. Its lock stays until the end of the transaction.
#[repr(transparent)]
pub struct Open(pg_sys::Relation);

impl Open {
    /// A relation that PostgreSQL opens and closes, as an argument of a callback.
    ///
    /// # Safety
    /// The relation is open, and stays open for `'a`.
    pub unsafe fn lent(relation: &pg_sys::Relation) -> &Self {
        // SAFETY: `Open` is a transparent wrapper. A value behind a reference is not dropped, so the relation is not
        // closed.
        unsafe { &*std::ptr::from_ref(relation).cast::<Self>() }
    }

    /// Locks and opens `oid`; `None` if there is no such relation.
    pub fn relation(oid: Oid, lock: Lock) -> Option<Self> {
        // SAFETY: null for a relation that does not exist, else a reference that `drop` gives back.
        let relation = unsafe { pg_sys::try_relation_open(oid, lock.mode()) };
        // Lazily: dropping an `Open` closes its relation, so none may exist around null.
        (!relation.is_null()).then(|| Self(relation))
    }

    /// PostgreSQL's relcache entry, valid as long as `self`.
    pub fn raw(&self) -> pg_sys::Relation {
        self.0
    }

    /// The relcache entry, for reading.
    pub fn entry(&self) -> &pg_sys::RelationData {
        // SAFETY: `self` holds the relation open, and its entry stays where it is until it is closed.
        unsafe { &*self.0 }
    }

    pub fn oid(&self) -> Oid {
        self.entry().rd_id
    }

    /// The row of `pg_class`.
    pub fn class(&self) -> &pg_sys::FormData_pg_class {
        // SAFETY: an open relation has its row of `pg_class`.
        unsafe { &*self.entry().rd_rel }
    }

    /// The row of `pg_index`; `None` if it is not an index.
    pub fn index_form(&self) -> Option<&pg_sys::FormData_pg_index> {
        // SAFETY: an open index has its row, and `rd_index` is null for other relations.
        unsafe { self.entry().rd_index.as_ref() }
    }

    /// True if column `attribute` of its row of `pg_index` is NULL.
    pub fn lacks(&self, attribute: u32) -> bool {
        let row = self.entry().rd_indextuple;
        // SAFETY: an open index has its row, and `rd_indextuple` is null for other relations.
        row.is_null() || unsafe { pg_sys::heap_attisnull(row, attribute as i32, std::ptr::null_mut()) }
    }

    /// True if it is a heap table without inheritance children, so that a row is identified by its `ctid`.
    pub fn has_places(&self) -> bool {
        let class = self.class();
        matches!(class.relkind as u8, b'r' | b'm') && class.relam == pg_sys::HEAP_TABLE_AM_OID && !class.relhassubclass
    }

    /// The name, for messages.
    pub fn name(&self) -> String {
        text::of_name(&self.class().relname).to_string_lossy().into_owned()
    }

    /// Its columns, including dropped ones.
    pub fn attributes(&self) -> impl Iterator<Item = &pg_sys::FormData_pg_attribute> {
        // SAFETY: an open relation has its descriptor.
        unsafe { versions::attributes(self.entry().rd_att) }.iter()
    }

    /// True if `snapshot` was taken after the relation was last created or built. An older snapshot does not see all
    /// rows that are now in it.
    pub fn is_older_than(&self, snapshot: &Snapshot) -> bool {
        let Some(row) = ClassRow::find(self.oid()) else { return false };
        let header = row.header();
        let frozen = pg_sys::HEAP_XMIN_FROZEN as u16;
        // SAFETY: the header of a stored row has its writer; `snapshot` holds its snapshot.
        unsafe {
            let writer = header.t_choice.t_heap.t_xmin;
            header.t_infomask & frozen == frozen
                || pg_sys::TransactionIdIsCurrentTransactionId(writer)
                || !pg_sys::XidInMVCCSnapshot(writer, snapshot.raw())
        }
    }

    /// Number of its pages and of the pages of its TOAST table.
    pub fn pages_and_toast(&self) -> u64 {
        let toast = self.class().reltoastrelid;
        let toast = (toast != Oid::INVALID).then(|| Self::relation(toast, Lock::Read)).flatten();
        u64::from(self.pages()) + toast.map_or(0, |toast| u64::from(toast.pages()))
    }

    /// Makes a SERIALIZABLE transaction conflict with later writers of the relation. Does nothing in other
    /// transactions.
    pub fn predicate_lock(&self, snapshot: &Snapshot) {
        // SAFETY: `self` holds the relation open, and `snapshot` its snapshot.
        unsafe { pg_sys::PredicateLockRelation(self.0, snapshot.raw()) }
    }

    /// Pins a page, and locks it for reading until the caller unlocks it. A caller that holds its write lock would wait
    /// for itself. Raises an ERROR if there is no such page.
    pub fn pin_and_lock(&self, block: pg_sys::BlockNumber) -> pg_sys::Buffer {
        // SAFETY: `self` holds the relation open; no destructor is in the closure.
        unsafe {
            pg_guard_ffi_boundary(|| {
                let buffer = ReadBuffer(self.0, block);
                versions::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as c_int);
                buffer
            })
        }
    }

    pub fn pages(&self) -> u32 {
        // SAFETY: `self` holds the relation open, and callers pass relations with storage.
        unsafe { pg_sys::RelationGetNumberOfBlocksInFork(self.0, pg_sys::ForkNumber::MAIN_FORKNUM) }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: opened by `relation`, closed once; the lock stays.
        unless_raised(|| unsafe { pg_sys::relation_close(self.0, pg_sys::NoLock as i32) });
    }
}
