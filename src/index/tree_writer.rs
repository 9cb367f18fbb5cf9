//! A build's tree: pages written from sorted entries.
//!
//! Leaf pages are filled left to right, then each level above them.

use pgrx::pg_sys::{self, BlockNumber, Relation};

use crate::error::Result;
use crate::index::layout::{self, Entry, Layout};
use crate::index::nbtree::{self, HIGH_KEY, LEAF, META_BLOCK, NO_BLOCK, Opaque, ROOT, Separator};
use crate::index::page_file::PageFile;
use crate::index::pages::{BufferedPage, LINE_POINTER, ROOM, TUPLE_HEADER};
use crate::pg::interrupts::check_interrupts;

/// Inner pages are filled to that many bytes, as nbtree fills them (`BTREE_NONLEAF_FILLFACTOR`).
const INNER_ROOM: usize = ROOM * 70 / 100;
/// Bytes of an item with a posting list, at most, as nbtree's build has it.
const MAX_LIST: usize = pg_sys::BLCKSZ as usize / 10 / 8 * 8 - LINE_POINTER;
/// Bytes of a row's address.
const TID: usize = size_of::<pg_sys::ItemPointerData>();

/// A page of the level below: where it is, and the pivot that separates it from the one to its left.
struct Child {
    block: BlockNumber,
    /// The place of the pivot among `Level::pivots`; empty for the leftmost page of a level.
    pivot: std::ops::Range<usize>,
}

/// The pages of one level, from left to right.
#[derive(Default)]
struct Level {
    children: Vec<Child>,
    pivots: Vec<u8>,
}

/// Writes the tree of an index whose file is empty but for the metapage and the options.
pub struct TreeWriter<'a> {
    index: Relation,
    file: PageFile,
    layout: &'a Layout,
    separator: Separator,
    /// Bytes of a full leaf page.
    room: usize,
    /// The most rows of one key that an item takes.
    list: usize,
    /// Bytes of the pending items, and the rows of the last one.
    used: usize,
    last: usize,
    leaves: Level,
    /// The entries of the next leaf page.
    pending: Vec<Entry>,
    previous: BlockNumber,
    entries: u64,
}

impl<'a> TreeWriter<'a> {
    /// # Safety
    /// `index` is open, has that layout, and nobody else writes it.
    pub unsafe fn new(
        index: Relation,
        layout: &'a Layout,
        fillfactor: usize,
        deduplicate: bool,
    ) -> Result<Self> {
        let item = layout.size() + LINE_POINTER;
        // The high key takes part of the page: a pivot may be longer than an entry by a TID.
        let room = (ROOM - item - 8) * fillfactor / 100;
        // As much of a page as nbtree's own build gives a list at most.
        let list = if deduplicate { (MAX_LIST - layout.size()) / TID } else { 1 };
        // SAFETY: the caller's promise.
        let (file, separator) = unsafe { (PageFile::of(index)?, Separator::of(index)) };
        Ok(Self {
            index,
            file,
            layout,
            separator,
            room,
            list,
            used: 0,
            last: 0,
            leaves: Level::default(),
            pending: Vec::new(),
            previous: NO_BLOCK,
            entries: 0,
        })
    }

    /// Adds an entry, not below the last one. Equal ones (a band twice in a row) count once.
    pub fn push(&mut self, entry: Entry) -> Result<()> {
        if self.pending.last() == Some(&entry) {
            return Ok(());
        }
        self.entries += 1;
        self.pending.try_reserve(1).map_err(|_| crate::error::out_of_memory())?;
        let joins = self.pending.last().is_some_and(|last| last.key == entry.key);
        let (rows, more) = match joins && self.last < self.list {
            true => (
                self.last + 1,
                item_size(self.layout, self.last + 1) - item_size(self.layout, self.last),
            ),
            false => (1, item_size(self.layout, 1)),
        };
        self.pending.push(entry);
        (self.last, self.used) = (rows, self.used + more);
        if self.used > self.room {
            check_interrupts();
            self.write_leaf(Some(entry))?;
            self.pending.clear();
            self.pending.push(entry);
            (self.last, self.used) = (1, item_size(self.layout, 1));
        }
        Ok(())
    }

