//! The tree of a build: pages written from sorted entries.
//!
//! Leaf pages are filled from left to right, then each level above them. This module decides which entries a leaf page
//! gets. Any thread [makes](LeafBatch) the pages, a batch at a time, and they come back to be written.

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

/// Bytes to which inner pages are filled, as in nbtree (`BTREE_NONLEAF_FILLFACTOR`).
const INNER_ROOM: usize = ROOM * 70 / 100;
/// Maximum size of an item with a posting list, as in nbtree's build.
const MAX_LIST: usize = pg_sys::BLCKSZ as usize / 10 / 8 * 8 - LINE_POINTER;
/// Bytes of a leaf page and its entries.
const PAGE_AND_ENTRIES: usize = 2 * pg_sys::BLCKSZ as usize;

/// Block of the leftmost leaf page.
const LEFTMOST: BlockNumber = OPTIONS_BLOCK + 1;

/// The pages of a level, from left to right, in consecutive blocks.
#[derive(Default)]
struct TreeLevel {
    /// Block of the leftmost page.
    first: BlockNumber,
    /// For each page, the end in `pivots` of the pivot that separates it from its left sibling; the leftmost page's is
    /// empty.
    ends: Vec<usize>,
    pivots: Vec<u8>,
}

/// Writes the tree of an index whose file contains only the metapage and the options.
pub struct TreeWriter<'a> {
    file: PageFile<'a>,
    shape: Arc<Shape>,
    /// Number of entries that the sort passes, and the report of how many were taken.
    total: usize,
    taken: Option<Tuples>,
    /// Bytes of a full leaf page, and the number of leaf pages in a batch.
    room: usize,
    batch: usize,
    /// Bytes of the items on the next leaf page, and the number of rows in its last item.
    used: usize,
    last: usize,
    leaves: TreeLevel,
    /// The entries of the next batch, and for each complete page the end of its entries and its high key.
    pending: Vec<Entry>,
    ends: Vec<(usize, Vec<u8>)>,
    ready: VecDeque<(LeafBatch, usize)>,
    entries: u64,
}

impl<'a> TreeWriter<'a> {
    /// A writer of `total` entries to the file of an index, with batches of leaf pages that take `memory` bytes.
    pub fn new(index: &MinlshIndex, file: PageFile<'a>, memory: usize, total: usize) -> Self {
        assert_eq!(file.next_block(), LEFTMOST, "the tree comes right behind the options");
        let layout = &index.layout;
        let (fillfactor, deduplicates) = index.leaf_pages();
        let item = layout.size + LINE_POINTER;
        // The high key takes part of the page. A pivot may be longer than an entry by a TID.
        let room = (ROOM - item - 8) * fillfactor / 100;
        // The longest posting list, as in nbtree's build.
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

    /// Adds an entry, not less than the last one. Equal entries (a repeated band of a row) count once.
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

    /// Ends a leaf page with the pending entries; `next` is the first entry of the page after it.
    fn end_leaf(&mut self, next: Option<Entry>) -> Result<()> {
        let pivot = match (self.pending.last(), next) {
            (Some(last), Some(next)) => self.shape.pivot(*last, next),
            _ => Vec::new(),
        };
        // The last pivot was made as the previous page's high key.
        memory::push(&mut self.leaves.ends, self.leaves.pivots.len())?;
        memory::extend(&mut self.leaves.pivots, &pivot)?;
        memory::push(&mut self.ends, (self.pending.len(), pivot))?;
        if self.ends.len() == self.batch || next.is_none() {
            self.end_batch()?;
        }
        Ok(())
    }

    /// Passes on the leaf pages that are complete.
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

    /// Writes the rest and the metapage. Returns the number of entries.
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

/// Writes the downlink to a page: its pivot, with the block of the page in place of a row's block. Without a pivot it
/// has no attributes, and stands for minus infinity. `bytes` are zeros.
fn write_downlink(child: BlockNumber, pivot: &[u8], bytes: &mut [u8]) {
    bytes[..pivot.len()].copy_from_slice(pivot);
    let attributes = u16::from_ne_bytes([bytes[4], bytes[5]]);
    write_header(child, attributes, bytes);
}

/// Writes the header of an item that stores a number of attributes or rows in place of a row's offset.
fn write_header(block: BlockNumber, number: u16, item: &mut [u8]) {
    layout::write_tid(u64::from(block) << 16 | u64::from(number), &mut item[..TID]);
    let info = item.len() as u16 | nbtree::ALTERNATIVE_TID;
    item[TID..TUPLE_HEADER].copy_from_slice(&info.to_ne_bytes());
}

impl TreeLevel {
    /// Block of the next page.
    fn next_block(&self) -> BlockNumber {
        self.first + self.ends.len() as BlockNumber
    }

    fn pivot(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.pivots[start..self.ends[number]]
    }

    /// The end of the pages from `first` whose downlinks fit on one page together with its high key.
    fn fitting(&self, first: usize) -> usize {
        let mut room = INNER_ROOM;
        let mut end = first;
        while end < self.ends.len() {
            let size = self.pivot(end).len().max(TUPLE_HEADER) + LINE_POINTER;
            // At least two downlinks: a level must be smaller than the level below.
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

/// The form of the leaf pages of an index.
struct Shape {
    layout: Layout,
    /// Maximum number of rows in an item.
    list: usize,
}

/// Consecutive leaf pages to be made.
pub struct LeafBatch {
    shape: Arc<Shape>,
    /// The entries of all pages, and for each page the end of its entries and its high key, which is empty for the
    /// rightmost.
    entries: Vec<Entry>,
    ends: Vec<(usize, Vec<u8>)>,
    /// Block of the first page.
    first: BlockNumber,
}

impl Shape {
    /// Size of an item with `rows` rows, including its line pointer.
    fn item_size(&self, rows: usize) -> usize {
        let list = if rows == 1 { 0 } else { (TID * rows).next_multiple_of(8) };
        self.layout.size + list + LINE_POINTER
    }

    /// Writes an entry, or a posting list of entries with the same key (`_bt_form_posting`).
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
        // The list's offset is stored in place of a plain item's block, and its length in place of the offset.
        let place = item.len() as BlockNumber;
        write_header(place, rows.len() as u16 | nbtree::POSTING_LIST, bytes);
    }

    /// The pivot between two pages, as `_bt_truncate` makes it, but with all attributes: the key of the first entry on
    /// the right. If the left page ends with this key, its last row follows.
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
    /// [`Error::OutOfMemory`]; the caller may try again.
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
