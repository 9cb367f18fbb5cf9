//! Entries of new rows, which wait until they are inserted together in the order of their keys.
//!
//! A row has entries on as many leaf pages as it has bands. Row by row, each entry reads a page and logs it once more
//! after a checkpoint. The entries of many rows are therefore collected and sorted, so that the entries of a page
//! follow each other. They wait until `aminsertcleanup`, at the end of the statement, which PostgreSQL 17 and later
//! call. They are inserted earlier in these cases:
//!
//! - `work_mem` is used up.
//! - This backend reads an index ([`descent`](crate::index::descent)), as functions and triggers may do.
//! - A query begins within the statement. It may have parallel workers that read an index.
//! - The next row belongs to another subtransaction.
//! - The transaction ends. This is a safety net for an extension that inserts without `aminsertcleanup`.
//!
//! The entries of a table that a command fills in the place of another one never wait.
//!
//! No other row may get the address of a row while its entries wait. A row of a transaction in progress stays until it
//! ends, even if it is deleted (`HeapTupleSatisfiesVacuum`), with two exceptions. After the rollback of a
//! subtransaction VACUUM may remove its rows, so their entries are dropped. And INSERT ... ON CONFLICT may take back a
//! row that met a conflict after all, so the entries of such a row do not wait. Neither do they unless the
//! subtransaction in progress has inserted the row, which its page shows.
//!
//! SERIALIZABLE transactions find their conflicts. PostgreSQL stores a row before its entries, so a reader may always
//! come in between. It has locked the leaf page for serializability, and the insertion of the entry finds that lock.
//! Here the time in between is longer, but it ends before the transaction, whose conflicts are judged at its end.

use std::cell::RefCell;

use pgrx::pg_sys::SubTransactionId;
use sketch::sort_by_key;

use crate::index::layout::{Entry, LockedPage};
use crate::index::minlsh_index::MinlshIndex;
use crate::index::nbtree::Disguise;
use crate::memory::of_pending;
use crate::pg::guc;
use crate::prelude::*;

/// An index, its file, its table, and true for rows of an UPDATE that changes no column of the index.
type Target = (Oid, Oid, Oid, bool);

#[derive(Default)]
struct Pending {
    /// Entries for each target. While they are inserted they descend, so the next one is the last.
    batches: Vec<(Target, Vec<Entry>)>,
    /// Number of entries for which memory is allocated.
    capacity: usize,
    /// The subtransaction that inserted the rows.
    owner: SubTransactionId,
    /// True during an insertion, and after it has failed: its entry may be in the tree or not.
    is_inserting: bool,
}

thread_local! {
    static PENDING: RefCell<Pending> = RefCell::default();
}

/// Keeps the entries of a row that is being inserted; false if the caller must insert them.
pub fn add(index: &MinlshIndex, heap: &Open, tid: u64, keys: &[u64], unchanged: bool) -> Result<bool> {
    if !versions::HAS_INSERT_CLEANUP || !is_own(heap, tid) {
        return Ok(false);
    }
    // SAFETY: reads the state of this backend.
    let owner = unsafe { pg_sys::GetCurrentSubTransactionId() };
    let target = (index.open().oid(), index.open().class().relfilenode, heap.oid(), unchanged);
    let add = || PENDING.with_borrow_mut(|pending| pending.add(target, owner, tid, keys));
    Ok(add() || {
        flush()?;
        add()
    })
}

/// True if the subtransaction in progress inserted a row of a heap by a statement, and will not take it back.
fn is_own(heap: &Open, tid: u64) -> bool {
    // SAFETY: reads the state of this backend.
    let own = unsafe { pg_sys::GetCurrentTransactionIdIfAny() };
    // Code that maintains an index holds no lock on a page of its table.
    let page = || LockedPage::of(heap, (tid >> 16) as pg_sys::BlockNumber);
    let class = heap.class();
    // REPACK (CONCURRENTLY) fills such a table, and gives its index another file before `aminsertcleanup`.
    let is_rewritten = class.relrewrite != Oid::INVALID;
    // Only for heap tables it is known how rows are removed.
    class.relam == pg_sys::HEAP_TABLE_AM_OID && !is_rewritten && page().inserter(tid as u16) == Some(own)
}