    /// Writes what is pending, without `next`, the first entry of the page after it.
    fn write_leaf(&mut self, next: Option<Entry>) -> Result<()> {
        let count = self.pending.len() - usize::from(next.is_some());
        let block = self.file.next_block();
        let is_first = self.leaves.children.is_empty();
        if is_first {
            self.leaves.push(block, &[])?;
        } else {
            // The pivot that was made as the high key of the page before.
            let end = self.leaves.pivots.len();
            self.leaves.try_reserve(0)?;
            let last = self.leaves.children.last().map_or(0, |child| child.pivot.end);
            self.leaves.children.push(Child { block, pivot: last..end });
        }
        let pivot = next.map(|next| self.pivot(self.pending[count - 1], next));
        let page = self.file.append();
        let root = if is_first && pivot.is_none() { ROOT } else { 0 };
        let next = if pivot.is_some() { block + 1 } else { NO_BLOCK };
        *page.opaque() =
            Opaque { previous: self.previous, next, level: 0, flags: LEAF | root, cycle: 0 };
        if let Some(pivot) = pivot {
            page.add(pivot.len(), |bytes| bytes.copy_from_slice(&pivot));
            self.leaves.try_reserve(pivot.len())?;
            self.leaves.pivots.extend_from_slice(&pivot);
        }
        for same_key in self.pending[..count].chunk_by(|a, b| a.key == b.key) {
            for rows in same_key.chunks(self.list) {
                let size = item_size(self.layout, rows.len()) - LINE_POINTER;
                page.add(size, |bytes| write_item(self.layout, rows, bytes));
            }
        }
        self.previous = block;
        Ok(())
    }

    /// The pivot between two leaf pages.
    fn pivot(&self, last_left: Entry, first_right: Entry) -> Vec<u8> {
        let size = self.layout.size();
        // Words, so that the tuples are aligned.
        let (mut left, mut right) = (vec![0_u64; size / 8], vec![0_u64; size / 8]);
        let [left, right] =
            [(&mut left, last_left), (&mut right, first_right)].map(|(words, entry)| {
                // SAFETY: `size` bytes, a multiple of 8.
                let bytes = unsafe {
                    std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), size)
                };
                self.layout.write(entry, bytes);
                words.as_mut_ptr().cast::<pg_sys::IndexTupleData>()
            });
        // SAFETY: two leaf tuples in order; the result is a tuple as long as its header says.
        unsafe {
            let pivot = self.separator.between(left, right);
            let length = usize::from((*pivot).t_info & nbtree::SIZE_MASK);
            let bytes = std::slice::from_raw_parts(pivot.cast::<u8>(), length).to_vec();
            pg_sys::pfree(pivot.cast());
            bytes
        }
    }

    /// Writes the rest, and the metapage; returns the number of entries.
    pub fn finish(mut self) -> Result<u64> {
        if !self.pending.is_empty() {
            self.write_leaf(None)?;
        }
        let (mut level, mut height) = (std::mem::take(&mut self.leaves), 0);
        while level.children.len() > 1 {
            height += 1;
            level = self.write_inner(&level, height)?;
        }
        let root = level.children.first().map_or(NO_BLOCK, |child| child.block);
        // SAFETY: `new` promises an index that is ours; the metapage exists.
        unsafe {
            let mut page = BufferedPage::existing(self.index, META_BLOCK);
            page.make_meta(root, height);
            page.finish();
        }
        self.file.finish();
        Ok(self.entries)
    }

    /// Writes the level above `below`.
    fn write_inner(&mut self, below: &Level, height: u32) -> Result<Level> {
        let mut level = Level::default();
        let (mut first, mut previous) = (0, NO_BLOCK);
        while first < below.children.len() {
            check_interrupts();
            let end = below.fitting(first);
            let block = self.file.next_block();
            let page = self.file.append();
            let more = end < below.children.len();
            let next = if more { block + 1 } else { NO_BLOCK };
            let flags = if first == 0 && !more { ROOT } else { 0 };
            *page.opaque() = Opaque { previous, next, level: height, flags, cycle: 0 };
            level.push(block, below.pivot(first))?;
            if more {
                let high = below.pivot(end);
                page.add(high.len(), |bytes| bytes.copy_from_slice(high));
            }
            for number in first..end {
                let child = below.children[number].block;
                // The first downlink of a page stands for minus infinity.
                let pivot = if number == first { &[][..] } else { below.pivot(number) };
                page.add(pivot.len().max(TUPLE_HEADER), |bytes| {
                    write_downlink(child, pivot, bytes)
                });
            }
            (first, previous) = (end, block);
        }
        Ok(level)
    }
}

