//! Pages of a B-tree: made item by item, and read item by item.
//!
//! Nobody else reads an index while it is built, and WAL gets finished pages, so a page needs no care while it is
//! made. The first two are made in buffers, all others in a [file](crate::index::page_file).

use std::ops::{Deref, DerefMut};

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, BlockNumber, Buffer};

use crate::index::nbtree::{self, NO_BLOCK, Opaque};
use crate::pg::open::Open;
use crate::pg::snapshot::Snapshot;
use crate::pg::versions;

const PAGE: usize = pg_sys::BLCKSZ as usize;
const PAGE_HEADER: usize = std::mem::offset_of!(pg_sys::PageHeaderData, pd_linp);
pub const LINE_POINTER: usize = size_of::<pg_sys::ItemIdData>();
pub const TUPLE_HEADER: usize = size_of::<pg_sys::IndexTupleData>();
const OPAQUE: usize = size_of::<Opaque>().next_multiple_of(8);
/// Bytes for line pointers and items.
pub const ROOM: usize = PAGE - PAGE_HEADER - OPAQUE;
/// The longest item [`write_single_item`] takes.
pub const MAX_ITEM: usize = ROOM - LINE_POINTER - TUPLE_HEADER - 8;

/// The bytes of a page that is being made.
#[repr(C, align(8))]
pub struct NewPage([u8; PAGE]);

impl NewPage {
    /// Zeros, of which [`NewPage::init`] makes a page.
    pub const ZERO: Self = Self([0; PAGE]);

    /// Makes zeros an empty page, as `_bt_pageinit` does. Any thread may do this.
    pub fn init(&mut self) {
        // SAFETY: a page begins with its header, and any bits make one.
        let header = unsafe { &mut *self.0.as_mut_ptr().cast::<pg_sys::PageHeaderData>() };
        header.pd_lower = PAGE_HEADER as u16;
        header.pd_upper = (PAGE - OPAQUE) as u16;
        header.pd_special = (PAGE - OPAQUE) as u16;
        header.pd_pagesize_version = PAGE as u16 | pg_sys::PG_PAGE_LAYOUT_VERSION as u16;
    }

    /// Makes it the metapage of a tree with that root, in which equal keys have equal bytes.
    pub fn make_meta(&mut self, root: BlockNumber, height: u32) {
        let page = self.0.as_mut_ptr().cast();
        // SAFETY: the bytes of a page, aligned, which are ours to write; nothing is dropped in the closure.
        unsafe {
            pg_guard_ffi_boundary(|| nbtree::raw::_bt_initmetapage(page, root, height, true))
        };
    }

    /// The tree's own words at the end of the page.
    pub fn opaque(&mut self) -> &mut Opaque {
        // SAFETY: `init` has left that space at the end of the page, which is aligned.
        unsafe { &mut *self.0.as_mut_ptr().add(PAGE - OPAQUE).cast() }
    }

    /// Adds an item of `size` bytes, written by `write`. Whoever fills a page counts its bytes.
    pub fn add(&mut self, size: usize, write: impl FnOnce(&mut [u8])) {
        // SAFETY: a page begins with its header, and any bits make one.
        let header = unsafe { &mut *self.0.as_mut_ptr().cast::<pg_sys::PageHeaderData>() };
        let (lower, upper) = (header.pd_lower as usize, header.pd_upper as usize);
        let start = upper - size.next_multiple_of(8);
        // The callers add no more than fits (`ROOM`).
        assert!(lower + LINE_POINTER <= start, "a page holds what was counted for it");
        header.pd_lower = (lower + LINE_POINTER) as u16;
        header.pd_upper = start as u16;
        let mut pointer = pg_sys::ItemIdData::default();
        pointer.set_lp_off(start as u32);
        pointer.set_lp_flags(pg_sys::LP_NORMAL);
        pointer.set_lp_len(size as u32);
        let place = &mut self.0[lower..lower + LINE_POINTER];
        // SAFETY: the slice has as many bytes.
        unsafe { place.as_mut_ptr().cast::<pg_sys::ItemIdData>().write_unaligned(pointer) };
        write(&mut self.0[start..start + size]);
    }
}

/// A page in a buffer to be written, locked and pinned. It is given back, dirty, by [`BufferedPage::finish`]; an ERROR
/// meanwhile releases it.
pub struct BufferedPage {
    buffer: Buffer,
    page: *mut NewPage,
}

impl BufferedPage {
    /// Appends an empty page to a fork, which nobody else writes.
    pub fn append(index: &Open, fork: pg_sys::ForkNumber::Type) -> Self {
        let mut page = Self::at(index, fork, pg_sys::InvalidBlockNumber);
        page.init();
        page
    }