impl Pending {
    /// Adds the entries of a row of `owner`; false if there is no room, or if rows of another subtransaction wait.
    fn add(&mut self, target: Target, owner: SubTransactionId, tid: u64, keys: &[u64]) -> bool {
        if self.batches.is_empty() {
            self.owner = owner;
        }
        let at = self.batches.iter().position(|batch| batch.0 == target).unwrap_or(self.batches.len());
        let new = (target, Vec::new());
        if self.owner != owner || at == self.batches.len() && memory::push(&mut self.batches, new).is_err() {
            return false;
        }
        let entries = &mut self.batches[at].1;
        let before = entries.capacity();
        if before - entries.len() < keys.len() {
            let left = (of_pending() / size_of::<Entry>()).saturating_sub(self.capacity);
            let more = entries.len().max(keys.len()).min(left);
            if more < keys.len() || entries.try_reserve_exact(more).is_err() {
                return false;
            }
            self.capacity += entries.capacity() - before;
        }
        entries.extend(keys.iter().map(|key| Entry { key: *key, tid }));
        true
    }

    /// Sorts the last batch. Returns its target.
    fn sort(&mut self) -> Option<Target> {
        let (target, entries) = self.batches.last_mut()?;
        // An ERROR leaves all entries in some order.
        sort_by_key(entries, &mut check_interrupts);
        entries.reverse();
        Some(*target)
    }
}

/// Inserts all entries that wait. After an ERROR the others wait on, if the transaction goes on.
pub fn flush() -> Result<()> {
    if !is_any() {
        return Ok(());
    }
    let is_broken = PENDING.with_borrow(|pending| pending.is_inserting);
    while let Some((index, file, heap, unchanged)) = PENDING.with_borrow_mut(Pending::sort) {
        let open = |relation| Open::relation(relation, Lock::Write);
        let index = open(index).filter(|index| index.class().relfilenode == file && !is_broken);
        // An ERROR of the tree was caught. Or an extension has left entries waiting, and the index has a new file.
        let (Some(index), Some(heap)) = (index, open(heap)) else {
            return Err(wrong_state("an index of type minlsh lacks entries of a new row after an error").set_hint(
                "Roll back to a savepoint before the statement that inserted the row, or roll back the transaction.",
            ));
        };
        let (index, mut memory) = (MinlshIndex::of(&index)?, Memory::scratch(c"minlsh entry"));
        while memory.run_and_reset(|| insert_next(&index, &heap, unchanged)) {}
        PENDING.with_borrow_mut(|pending| pending.batches.pop());
    }
    PENDING.take();
    Ok(())
}

/// [`flush`] for callbacks of PostgreSQL.
pub fn flush_if_any() {
    if is_any() {
        answer(flush);
    }
}

fn is_any() -> bool {
    PENDING.with_borrow(|pending| !pending.batches.is_empty())
}

/// Inserts the next entry of the last batch; false if the batch is empty.
fn insert_next(index: &MinlshIndex, heap: &Open, unchanged: bool) -> bool {
    check_interrupts();
    let next = PENDING.with_borrow_mut(|pending| {
        pending.is_inserting = true;
        pending.batches.last_mut().and_then(|batch| batch.1.pop())
    });
    next.into_iter().for_each(|entry| insert(index, heap, entry, unchanged));
    PENDING.with_borrow_mut(|pending| pending.is_inserting = false);
    next.is_some()
}

/// Gives the rows of a subtransaction that is over to its `parent`, or drops their entries without one. The number of a
/// later one, which is a part of it, is greater.
pub fn end(own: SubTransactionId, parent: Option<SubTransactionId>) {
    PENDING.with(|pending| match (pending.try_borrow_mut(), parent) {
        (Ok(pending), _) if pending.owner < own => (),
        (Ok(mut pending), Some(parent)) => pending.owner = parent,
        (Ok(mut pending), None) => *pending = Pending::default(),
        // A FATAL error during the sort ends the backend, which needs no entries.
        (Err(_), _) => (),
    });
}

/// `btinsert`: adds an entry for a row of the table.
///
/// A row has an entry for each band, and several of them may be on one leaf page. Bottom-up deletion judges each entry
/// of such a page by its row, so repeated rows do no harm. But it sorts them by a comparison that asserts that no two
/// are equal, so servers with assertions do without it.
pub fn insert(index: &MinlshIndex, heap: &Open, entry: Entry, unchanged: bool) {
    let (layout, index) = (&index.layout, index.open());
    let mut tuple = vec![0_u64; layout.size / size_of::<u64>()];
    let place = tuple.as_mut_ptr();
    let unique = pg_sys::IndexUniqueCheck::UNIQUE_CHECK_NO;
    let unchanged = unchanged && !guc::has_assertions();
    let _disguise = Disguise::of(index);
    // SAFETY: `MinlshIndex::of` has checked that the index's tuples have this layout. The entry has `size` bytes, a
    // multiple of 8, and is copied into a page. Index and table are open.
    unsafe {
        layout.write(entry, std::slice::from_raw_parts_mut(place.cast(), layout.size));
        pg_sys::_bt_doinsert(index.raw(), place.cast(), unique, unchanged, heap.raw());
    }
}
