//! The way from the first search for a row to the second one.
//!
//! INSERT ... ON CONFLICT under an exclusion constraint searches for the keys of a row, inserts them, and searches
//! again: somebody else may have inserted a row meanwhile. The second search begins at the leaf pages to which the
//! first one came, and need not go down the tree.
//!
//! A key is never to the left of the page where it was found, or was to be expected. Pages are split to the right, and
//! when one is deleted, its keys are those of the page to its right. Nobody makes another page of it as long as a
//! snapshot from before is held. So a trail is followed within one command, whose snapshot is held until its end; and
//! in one file, of which no command cuts off pages that it has open.

use std::cell::Cell;

use pgrx::pg_sys::{self, BlockNumber, CommandId, Oid, Relation};
use sketch::memory;

use crate::error::{Result, engine};
use crate::index::nbtree::NO_BLOCK;
use crate::index::stored_options;

/// The leaf pages of some keys.
#[derive(Default)]
pub struct Trail {
    keys: Vec<u64>,
    /// By key: the first page that may have it, and about where.
    leaves: Vec<(BlockNumber, u16)>,
}

impl Trail {
    /// Forgets all but the keys that are searched for now.
    pub fn start(&mut self, keys: &[u64]) -> Result<()> {
        self.keys.clear();
        self.leaves.clear();
        memory::extend(&mut self.keys, keys).map_err(engine)?;
        memory::resize(&mut self.leaves, keys.len(), (NO_BLOCK, 0)).map_err(engine)
    }

    /// Notes that the first page that may have a key was read, and where in it the key is.
    pub fn note(&mut self, number: usize, block: BlockNumber, place: u16) {
        if let Some(leaf) = self.leaves.get_mut(number)
            && leaf.0 == NO_BLOCK
        {
            *leaf = (block, place);
        }
    }

    /// True if it leads to all of these keys, and to no others.
    pub fn leads_to(&self, keys: &[u64]) -> bool {
        self.keys == keys && self.leaves().all(|(block, _)| block != NO_BLOCK)
    }

    /// The page of each key, in their order, and about where the key is in it.
    pub fn leaves(&self) -> impl Iterator<Item = (BlockNumber, u16)> {
        self.leaves.iter().copied()
    }
}

/// The trail of the last search.
struct Last {
    index: (Oid, u32),
    command: CommandId,
    /// True if a row was inserted into the index since.
    is_inserted: bool,
    trail: Trail,
}

thread_local! {
    static LAST: Cell<Option<Last>> = const { Cell::new(None) };
}

/// True for the scan of an exclusion constraint, which alone has such a snapshot.
///
/// # Safety
/// `scan` is a scan.
pub unsafe fn is_of_constraint(scan: pg_sys::IndexScanDesc) -> bool {
    // SAFETY: the caller's promise: the snapshot is null or valid.
    unsafe { (*scan).xs_snapshot.as_ref() }
        .is_some_and(|it| it.snapshot_type == pg_sys::SnapshotType::SNAPSHOT_DIRTY)
}

/// The trail that a search of an index by a constraint may follow, if it is of the same keys.
///
/// # Safety
/// `index` is open.
pub unsafe fn take(index: Relation) -> Trail {
    let Some(Last { index: of, command, is_inserted, mut trail }) = LAST.take() else {
        return Trail::default();
    };
    // SAFETY: the caller's promise.
    let is_same = unsafe { of == identity(index) && command == pg_sys::GetCurrentCommandId(false) };
    if !is_same || !is_inserted {
        trail.leaves.clear();
        trail.keys.clear();
    }
    trail
}

/// Keeps the trail of a search that is complete. The caller has it forgotten at the end of a transaction.
///
/// # Safety
/// `index` is open.
pub unsafe fn keep(index: Relation, trail: Trail) {
    // SAFETY: the caller's promise.
    let (index, command) = unsafe { (identity(index), pg_sys::GetCurrentCommandId(false)) };
    LAST.set(Some(Last { index, command, is_inserted: false, trail }));
}

/// Notes that a row was inserted into an index: the next search for its keys is the second one.
///
/// # Safety
/// `index` is open.
pub unsafe fn inserted(index: Relation) {
    if let Some(mut last) = LAST.take() {
        // SAFETY: the caller's promise.
        last.is_inserted |= last.index == unsafe { identity(index) };
        LAST.set(Some(last));
    }
}

/// Forgets the trail at the end of a transaction, or of a part of it.
pub fn forget() {
    LAST.take();
}

/// # Safety
/// `index` is open.
unsafe fn identity(index: Relation) -> (Oid, u32) {
    // SAFETY: the caller's promise.
    unsafe { ((*index).rd_id, stored_options::file_number(index)) }
}
