//! Entries of new rows, which wait until they are inserted together in the order of their keys.
//!
//! A row has entries on as many leaf pages as it has bands. Row by row, each entry reads a page and logs it once more
//! after a checkpoint. The entries of many rows are therefore collected and sorted, so that the entries of a page
//! follow each other. They wait until `aminsertcleanup`, at the end of the statement, which PostgreSQL 17 and later
//! call. Those that exceed `work_mem` wait in temporary files. They are inserted earlier in these cases:
//!
//! - There are [`MOST_RUNS`] files and no memory, or no memory and a `temp_file_limit`, which must not make an INSERT
//!   fail.
//! - This backend reads an index ([`descent`](crate::index::descent)), as functions and triggers may do.
//! - A query begins within the statement. It may have parallel workers that read an index.
//! - The next row belongs to another subtransaction.
//! - The subtransaction or transaction ends. This is a safety net for an extension that inserts without
//!   `aminsertcleanup`.
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
use std::mem::ManuallyDrop;

use pgrx::pg_sys::SubTransactionId;
use sketch::pipeline::Crew;
use sketch::sort_by_key;

use crate::error::out_of_memory;
use crate::index::layout::{Entry, LockedPage};
use crate::index::minlsh_index::MinlshIndex;
use crate::index::nbtree::Disguise;
use crate::index::sort::{READ_SHARES, RUN_BUFFER, SortedRun, next_of, rewind};
use crate::memory::of_pending;
use crate::pg::guc;
use crate::prelude::*;

/// Maximum number of files, which are read at the same time.
const MOST_RUNS: usize = 32;

/// An index, its file, its table, and true for rows of an UPDATE that changes no column of the index.
type Target = (Oid, Oid, Oid, bool);

/// The entries for a target.
struct PendingBatch {
    target: Target,
    /// In any order.
    entries: Vec<Entry>,
    /// Files with others.
    runs: Vec<SortedRun>,
}

#[derive(Default)]
struct Pending {
    batches: Vec<PendingBatch>,
    /// The target of the batch that is being inserted, and what is left in its files and in memory.
    reading: Option<(Target, Vec<SortedRun>)>,
    /// The next entries of that batch. They descend, so the next one is the last.
    next: Vec<Entry>,
    /// Number of entries for which memory is allocated.
    capacity: usize,
    /// The subtransaction that inserted the rows. It owns the files.
    owner: SubTransactionId,
    /// True during an insertion or while files are read, and after that has failed: an entry may be in the tree or not.
    is_inserting: bool,
}

thread_local! {
    /// Not dropped when the backend exits, because PostgreSQL has closed the files by then.
    static PENDING: ManuallyDrop<RefCell<Pending>> = ManuallyDrop::default();
}

/// Calls `act` with what waits.
fn with<T>(act: impl FnOnce(&mut Pending) -> T) -> T {
    PENDING.with(|pending| act(&mut pending.borrow_mut()))
}

