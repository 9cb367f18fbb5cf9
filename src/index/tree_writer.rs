//! A build's tree: pages written from sorted entries.
//!
//! Leaf pages are filled left to right, then each level above them. Which entries a leaf page has is decided here; the
//! page is [made](LeafBatch) a batch at a time by whoever is free, in any thread, and comes back to be written.

use std::collections::VecDeque;
use std::sync::Arc;

use pgrx::pg_sys::BlockNumber;
use sketch::Error;

use crate::index::layout::{self, Entry, LINE_POINTER, Layout, TUPLE_HEADER};
use crate::index::minlsh_index::MinlshIndex;
use crate::index::nbtree::{self, HIGH_KEY, NO_BLOCK};
use crate::index::page_file::{BATCH, NewPage, PageFile, ROOM};
use crate::index::sort::EntryTaker;
use crate::index::stored_options::OPTIONS_BLOCK;
use crate::pg::progress::{self, Phase, Tuples};
use crate::prelude::*;

/// Inner pages are filled to that many bytes, as nbtree fills them (`BTREE_NONLEAF_FILLFACTOR`).
const INNER_ROOM: usize = ROOM * 70 / 100;
/// Bytes of an item with a posting list, at most, as nbtree's build has it.
const MAX_LIST: usize = pg_sys::BLCKSZ as usize / 10 / 8 * 8 - LINE_POINTER;
/// Bytes of a leaf page and of its entries.
const PAGE_AND_ENTRIES: usize = 2 * pg_sys::BLCKSZ as usize;

/// The block of the leftmost leaf page.
const LEFTMOST: BlockNumber = OPTIONS_BLOCK + 1;

/// The pages of one level, from left to right, each in the block behind the one before.
#[derive(Default)]
struct TreeLevel {
    /// The block of the leftmost page.
    first: BlockNumber,
    /// For each page the pivot that separates it from the one to its left: where it ends among `pivots`. That of the
    /// leftmost page is empty.
    ends: Vec<usize>,
    pivots: Vec<u8>,
}

/// Writes the tree of an index whose file is empty but for the metapage and the options.
pub struct TreeWriter<'a> {
    file: PageFile<'a>,
    shape: Arc<Shape>,
    /// The number of entries that the sort gives, and the report of those that were taken.
    total: usize,
    taken: Option<Tuples>,
    /// Bytes of a full leaf page, and leaf pages that are made at a time.
    room: usize,
    batch: usize,
    /// Bytes of the items of the next leaf page, and the rows of the last one.
    used: usize,
    last: usize,
    leaves: TreeLevel,
    /// The entries of the next batch, and the end of each of its complete pages, with its high key.
    pending: Vec<Entry>,
    ends: Vec<(usize, Vec<u8>)>,
    ready: VecDeque<(LeafBatch, usize)>,
    entries: u64,
}

impl<'a> TreeWriter<'a> {
    /// A writer of `total` entries of an index into its file, which has leaf pages made that take `memory` bytes at a
    /// time.
    pub fn new(index: &MinlshIndex, file: PageFile<'a>, memory: usize, total: usize) -> Self {
        assert_eq!(file.next_block(), LEFTMOST, "the tree comes right behind the options");
        let layout = &index.layout;
        let (fillfactor, deduplicates) = index.leaf_pages();
        let item = layout.size + LINE_POINTER;
        // The high key takes part of the page: a pivot may be longer than an entry by a TID.
        let room = (ROOM - item - 8) * fillfactor / 100;
        // As much of a page as nbtree's own build gives a list at most.
        let list = if deduplicates { (MAX_LIST - layout.size) / TID } else { 1 };
        Self {
            file,
            shape: Arc::new(Shape { layout: layout.clone(), list }),
            total,
            taken: None,
            room,
            batch: (memory / PAGE_AND_ENTRIES).clamp(1, BATCH),
            used: 0,
            last: 0,
            leaves: TreeLevel { first: LEFTMOST, ..TreeLevel::default() },
            pending: Vec::new(),
            ends: Vec::new(),
            ready: VecDeque::new(),
            entries: 0,
        }
    }

    /// Adds an entry, not below the last one. Equal ones (a band twice in a row) count once.
    fn push(&mut self, entry: Entry) -> Result<()> {
        let before = self.pending.last().copied();
        if before == Some(entry) {
            return Ok(());
        }
        self.entries += 1;
        let joins = before.is_some_and(|before| before.key == entry.key);
        let size = |rows| self.shape.item_size(rows);
        let (rows, more) = match joins && self.last < self.shape.list {
            true => (self.last + 1, size(self.last + 1) - size(self.last)),
            false => (1, size(1)),
        };
        (self.last, self.used) = (rows, self.used + more);
        if self.used > self.room {
            self.end_leaf(Some(entry))?;
            (self.last, self.used) = (1, self.shape.item_size(1));
        }
        memory::push(&mut self.pending, entry).map_err(Into::into)
    }