    /// Locks a page that has been written. An ERROR is raised if there is no such block.
    pub fn existing(index: &Open, block: BlockNumber) -> Self {
        Self::at(index, pg_sys::ForkNumber::MAIN_FORKNUM, block)
    }

    /// Locks a page of a fork, or one more if the block is `P_NEW`.
    fn at(index: &Open, fork: pg_sys::ForkNumber::Type, block: BlockNumber) -> Self {
        let (mode, strategy) = (pg_sys::ReadBufferMode::RBM_NORMAL, std::ptr::null_mut());
        // SAFETY: the relation is open; the buffer is pinned when it is locked.
        unsafe {
            let buffer = pg_sys::ReadBufferExtended(index.raw(), fork, block, mode, strategy);
            let exclusive = pg_sys::BUFFER_LOCK_EXCLUSIVE as i32;
            pg_guard_ffi_boundary(|| versions::LockBuffer(buffer, exclusive));
            Self { buffer, page: pg_sys::BufferGetPage(buffer).cast() }
        }
    }

    /// The number of the block.
    pub fn block(&self) -> BlockNumber {
        // SAFETY: a pinned buffer.
        unsafe { pg_sys::BufferGetBlockNumber(self.buffer) }
    }

    /// Gives the page back.
    pub fn finish(self) {
        // SAFETY: pinned and locked when it was made.
        unsafe {
            pg_sys::MarkBufferDirty(self.buffer);
            pg_sys::UnlockReleaseBuffer(self.buffer);
        }
    }
}

impl Deref for BufferedPage {
    type Target = NewPage;

    fn deref(&self) -> &NewPage {
        // SAFETY: a buffer has as many bytes, aligned; `at` has pinned and locked it, until `finish`.
        unsafe { &*self.page }
    }
}

impl DerefMut for BufferedPage {
    fn deref_mut(&mut self) -> &mut NewPage {
        // SAFETY: a buffer has as many bytes, aligned; `at` has pinned it and locked it for us alone.
        unsafe { &mut *self.page }
    }
}

/// Makes the metapage and nothing else; it becomes block 0 of a file that is empty.
pub fn write_metapage(index: &Open) {
    let mut page = BufferedPage::append(index, pg_sys::ForkNumber::MAIN_FORKNUM);
    page.make_meta(NO_BLOCK, 0);
    page.finish();
}

/// Writes a page that holds one item of our own: an inner page that no downlink leads to. It must
/// become block `block` of the fork, which nobody else writes. Pages of an init fork are logged at once.
pub fn write_single_item(
    index: &Open,
    fork: pg_sys::ForkNumber::Type,
    block: BlockNumber,
    item: &[u8],
) {
    let mut page = BufferedPage::append(index, fork);
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
pub fn read_item(index: &Open, block: BlockNumber, offset: u16) -> Option<Vec<u8>> {
    let page = read_page(index, block)?;
    let item = page.item(offset)?.get(TUPLE_HEADER..)?;
    let length = item.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    Some(item[..length].to_vec())
}

/// The bytes of a page: what is in it is not to be trusted.
#[repr(transparent)]
pub struct Page([u8; PAGE]);

/// A copy of a page.
pub struct PageCopy(Box<Page>);

impl Deref for PageCopy {
    type Target = Page;

    fn deref(&self) -> &Page {
        &self.0
    }
}

/// Copies a page; `None` if the index has no such block.
pub fn read_page(index: &Open, block: BlockNumber) -> Option<PageCopy> {
    let page = (block < index.pages()).then(|| LockedPage::of(index, block))?;
    Some(PageCopy(Box::new(Page(page.0))))
}

/// A page that is read where it is: nobody writes it until this is dropped. Others may only set hint bits of rows in a
/// page of a table, which nobody looks at by this. An ERROR meanwhile releases it.
pub struct LockedPage {
    buffer: Buffer,
    page: *const Page,
}

impl LockedPage {
    /// Locks a page for reading. An ERROR is raised if the relation has no such block.
    pub fn of(relation: &Open, block: BlockNumber) -> Self {
        // Whoever reads a page that it has locked for writing would wait for itself: a build, which alone writes, reads
        // none.
        let buffer = relation.pin_and_lock(block);
        // SAFETY: the buffer stays pinned and locked until `Drop`.
        let page = unsafe { pg_sys::BufferGetPage(buffer) }.cast::<Page>().cast_const();
        Self { buffer, page }
    }

    /// Raises an ERROR if the page has changed since a snapshot that is too old to be kept, of which rows may have been
    /// removed (`old_snapshot_threshold`, which PostgreSQL 17 no longer has).
    pub fn refuse_old(&self, index: &Open, snapshot: Option<&Snapshot>) {
        if let Some(snapshot) = snapshot {
            // SAFETY: both are held.
            unsafe { versions::refuse_old(index.raw(), snapshot.raw(), || self.lsn()) }
        }
    }

    /// In a SERIALIZABLE transaction, has a later insertion into the page conflict with it (`PredicateLockPage`).
    pub fn lock_for_serializable(&self, index: &Open, snapshot: Option<&Snapshot>) {
        // SAFETY: reads a word of the backend. A search comes here for each leaf page, and most transactions need
        // nothing.
        let is_serializable = unsafe { pg_sys::XactIsoLevel } == pg_sys::XACT_SERIALIZABLE as i32;
        if let Some(snapshot) = snapshot.filter(|_| is_serializable) {
            let (index, snapshot) = (index.raw(), snapshot.raw());
            // SAFETY: the index is open and the snapshot is held, as their references say; `of` has pinned the buffer.
            // Nothing is dropped in the closure.
            unsafe {
                let block = pg_sys::BufferGetBlockNumber(self.buffer);
                pg_guard_ffi_boundary(|| nbtree::raw::PredicateLockPage(index, block, snapshot));
            }
        }
    }
}

impl Deref for LockedPage {
    type Target = Page;

    fn deref(&self) -> &Page {
        // SAFETY: a page has as many bytes; `of` has pinned it, and locked it against writers.
        unsafe { &*self.page }
    }
}

impl Drop for LockedPage {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: locked by `of`, released once.
            unsafe { pg_sys::UnlockReleaseBuffer(self.buffer) };
        }
    }
}