/// Keeps the entries of a row that is being inserted; false if the caller must insert them.
pub fn add(index: &MinlshIndex, heap: &Open, tid: u64, keys: &[u64], unchanged: bool) -> Result<bool> {
    if !versions::HAS_INSERT_CLEANUP || !is_own(heap, tid) {
        return Ok(false);
    }
    // SAFETY: reads the state of this backend.
    let owner = unsafe { pg_sys::GetCurrentSubTransactionId() };
    let target = (index.open().oid(), index.open().class().relfilenode, heap.oid(), unchanged);
    let add = || with(|pending| pending.add(target, owner, tid, keys));
    Ok(add()? || {
        flush()?;
        add()?
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
    /// Adds the entries of a row of `owner`; false if there is no room, if rows of another subtransaction wait, or if
    /// an ERROR has interrupted their insertion.
    fn add(&mut self, target: Target, owner: SubTransactionId, tid: u64, keys: &[u64]) -> Result<bool> {
        let is_interrupted = self.reading.is_some();
        if self.batches.is_empty() && !is_interrupted {
            self.owner = owner;
        }
        let at = self.batches.iter().position(|batch| batch.target == target).unwrap_or(self.batches.len());
        let new = PendingBatch { target, entries: Vec::new(), runs: Vec::new() };
        let is_other = is_interrupted || self.owner != owner;
        if is_other || at == self.batches.len() && memory::push(&mut self.batches, new).is_err() {
            return Ok(false);
        }
        let has_room = self.reserve(at, keys.len()) || self.spill()? && self.reserve(at, keys.len());
        if has_room {
            self.batches[at].entries.extend(keys.iter().map(|key| Entry { key: *key, tid }));
        }
        Ok(has_room)
    }

    /// Makes room for `count` entries in batch `at`, and returns false if that would exceed the memory.
    fn reserve(&mut self, at: usize, count: usize) -> bool {
        let entries = &mut self.batches[at].entries;
        let before = entries.capacity();
        if before - entries.len() < count {
            let left = ((of_pending() - of_files()) / size_of::<Entry>()).saturating_sub(self.capacity);
            let more = entries.len().max(count).min(left);
            if more < count || entries.try_reserve_exact(more).is_err() {
                return false;
            }
            self.capacity += entries.capacity() - before;
        }
        true
    }

    /// Writes the largest batch in memory to a file, and returns false if there may not be one more.
    fn spill(&mut self) -> Result<bool> {
        let most = MOST_RUNS.min(of_files() / (READ_SHARES * RUN_BUFFER.start()));
        let runs: usize = self.batches.iter().map(|batch| batch.runs.len()).sum();
        let largest = self.batches.iter_mut().max_by_key(|batch| batch.entries.len());
        let may_spill = runs < most && !guc::is_temp_file_limited();
        let Some(batch) = largest.filter(|batch| may_spill && !batch.entries.is_empty()) else { return Ok(false) };
        // One more for what is in memory at the end.
        batch.runs.try_reserve(2).map_err(|_| out_of_memory())?;
        batch.runs.push(SortedRun::in_file(&mut batch.entries, of_files(), &mut Crew::Alone(&mut check_interrupts))?);
        self.capacity -= std::mem::take(&mut batch.entries).capacity();
        Ok(true)
    }

    /// Chooses the next entries to insert, and returns their target; `None` at the end. After an ERROR it goes on.
    fn advance(&mut self) -> Result<Option<Target>> {
        loop {
            if let Some((target, runs)) = &mut self.reading {
                if self.next.is_empty() {
                    self.is_inserting = true;
                    self.next = next_of(runs)?;
                    self.is_inserting = false;
                    sort_by_key(&mut self.next, &mut check_interrupts);
                    self.next.reverse();
                }
                if !self.next.is_empty() {
                    return Ok(Some(*target));
                }
            }
            let Some(batch) = self.batches.last_mut() else { return Ok(None) };
            // An ERROR leaves all entries in some order.
            sort_by_key(&mut batch.entries, &mut check_interrupts);
            rewind(&mut batch.runs, of_files() / READ_SHARES)?;
            let Some(PendingBatch { target, mut entries, mut runs }) = self.batches.pop() else { return Ok(None) };
            if runs.is_empty() {
                entries.reverse();
                self.next = entries;
            } else {
                runs.push(SortedRun::in_memory(entries));
            }
            self.reading = Some((target, runs));
        }
    }
}

/// Bytes for copies of entries that are written to files, and later for those that are read.
fn of_files() -> usize {
    of_pending() / 4
}

/// Inserts all entries that wait. After an ERROR the others wait on, if the transaction goes on.
pub fn flush() -> Result<()> {
    if !is_any() {
        return Ok(());
    }
    let lacking = || {
        wrong_state("an index of type minlsh lacks entries of a new row after an error").set_hint(
            "Roll back to a savepoint before the statement that inserted the row, or roll back the transaction.",
        )
    };
    // An ERROR of the tree or of a file was caught.
    if with(|pending| pending.is_inserting) {
        return Err(lacking());
    }
    while let Some((index, file, heap, unchanged)) = with(Pending::advance)? {
        let open = |relation| Open::relation(relation, Lock::Write);
        let index = open(index).filter(|index| index.class().relfilenode == file);
        // An extension has left entries waiting, and the index has a new file.
        let (Some(index), Some(heap)) = (index, open(heap)) else { return Err(lacking()) };
        let (index, mut memory) = (MinlshIndex::of(&index)?, Memory::scratch(c"minlsh entry"));
        while memory.run_and_reset(|| insert_next(&index, &heap, unchanged)) {}
    }
    with(std::mem::take);
    Ok(())
}

/// [`flush`] for callbacks of PostgreSQL.
pub fn flush_if_any() {
    if is_any() {
        answer(flush);
    }
}

fn is_any() -> bool {
    with(|pending| pending.reading.is_some() || !pending.batches.is_empty())
}

/// Inserts the next of the entries that [`Pending::advance`] has chosen. Returns false after the last one.
fn insert_next(index: &MinlshIndex, heap: &Open, unchanged: bool) -> bool {
    check_interrupts();
    let next = with(|pending| {
        pending.is_inserting = true;
        pending.next.pop()
    });
    next.into_iter().for_each(|entry| insert(index, heap, entry, unchanged));
    with(|pending| pending.is_inserting = false);
    next.is_some()
}

/// Inserts the entries of a subtransaction that is about to commit.
pub fn flush_if_of(own: SubTransactionId) {
    if with(|pending| pending.owner == own) {
        flush_if_any();
    }
}

/// Drops the entries of a subtransaction that is over, or of one of its parts, which have greater numbers.
pub fn forget(own: SubTransactionId) {
    PENDING.with(|pending| match pending.try_borrow_mut() {
        Ok(mut pending) if pending.owner >= own => *pending = Pending::default(),
        // Others have them. Or a FATAL error during the sort ends the backend, which needs no entries.
        _ => (),
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
