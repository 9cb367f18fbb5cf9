//! Pages of a B-tree, written from sorted entries, and read item by item.
//!
//! Leaf pages are filled left to right, then each level above them. Nobody else reads the index
//! meanwhile, and WAL gets the finished pages at the end, so a page needs no care while it is made.

use pgrx::pg_sys::{self, BlockNumber, Buffer, Relation};

use crate::am::layout::{Entry, Layout};
use crate::am::nbtree::{self, HIGH_KEY, LEAF, META_BLOCK, NO_BLOCK, Opaque, ROOT, Separator};
use crate::error::Result;
use crate::pg::interrupts::checkpoint;

const PAGE: usize = pg_sys::BLCKSZ as usize;
const PAGE_HEADER: usize = std::mem::offset_of!(pg_sys::PageHeaderData, pd_linp);
const LINE_POINTER: usize = size_of::<pg_sys::ItemIdData>();
const TUPLE_HEADER: usize = size_of::<pg_sys::IndexTupleData>();
const OPAQUE: usize = size_of::<Opaque>().next_multiple_of(8);
/// Bytes for line pointers and items.
const ROOM: usize = PAGE - PAGE_HEADER - OPAQUE;
/// The longest item [`write_single_item`] takes.
pub const MAX_ITEM: usize = ROOM - LINE_POINTER - TUPLE_HEADER - 8;
/// Inner pages are filled to that many bytes, as nbtree fills them (`BTREE_NONLEAF_FILLFACTOR`).
const INNER_ROOM: usize = ROOM * 70 / 100;

/// A page to be written, locked and pinned. It is given back, dirty, by [`NewPage::finish`]; an ERROR
/// meanwhile releases it.
struct NewPage {
    buffer: Buffer,
    page: *mut u8,
    items: u16,
}

impl NewPage {
    /// Appends an empty page to a fork.
    ///
    /// # Safety
    /// `index` is open, and nobody else writes it.
    unsafe fn append(index: Relation, fork: pg_sys::ForkNumber::Type) -> Self {
        // SAFETY: the caller's promise; P_NEW extends the fork.
        unsafe {
            let buffer = pg_sys::ReadBufferExtended(
                index,
                fork,
                pg_sys::InvalidBlockNumber,
                pg_sys::ReadBufferMode::RBM_NORMAL,
                std::ptr::null_mut(),
            );
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_EXCLUSIVE as i32);
            let page = pg_sys::BufferGetPage(buffer);
            nbtree::init_page(page);
            Self { buffer, page: page.cast(), items: 0 }
        }
    }

    fn block(&self) -> BlockNumber {
        // SAFETY: a pinned buffer.
        unsafe { pg_sys::BufferGetBlockNumber(self.buffer) }
    }

    fn opaque(&mut self) -> &mut Opaque {
        // SAFETY: `init_page` has left that space at the end of the page, aligned.
        unsafe { &mut *self.page.add(PAGE - OPAQUE).cast() }
    }

    /// Adds an item of `size` bytes, written by `write`. Whoever fills a page counts its bytes.
    fn add(&mut self, size: usize, write: impl FnOnce(&mut [u8])) {
        // SAFETY: the page is ours; `pd_lower` and `pd_upper` bound its free space, and the callers
        // add no more than fits (`ROOM`), which is asserted.
        unsafe {
            let header = self.page.cast::<pg_sys::PageHeaderData>();
            let (lower, upper) = ((*header).pd_lower as usize, (*header).pd_upper as usize);
            let start = upper - size.next_multiple_of(8);
            assert!(lower + LINE_POINTER <= start, "a page holds what was counted for it");
            let mut pointer = pg_sys::ItemIdData::default();
            pointer.set_lp_off(start as u32);
            pointer.set_lp_flags(pg_sys::LP_NORMAL);
            pointer.set_lp_len(size as u32);
            self.page.add(lower).cast::<pg_sys::ItemIdData>().write(pointer);
            write(std::slice::from_raw_parts_mut(self.page.add(start), size));
            (*header).pd_lower = (lower + LINE_POINTER) as u16;
            (*header).pd_upper = start as u16;
        }
        self.items += 1;
    }

    fn finish(self) {
        // SAFETY: pinned and locked by `append`.
        unsafe {
            pg_sys::MarkBufferDirty(self.buffer);
            pg_sys::UnlockReleaseBuffer(self.buffer);
        }
    }
}