    /// Ends a leaf page with what is pending, before `next`, the first entry of the page after it.
    fn end_leaf(&mut self, next: Option<Entry>) -> Result<()> {
        let pivot = match (self.pending.last(), next) {
            (Some(last), Some(next)) => self.shape.pivot(*last, next),
            _ => Vec::new(),
        };
        // The last pivot was made as the high key of the page before.
        memory::push(&mut self.leaves.ends, self.leaves.pivots.len())?;
        memory::extend(&mut self.leaves.pivots, &pivot)?;
        memory::push(&mut self.ends, (self.pending.len(), pivot))?;
        if self.ends.len() == self.batch || next.is_none() {
            self.end_batch()?;
        }
        Ok(())
    }

    /// Has the leaf pages made that have ended.
    fn end_batch(&mut self) -> Result<()> {
        let count = self.ends.len();
        let room = memory::with_capacity(self.pending.len())?;
        let batch = LeafBatch {
            shape: self.shape.clone(),
            entries: std::mem::replace(&mut self.pending, room),
            ends: std::mem::take(&mut self.ends),
            first: self.leaves.next_block() - count as BlockNumber,
        };
        self.ready.try_reserve(1).map_err(|_| crate::error::out_of_memory())?;
        self.ready.push_back((batch, count * PAGE_AND_ENTRIES));
        Ok(())
    }

    /// Writes the rest, and the metapage; returns the number of entries.
    pub fn finish(mut self) -> Result<u64> {
        if !self.pending.is_empty() {
            self.end_leaf(None)?;
        }
        while let Some((mut batch, _)) = self.ready.pop_front() {
            let pages = batch.make(&mut { check_interrupts })?;
            self.made(pages)?;
        }
        let (mut level, mut height) = (std::mem::take(&mut self.leaves), 0);
        while level.ends.len() > 1 {
            height += 1;
            level = self.write_inner(&level, height)?;
        }
        let root = if level.ends.is_empty() { NO_BLOCK } else { level.first };
        self.file.set_root(root, height);
        self.file.finish();
        Ok(self.entries)
    }

    fn write_inner(&mut self, below: &TreeLevel, height: u32) -> Result<TreeLevel> {
        let mut level = TreeLevel { first: self.file.next_block(), ..TreeLevel::default() };
        let (mut first, mut pages) = (0, Vec::new());
        while first < below.ends.len() {
            check_interrupts();
            let end = below.fitting(first);
            let block = level.next_block();
            let previous = if first == 0 { NO_BLOCK } else { block - 1 };
            let more = end < below.ends.len();
            let (next, high) = if more { (block + 1, below.pivot(end)) } else { (NO_BLOCK, &[][..]) };
            let mut page = NewPage::of_tree([previous, next], height, high);
            memory::extend(&mut level.pivots, below.pivot(first))?;
            memory::push(&mut level.ends, level.pivots.len())?;
            for number in first..end {
                let child = below.first + number as BlockNumber;
                // The first downlink of a page stands for minus infinity.
                let pivot = if number == first { &[][..] } else { below.pivot(number) };
                page.add(pivot.len().max(TUPLE_HEADER), |bytes| write_downlink(child, pivot, bytes));
            }
            memory::push(&mut pages, page)?;
            if pages.len() == BATCH || !more {
                self.file.append(&mut pages);
                pages.clear();
            }
            first = end;
        }
        Ok(level)
    }
}

impl EntryTaker for TreeWriter<'_> {
    type Part = LeafBatch;
    type Made = Vec<NewPage>;

    fn take(&mut self, entries: &[Entry]) -> Result<()> {
        let begin = || {
            progress::enter(Phase::Writing);
            Tuples::of(self.total as i64)
        };
        self.taken.get_or_insert_with(begin).count(entries.len());
        entries.iter().try_for_each(|entry| self.push(*entry))
    }

    fn ready(&mut self) -> Option<(LeafBatch, usize)> {
        self.ready.pop_front()
    }

    fn make(batch: &mut LeafBatch, check: Check) -> Result<Vec<NewPage>, Error> {
        batch.make(check)
    }

    fn made(&mut self, mut pages: Vec<NewPage>) -> Result<()> {
        self.file.append(&mut pages);
        Ok(())
    }
}

/// Writes the item that leads to a page: its pivot, with the block of the page in place of a row's. Without a pivot it
/// has no attributes and stands for minus infinity. The bytes are zeros.
fn write_downlink(child: BlockNumber, pivot: &[u8], bytes: &mut [u8]) {
    bytes[..pivot.len()].copy_from_slice(pivot);
    let attributes = u16::from_ne_bytes([bytes[4], bytes[5]]);
    write_header(child, attributes, bytes);
}