impl Page {
    /// The place of the page's last change in the WAL.
    fn lsn(&self) -> u64 {
        let half = |start: usize| {
            let bytes = [0, 1, 2, 3].map(|byte| self.0[start + byte]);
            u64::from(u32::from_ne_bytes(bytes))
        };
        half(0) << 32 | half(4)
    }

    fn word(&self, offset: usize) -> usize {
        u16::from_ne_bytes([self.0[offset], self.0[offset + 1]]).into()
    }

    fn upper(&self) -> usize {
        self.word(std::mem::offset_of!(pg_sys::PageHeaderData, pd_upper))
    }

    /// The tree's own words at the end of the page; `None` if the page is not part of a tree.
    pub fn opaque(&self) -> Option<Opaque> {
        let special = self.word(std::mem::offset_of!(pg_sys::PageHeaderData, pd_special));
        if special != PAGE - OPAQUE {
            return None;
        }
        // SAFETY: the copy has that many bytes there; any bits make an `Opaque`.
        Some(unsafe { self.0.as_ptr().add(special).cast::<Opaque>().read_unaligned() })
    }

    /// The root of the tree, of a metapage; `None` if the page is not one.
    pub fn root(&self) -> Option<BlockNumber> {
        self.meta(2)
    }

    /// The level of the root, of a metapage; `None` if the page is not one.
    pub fn height(&self) -> Option<u32> {
        self.meta(3)
    }

    /// The page from which searches start, and its level, of a metapage: the lowest level that has one
    /// page only; `None` if the page is not one.
    pub fn fast_root(&self) -> Option<(BlockNumber, u32)> {
        self.meta(4).zip(self.meta(5))
    }

    /// True if equal keys have equal bytes, of a metapage; `None` if the page is not one, or says neither.
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
        (lower.min(PAGE - OPAQUE).saturating_sub(PAGE_HEADER) / LINE_POINTER) as u16
    }

    /// The line pointer of item `offset` (from 1); `None` if the page has no such.
    fn line_pointer(&self, offset: u16) -> Option<pg_sys::ItemIdData> {
        if offset == 0 || offset > self.last_item() {
            return None;
        }
        let place = pointer(offset);
        // SAFETY: within the copy, as just checked; any bits make a line pointer.
        Some(unsafe { self.0.as_ptr().add(place).cast::<pg_sys::ItemIdData>().read_unaligned() })
    }

    /// True if a place of the page is taken: by an item, or by what is left of one.
    pub fn is_used(&self, offset: u16) -> bool {
        self.line_pointer(offset).is_some_and(|pointer| pointer.lp_flags() != pg_sys::LP_UNUSED)
    }

    /// The bytes of item `offset` (from 1); `None` if its line pointer leads astray.
    pub fn item(&self, offset: u16) -> Option<&[u8]> {
        let pointer = self.line_pointer(offset)?;
        let (start, length) = (pointer.lp_off() as usize, pointer.lp_len() as usize);
        let item = self.0.get(start..start.checked_add(length)?)?;
        (length >= TUPLE_HEADER && start >= self.upper()).then_some(item)
    }
}

/// The place of a line pointer, from 1.
fn pointer(offset: u16) -> usize {
    PAGE_HEADER + usize::from(offset).saturating_sub(1) * LINE_POINTER
}