/// Writes a page that holds one item of our own: an inner page that no downlink leads to. It must
/// become block `block` of the fork. Pages of an init fork are logged at once.
///
/// # Safety
/// `index` is open, and nobody else writes it.
pub unsafe fn write_single_item(
    index: Relation,
    fork: pg_sys::ForkNumber::Type,
    block: BlockNumber,
    item: &[u8],
) {
    // SAFETY: the caller's promise.
    let mut page = unsafe { NewPage::append(index, fork) };
    assert_eq!(page.block(), block, "the page comes right behind the metapage");
    let size = (TUPLE_HEADER + item.len()).next_multiple_of(8);
    page.add(size, |bytes| {
        bytes.fill(0);
        bytes[6..8].copy_from_slice(&(size as u16).to_ne_bytes());
        bytes[TUPLE_HEADER..TUPLE_HEADER + item.len()].copy_from_slice(item);
    });
    if fork == pg_sys::ForkNumber::INIT_FORKNUM {
        // SAFETY: the page is locked and complete; what is logged in a critical section is also
        // marked dirty in it.
        unsafe {
            pg_sys::CritSectionCount += 1;
            pg_sys::MarkBufferDirty(page.buffer);
            pg_sys::log_newpage_buffer(page.buffer, true);
            pg_sys::CritSectionCount -= 1;
        }
    }
    page.finish();
}

/// Reads what [`write_single_item`] has written: the bytes behind the header of item `offset`,
/// without the zeros at their end.
///
/// # Safety
/// `index` is open.
pub unsafe fn read_item(index: Relation, block: BlockNumber, offset: u16) -> Option<Vec<u8>> {
    // SAFETY: the caller's promise.
    let page = unsafe { read_page(index, block) }?;
    let item = page.item(offset)?.get(TUPLE_HEADER..)?;
    let length = item.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    Some(item[..length].to_vec())
}

/// A copy of a page: what is in it is not to be trusted.
pub struct PageCopy(Box<[u8; PAGE]>);

/// Copies a page; `None` if the index has no such block.
///
/// # Safety
/// `index` is open.
pub unsafe fn read_page(index: Relation, block: BlockNumber) -> Option<PageCopy> {
    let fork = pg_sys::ForkNumber::MAIN_FORKNUM;
    let mut copy = Box::new([0; PAGE]);
    // SAFETY: the caller's promise; a page has PAGE bytes, which are copied under lock.
    unsafe {
        if block >= pg_sys::RelationGetNumberOfBlocksInFork(index, fork) {
            return None;
        }
        let buffer = pg_sys::ReadBuffer(index, block);
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
        let page = pg_sys::BufferGetPage(buffer).cast::<u8>();
        copy.copy_from_slice(std::slice::from_raw_parts(page, PAGE));
        pg_sys::UnlockReleaseBuffer(buffer);
    }
    Some(PageCopy(copy))
}

impl PageCopy {
    fn word(&self, offset: usize) -> usize {
        u16::from_ne_bytes([self.0[offset], self.0[offset + 1]]).into()
    }

    fn upper(&self) -> usize {
        self.word(std::mem::offset_of!(pg_sys::PageHeaderData, pd_upper))
    }

    /// The tree's own words at the end of the page; `None` if the page is none of a tree.
    pub fn opaque(&self) -> Option<Opaque> {
        let special = self.word(std::mem::offset_of!(pg_sys::PageHeaderData, pd_special));
        if special != PAGE - OPAQUE {
            return None;
        }
        // SAFETY: the copy has that many bytes there; any bits make an `Opaque`.
        Some(unsafe { self.0.as_ptr().add(special).cast::<Opaque>().read_unaligned() })
    }