/// The room that an item of so many rows takes, with its line pointer.
fn item_size(layout: &Layout, rows: usize) -> usize {
    let list = if rows == 1 { 0 } else { (TID * rows).next_multiple_of(8) };
    layout.size() + list + LINE_POINTER
}

/// An entry, or a posting list of several of one key (`_bt_form_posting`).
fn write_item(layout: &Layout, rows: &[Entry], bytes: &mut [u8]) {
    let (item, list) = bytes.split_at_mut(layout.size());
    layout.write(rows[0], item);
    if rows.len() == 1 {
        return;
    }
    list.fill(0);
    for (bytes, row) in list.chunks_exact_mut(TID).zip(rows) {
        layout::write_tid(row.tid, bytes);
    }
    // The list's place stands where a plain item has its block, and their number as its offset.
    let place = (item.len() as u64) << 16;
    let count = u64::from(rows.len() as u16 | nbtree::POSTING_LIST);
    layout::write_tid(place | count, &mut item[..TID]);
    let info = (item.len() + list.len()) as u16 | nbtree::ALTERNATIVE_TID;
    item[6..8].copy_from_slice(&info.to_ne_bytes());
}

/// `BTreeTupleSetDownLink`, and for minus infinity `BTreeTupleSetNAtts` with none.
fn write_downlink(child: BlockNumber, pivot: &[u8], bytes: &mut [u8]) {
    if pivot.is_empty() {
        bytes.fill(0);
        let info = TUPLE_HEADER as u16 | nbtree::ALTERNATIVE_TID;
        bytes[6..8].copy_from_slice(&info.to_ne_bytes());
    } else {
        bytes.copy_from_slice(pivot);
    }
    bytes[0..2].copy_from_slice(&((child >> 16) as u16).to_ne_bytes());
    bytes[2..4].copy_from_slice(&(child as u16).to_ne_bytes());
}

impl Level {
    fn push(&mut self, block: BlockNumber, pivot: &[u8]) -> Result<()> {
        self.try_reserve(pivot.len())?;
        let start = self.pivots.len();
        self.pivots.extend_from_slice(pivot);
        self.children.push(Child { block, pivot: start..self.pivots.len() });
        Ok(())
    }

    /// Makes room for a child and that many bytes of pivots.
    fn try_reserve(&mut self, bytes: usize) -> Result<()> {
        let refused = |_| crate::error::out_of_memory();
        self.children.try_reserve(1).map_err(refused)?;
        self.pivots.try_reserve(bytes).map_err(refused)
    }

    fn pivot(&self, number: usize) -> &[u8] {
        &self.pivots[self.children[number].pivot.clone()]
    }

    /// The end of the children from `first` on whose downlinks fit one page with its high key.
    fn fitting(&self, first: usize) -> usize {
        let mut room = INNER_ROOM;
        let mut end = first;
        while end < self.children.len() {
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

const _: () = assert!(HIGH_KEY == 1, "items are added in the order of their offsets");