/// Writes the header of an item that has a number of attributes or of rows in place of a row's offset.
fn write_header(block: BlockNumber, number: u16, item: &mut [u8]) {
    layout::write_tid(u64::from(block) << 16 | u64::from(number), &mut item[..TID]);
    let info = item.len() as u16 | nbtree::ALTERNATIVE_TID;
    item[TID..TUPLE_HEADER].copy_from_slice(&info.to_ne_bytes());
}

impl TreeLevel {
    /// The block of the next page.
    fn next_block(&self) -> BlockNumber {
        self.first + self.ends.len() as BlockNumber
    }

    fn pivot(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.pivots[start..self.ends[number]]
    }

    /// The end of the pages from `first` on whose downlinks fit one page with its high key.
    fn fitting(&self, first: usize) -> usize {
        let mut room = INNER_ROOM;
        let mut end = first;
        while end < self.ends.len() {
            let size = self.pivot(end).len().max(TUPLE_HEADER) + LINE_POINTER;
            // Two downlinks at least: a level must be smaller than the one below.
            if size > room && end > first + 1 {
                break;
            }
            room = room.saturating_sub(size);
            end += 1;
        }
        end
    }
}

const TID: usize = 6;

/// The shape of the leaf pages of an index.
struct Shape {
    layout: Layout,
    /// The most rows of one key that an item takes.
    list: usize,
}

/// Some leaf pages that are to be made, one behind the other.
pub struct LeafBatch {
    shape: Arc<Shape>,
    /// The entries of all; of each page the end of its entries, and its high key, empty for the rightmost.
    entries: Vec<Entry>,
    ends: Vec<(usize, Vec<u8>)>,
    /// The block of the first of them.
    first: BlockNumber,
}

impl Shape {
    /// The room that an item of so many rows takes, with its line pointer.
    fn item_size(&self, rows: usize) -> usize {
        let list = if rows == 1 { 0 } else { (TID * rows).next_multiple_of(8) };
        self.layout.size + list + LINE_POINTER
    }

    /// Writes an entry, or a posting list of several of one key (`_bt_form_posting`).
    fn write_item(&self, rows: &[Entry], bytes: &mut [u8]) {
        let (item, list) = bytes.split_at_mut(self.layout.size);
        self.layout.write(rows[0], item);
        if rows.len() == 1 {
            return;
        }
        list.fill(0);
        for (bytes, row) in list.chunks_exact_mut(TID).zip(rows) {
            layout::write_tid(row.tid, bytes);
        }
        // The list's place stands where a plain item has its block, and their number as its offset.
        let place = item.len() as BlockNumber;
        write_header(place, rows.len() as u16 | nbtree::POSTING_LIST, bytes);
    }

    /// The pivot between two pages, as `_bt_truncate` makes it, but with all attributes: the key of the first entry of
    /// the right one. If the left one ends with that key, its last row stands behind it.
    fn pivot(&self, last_left: Entry, first_right: Entry) -> Vec<u8> {
        let (size, attributes) = (self.layout.size, self.layout.columns() as u16);
        let mut pivot = vec![0; size];
        self.layout.write(first_right, &mut pivot);
        let row = if last_left.key == first_right.key {
            pivot.resize(size + TID.next_multiple_of(8), 0);
            let place = pivot.len() - TID;
            layout::write_tid(last_left.tid, &mut pivot[place..]);
            nbtree::PIVOT_HAS_ROW
        } else {
            0
        };
        write_header(0, attributes | row, &mut pivot);
        pivot
    }
}

impl LeafBatch {
    /// Makes the pages.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; then it can be tried again.
    fn make(&mut self, check: Check) -> Result<Vec<NewPage>, Error> {
        let mut pages = memory::with_capacity(self.ends.len())?;
        let mut start = 0;
        for (block, (end, high_key)) in (self.first..).zip(&self.ends) {
            check();
            memory::push(&mut pages, self.page(block, &self.entries[start..*end], high_key))?;
            start = *end;
        }
        Ok(pages)
    }

    fn page(&self, block: BlockNumber, entries: &[Entry], high_key: &[u8]) -> NewPage {
        let previous = if block == LEFTMOST { NO_BLOCK } else { block - 1 };
        let next = if high_key.is_empty() { NO_BLOCK } else { block + 1 };
        let mut page = NewPage::of_tree([previous, next], 0, high_key);
        for same_key in entries.chunk_by(|a, b| a.key == b.key) {
            for rows in same_key.chunks(self.shape.list) {
                let size = self.shape.item_size(rows.len()) - LINE_POINTER;
                page.add(size, |bytes| self.shape.write_item(rows, bytes));
            }
        }
        page
    }
}

const _: () = assert!(HIGH_KEY == 1, "items are added in the order of their offsets");