    /// The root of the tree, of a metapage; `None` if the page is none.
    pub fn root(&self) -> Option<BlockNumber> {
        self.meta(2)
    }

    /// The level of the root, of a metapage; `None` if the page is none.
    pub fn height(&self) -> Option<u32> {
        self.meta(3)
    }

    /// The page from which searches start, and its level, of a metapage: the lowest level that has one
    /// page only; `None` if the page is none.
    pub fn fast_root(&self) -> Option<(BlockNumber, u32)> {
        self.meta(4).zip(self.meta(5))
    }

    /// Whether equal keys have equal bytes, of a metapage; `None` if the page is none, or says neither.
    pub fn all_equal_image(&self) -> Option<bool> {
        // Behind eight words and a number of eight bytes.
        let flag = *self.0.get(PAGE_HEADER.next_multiple_of(8) + 40)?;
        self.root().and((flag <= 1).then_some(flag == 1))
    }

    /// Word `number` of a metapage.
    fn meta(&self, number: usize) -> Option<u32> {
        let word = |number: usize| {
            let start = PAGE_HEADER.next_multiple_of(8) + number * 4;
            Some(u32::from_ne_bytes(self.0.get(start..start + 4)?.try_into().ok()?))
        };
        (word(0)? == nbtree::MAGIC && word(1)? == nbtree::VERSION).then(|| word(number))?
    }

    /// The number of the last item.
    pub fn last_item(&self) -> u16 {
        let lower = self.word(std::mem::offset_of!(pg_sys::PageHeaderData, pd_lower));
        let end = lower.min(PAGE - OPAQUE);
        (end.saturating_sub(PAGE_HEADER) / LINE_POINTER) as u16
    }

    /// The bytes of item `offset` (from 1); `None` if its line pointer leads astray.
    pub fn item(&self, offset: u16) -> Option<&[u8]> {
        if offset == 0 || offset > self.last_item() {
            return None;
        }
        let place = PAGE_HEADER + (usize::from(offset) - 1) * LINE_POINTER;
        // SAFETY: within the copy, as just checked; any bits make a line pointer.
        let pointer =
            unsafe { self.0.as_ptr().add(place).cast::<pg_sys::ItemIdData>().read_unaligned() };
        let (start, length) = (pointer.lp_off() as usize, pointer.lp_len() as usize);
        let item = self.0.get(start..start.checked_add(length)?)?;
        (length >= TUPLE_HEADER && start >= self.upper()).then_some(item)
    }
}

/// A page of the level below: where it is, and the pivot that separates it from the one to its left.
struct Child {
    block: BlockNumber,
    /// Where the pivot is among `Level::pivots`; empty for the leftmost page of a level.
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
    layout: &'a Layout,
    separator: Separator,
    /// Entries of a full leaf page.
    capacity: usize,
    leaves: Level,
    /// The entries of the next leaf page.
    pending: Vec<Entry>,
    previous: BlockNumber,
    entries: u64,
}

impl<'a> TreeWriter<'a> {
    /// # Safety
    /// `index` is open, has that layout, and nobody else writes it.
    pub unsafe fn new(index: Relation, layout: &'a Layout, fillfactor: usize) -> Self {
        let item = layout.size() + LINE_POINTER;
        // The high key takes part of the page: a pivot may be longer than an entry by a TID.
        let capacity = (ROOM - item - 8) * fillfactor / 100 / item;
        Self {
            index,
            layout,
            // SAFETY: the caller's promise.
            separator: unsafe { Separator::of(index) },
            capacity,
            leaves: Level::default(),
            pending: Vec::with_capacity(capacity + 1),
            previous: NO_BLOCK,
            entries: 0,
        }
    }

