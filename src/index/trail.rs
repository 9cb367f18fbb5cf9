//! The way from the first search for a row to the second one.
//!
//! INSERT ... ON CONFLICT under an exclusion constraint searches for the keys of a row, inserts them, and searches
//! again: somebody else may have inserted a row meanwhile. The second search begins at the leaf pages to which the
//! first one came, and need not go down the tree. There it passes over the rows that the first one has found. Of these
//! it gives those again that the first one gave: what is in the place of such a row may be another one by now. A row
//! that was ruled out stays where it is (see [`own_rows`](super::own_rows)).
//!
//! A key is never to the left of the page where it was found, or was to be expected. Pages are split to the right, and
//! when one is deleted, its keys are those of the page to its right. Nobody makes another page of it as long as a
//! snapshot from before is held. So a trail is followed within one command, whose snapshot is held until its end; and
//! in one file, of which no command cuts off pages that it has open.

use std::cell::Cell;
use std::ops::Range;

use pgrx::pg_sys::{self, BlockNumber, CommandId, Oid, Relation};
use sketch::memory;

use crate::error::{Result, engine};
use crate::index::nbtree::NO_BLOCK;
use crate::pg::versions;

/// The leaf pages of some keys, and what was found there.
#[derive(Default)]
pub struct Trail {
    /// The document that was searched for, as bytes; empty if rows are not ruled out by it.
    document: Vec<u8>,
    keys: Vec<u64>,
    leaves: Vec<Leaf>,
    /// The rows that were found, those of a key behind one another.
    rows: Vec<u64>,
    /// Those that were not ruled out.
    given: Vec<u64>,
    is_followed: bool,
}

/// The place of a key.
#[derive(Clone)]
struct Leaf {
    /// The first page that may have it, and about where.
    block: BlockNumber,
    place: u16,
    /// Its rows among all; of a trail that is followed, those that did not come again yet.
    rows: Range<usize>,
}

/// The most rows that a trail keeps.
const MOST_ROWS: usize = 1 << 16;

impl Trail {
    /// Begins a search for the keys of a document: the trail is followed if it is of the same search, and all of it
    /// forgotten otherwise.
    pub fn begin(&mut self, keys: &[u64], document: &[u8]) -> Result<()> {
        let leads = |leaf: &Leaf| leaf.block != NO_BLOCK;
        self.is_followed =
            self.keys == keys && self.document == document && self.leaves.iter().all(leads);
        if self.is_followed {
            return Ok(());
        }
        self.forget();
        memory::extend(&mut self.document, document).map_err(engine)?;
        memory::extend(&mut self.keys, keys).map_err(engine)?;
        let leaf = Leaf { block: NO_BLOCK, place: 0, rows: 0..0 };
        memory::resize(&mut self.leaves, keys.len(), leaf).map_err(engine)
    }

    /// Forgets all but the room.
    fn forget(&mut self) {
        self.document.clear();
        self.keys.clear();
        self.leaves.clear();
        self.rows.clear();
        self.given.clear();
    }

    /// True if the search that has begun follows it.
    pub fn is_followed(&self) -> bool {
        self.is_followed
    }

    /// Notes that the first page that may have a key was read, and where in it the key is.
    pub fn note(&mut self, number: usize, block: BlockNumber, place: u16) {
        if let Some(leaf) = self.leaves.get_mut(number)
            && leaf.block == NO_BLOCK
        {
            (leaf.block, leaf.place) = (block, place);
        }
    }

    /// The page of each key, in their order, and about where the key is in it.
    pub fn leaves(&self) -> impl Iterator<Item = (BlockNumber, u16)> {
        self.leaves.iter().map(|leaf| (leaf.block, leaf.place))
    }

    /// Appends the rows of an item of a key, in the order of their addresses, to `found`: if the trail is followed,
    /// only those that are new.
    pub fn find(
        &mut self,
        number: usize,
        rows: impl ExactSizeIterator<Item = u64>,
        found: &mut Vec<u64>,
    ) -> std::result::Result<(), sketch::Error> {
        memory::reserve(found, rows.len())?;
        let Some(leaf) = self.leaves.get_mut(number) else {
            found.extend(rows);
            return Ok(());
        };
        if !self.is_followed {
            let (start, end) = (found.len(), self.rows.len());
            found.extend(rows);
            let more = &found[start..];
            if leaf.rows.is_empty() {
                leaf.rows = end..end;
            }
            // A row that is not noted is new to the second search.
            if leaf.rows.end == end && more.len() <= MOST_ROWS - end {
                memory::extend(&mut self.rows, more)?;
                leaf.rows.end += more.len();
            }
            return Ok(());
        }
        for row in rows {
            let mut known = self.rows[leaf.rows.clone()].iter();
            let gone = known.by_ref().take_while(|known| **known < row).count();
            leaf.rows.start += gone;
            if self.rows[leaf.rows.clone()].first() == Some(&row) {
                leaf.rows.start += 1;
            } else {
                found.push(row);
            }
        }
        Ok(())
    }

    /// The rows that the first search gave, which the second one gives again.
    pub fn given(&self) -> &[u64] {
        &self.given
    }

    /// Notes the rows that a search gives.
    pub fn give(&mut self, rows: &[u64]) -> Result<()> {
        self.given.clear();
        memory::extend(&mut self.given, rows).map_err(engine)
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
        trail.forget();
    }
    trail.is_followed = false;
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
    unsafe { ((*index).rd_id, versions::file_number(index)) }
}