    /// Adds an entry, not below the last one. Equal ones (a band twice in a row) count once.
    pub fn push(&mut self, entry: Entry) -> Result<()> {
        if self.pending.last() == Some(&entry) {
            return Ok(());
        }
        self.entries += 1;
        self.pending.push(entry);
        if self.pending.len() > self.capacity {
            checkpoint();
            self.write_leaf(Some(entry))?;
            self.pending.clear();
            self.pending.push(entry);
        }
        Ok(())
    }

    /// Writes what is pending, without `next`, the first entry of the page after it.
    fn write_leaf(&mut self, next: Option<Entry>) -> Result<()> {
        let count = self.pending.len() - usize::from(next.is_some());
        // SAFETY: `new` promises an index that is ours.
        let mut page = unsafe { NewPage::append(self.index, pg_sys::ForkNumber::MAIN_FORKNUM) };
        let block = page.block();
        let follows = if next.is_some() { block + 1 } else { NO_BLOCK };
        *page.opaque() =
            Opaque { previous: self.previous, next: follows, level: 0, flags: LEAF, cycle: 0 };
        if self.leaves.children.is_empty() {
            self.leaves.push(block, &[])?;
        } else {
            // The pivot that was made as the high key of the page before.
            let end = self.leaves.pivots.len();
            self.leaves.try_reserve(0)?;
            let last = self.leaves.children.last().map_or(0, |child| child.pivot.end);
            self.leaves.children.push(Child { block, pivot: last..end });
        }
        if let Some(next) = next {
            let pivot = self.pivot(self.pending[count - 1], next);
            page.add(pivot.len(), |bytes| bytes.copy_from_slice(&pivot));
            self.leaves.try_reserve(pivot.len())?;
            self.leaves.pivots.extend_from_slice(&pivot);
        }
        for entry in &self.pending[..count] {
            page.add(self.layout.size(), |bytes| self.layout.write(*entry, bytes));
        }
        page.finish();
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
        // SAFETY: `new` promises an index that is ours; the metapage and the root exist.
        unsafe {
            if root != NO_BLOCK {
                let page = existing(self.index, root);
                let opaque = page.page.add(PAGE - OPAQUE).cast::<Opaque>();
                (*opaque).flags |= ROOT;
                page.finish();
            }
            let page = existing(self.index, META_BLOCK);
            nbtree::init_metapage(page.page.cast(), root, height);
            page.finish();
        }
        Ok(self.entries)
    }

    /// Writes the level above `below`.
    fn write_inner(&self, below: &Level, height: u32) -> Result<Level> {
        let mut level = Level::default();
        let (mut first, mut previous) = (0, NO_BLOCK);
        while first < below.children.len() {
            checkpoint();
            let end = below.fitting(first);
            // SAFETY: `new` promises an index that is ours.
            let mut page = unsafe { NewPage::append(self.index, pg_sys::ForkNumber::MAIN_FORKNUM) };
            let block = page.block();
            let more = end < below.children.len();
            let follows = if more { block + 1 } else { NO_BLOCK };
            *page.opaque() = Opaque { previous, next: follows, level: height, flags: 0, cycle: 0 };
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
            page.finish();
            (first, previous) = (end, block);
        }
        Ok(level)
    }
}

/// Makes the metapage and nothing else; it becomes block 0.
///
/// # Safety
/// `index` is open, its file is empty, and nobody else writes it.
pub unsafe fn write_metapage(index: Relation) {
    // SAFETY: the caller's promise.
    unsafe {
        let page = NewPage::append(index, pg_sys::ForkNumber::MAIN_FORKNUM);
        nbtree::init_metapage(page.page.cast(), NO_BLOCK, 0);
        page.finish();
    }
}

/// Locks a page that has been written.
///
/// # Safety
/// `index` is open and has that block.
unsafe fn existing(index: Relation, block: BlockNumber) -> NewPage {
    // SAFETY: the caller's promise.
    unsafe {
        let buffer = pg_sys::ReadBuffer(index, block);
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_EXCLUSIVE as i32);
        NewPage { buffer, page: pg_sys::BufferGetPage(buffer).cast(), items: 0 }
    }
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
