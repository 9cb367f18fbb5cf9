//! The pages of a build, filled item by item, and written one after another to the file of an index.
//!
//! No one else reads an index while it is built, and the WAL gets finished pages, so pages are filled without locks.
//! They bypass the shared buffers, as in PostgreSQL's own builds, so they are neither written twice nor read again for
//! the WAL. Only the metapage is written again, in a buffer, when the root of the tree is known.

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{BTPageOpaqueData, BlockNumber, XLogRecPtr};

use crate::index::layout::{LINE_POINTER, OPAQUE, PAGE, PAGE_HEADER, TUPLE_HEADER};
use crate::index::nbtree::{LEAF, META_BLOCK, NO_BLOCK, ROOT};
use crate::pg::versions::{self, locator, new_file_by};
use crate::prelude::*;

/// Bytes of a page for line pointers and items.
pub const ROOM: usize = PAGE - PAGE_HEADER - OPAQUE;
/// Size of the longest item that [`NewPage::hold`] takes.
pub const MAX_ITEM: usize = ROOM - LINE_POINTER - TUPLE_HEADER - 8;

/// A page in progress, aligned so that direct I/O can write it.
#[repr(C, align(4096))]
pub struct NewPage([u8; PAGE]);

impl NewPage {
    /// An empty page, like the result of `_bt_pageinit`. Any thread may call this.
    fn empty() -> Self {
        let mut page = Self([0; PAGE]);
        let header = page.header();
        header.pd_lower = PAGE_HEADER as u16;
        header.pd_upper = (PAGE - OPAQUE) as u16;
        header.pd_special = (PAGE - OPAQUE) as u16;
        header.pd_pagesize_version = PAGE as u16 | pg_sys::PG_PAGE_LAYOUT_VERSION as u16;
        page
    }

    fn header(&mut self) -> &mut pg_sys::PageHeaderData {
        // SAFETY: a page begins with its header, for which any bits are valid.
        unsafe { &mut *self.0.as_mut_ptr().cast() }
    }

    /// Makes it the metapage of an empty tree whose equal keys have equal bytes.
    pub fn make_meta(&mut self) {
        // SAFETY: an aligned page, mutably borrowed.
        unsafe { pg_sys::_bt_initmetapage(self.0.as_mut_ptr().cast(), NO_BLOCK, 0, true) };
    }

    /// Fills an empty page with one item of minlsh's: an inner page without a downlink.
    pub fn hold(&mut self, item: &[u8]) {
        let size = (TUPLE_HEADER + item.len()).next_multiple_of(8);
        self.add(size, |bytes| {
            bytes[6..8].copy_from_slice(&(size as u16).to_ne_bytes());
            bytes[TUPLE_HEADER..TUPLE_HEADER + item.len()].copy_from_slice(item);
        });
    }

    /// A page of a tree between its siblings `left` and `right`. The rightmost one has an empty `high_key`.
    pub fn of_tree([left, right]: [BlockNumber; 2], level: u32, high_key: &[u8]) -> Self {
        let leaf = if level == 0 { LEAF } else { 0 };
        let root = if [left, right] == [NO_BLOCK; 2] { ROOT } else { 0 };
        let place = BTPageOpaqueData {
            btpo_prev: left,
            btpo_next: right,
            btpo_level: level,
            btpo_flags: leaf | root,
            btpo_cycleid: 0,
        };
        let mut page = Self::empty();
        // SAFETY: `empty` left this aligned space at the end of the page.
        unsafe { page.0.as_mut_ptr().add(PAGE - OPAQUE).cast::<BTPageOpaqueData>().write(place) };
        if right != NO_BLOCK {
            page.add(high_key.len(), |bytes| bytes.copy_from_slice(high_key));
        }
        page
    }

    /// Adds an item of `size` bytes, which `write` fills in. The caller makes sure that it fits.
    pub fn add(&mut self, size: usize, write: impl FnOnce(&mut [u8])) {
        let header = self.header();
        let (lower, upper) = (header.pd_lower as usize, header.pd_upper as usize);
        let start = upper - size.next_multiple_of(8);
        // Callers add no more than fits (`ROOM`).
        assert!(lower + LINE_POINTER <= start, "a page holds what was counted for it");
        header.pd_lower = (lower + LINE_POINTER) as u16;
        header.pd_upper = start as u16;
        let mut pointer = pg_sys::ItemIdData::default();
        pointer.set_lp_off(start as u32);
        pointer.set_lp_flags(pg_sys::LP_NORMAL);
        pointer.set_lp_len(size as u32);
        let place = &mut self.0[lower..lower + LINE_POINTER];
        // SAFETY: the slice has this many bytes.
        unsafe { place.as_mut_ptr().cast::<pg_sys::ItemIdData>().write_unaligned(pointer) };
        write(&mut self.0[start..start + size]);
    }
}

/// Number of pages that are written together: as many as a WAL record takes.
pub const BATCH: usize = pg_sys::XLR_MAX_BLOCK_ID as usize;

/// Appends pages to a fork of an index.
pub struct PageFile<'a> {
    index: &'a Open,
    fork: pg_sys::ForkNumber::Type,
    needs_wal: bool,
    /// The WAL position from which a crash would have replayed when the first page was begun.
    redo: XLogRecPtr,
    /// Number of its pages.
    count: BlockNumber,
}

impl<'a> PageFile<'a> {
    /// A fork of an index without another writer. The init fork, from which an unlogged index is restored after a
    /// crash, is logged.
    pub fn of(index: &'a Open, fork: pg_sys::ForkNumber::Type) -> Self {
        let needs_wal = fork == pg_sys::ForkNumber::INIT_FORKNUM || needs_wal(index);
        // SAFETY: reads shared state, and the size of a fork of an open relation.
        let (redo, count) = unsafe {
            let redo = if needs_wal { pg_sys::GetRedoRecPtr() } else { 0 };
            (redo, pg_sys::RelationGetNumberOfBlocksInFork(index.raw(), fork))
        };
        Self { index, fork, needs_wal, redo, count }
    }

    fn storage(&self) -> pg_sys::SMgrRelation {
        let index = self.index.entry();
        // SAFETY: an open relation has its file.
        unsafe { pg_sys::smgropen(locator(index), index.rd_backend) }
    }

    /// Block number of the next page.
    pub fn next_block(&self) -> BlockNumber {
        self.count
    }

    /// Appends an empty page after `make` has filled it. The page lives only in this call: without memory the stack
    /// cannot grow for pages of callers.
    #[inline(never)]
    pub fn append_one(&mut self, make: impl FnOnce(&mut NewPage)) {
        let mut page = NewPage::empty();
        make(&mut page);
        self.append(std::slice::from_mut(&mut page));
    }

    /// Appends finished pages, at most a batch: to the WAL first, which sets their positions.
    pub fn append(&mut self, made: &mut [NewPage]) {
        check_interrupts();
        let pointers = made.iter_mut().map(|page| std::ptr::from_mut(page).cast());
        let mut pages: Vec<pg_sys::Page> = pointers.collect();
        let mut blocks: Vec<BlockNumber> = (self.count..).take(pages.len()).collect();
        let count = pages.len() as i32;
        // SAFETY: the index is open, and there are `count` finished pages, each with its block number. `smgrextend`
        // registers each page with the checkpointer.
        unsafe {
            if self.needs_wal {
                let mut locator = locator(self.index.entry());
                let (blocks, pages) = (blocks.as_mut_ptr(), pages.as_mut_ptr());
                pg_sys::log_newpages(&mut locator, self.fork, count, blocks, pages, true);
            }
            let file = self.storage();
            for (&block, &page) in blocks.iter().zip(&pages) {
                pg_sys::PageSetChecksumInplace(page, block);
                pg_sys::smgrextend(file, self.fork, block, page.cast(), false);
            }
        }
        self.count += count as BlockNumber;
    }

    /// Writes the first page again: the metapage of a tree with root `root`.
    pub fn set_root(&self, root: BlockNumber, height: u32) {
        let (mode, strategy) = (pg_sys::ReadBufferMode::RBM_NORMAL, std::ptr::null_mut());
        let exclusive = pg_sys::BUFFER_LOCK_EXCLUSIVE as i32;
        // SAFETY: the index is open, and has this page. Its buffer is pinned and exclusively locked until it is
        // finished. It is marked dirty in the critical section that logs it. An earlier ERROR releases it.
        unsafe {
            let index = self.index.raw();
            let buffer = pg_sys::ReadBufferExtended(index, self.fork, META_BLOCK, mode, strategy);
            pg_guard_ffi_boundary(|| versions::LockBuffer(buffer, exclusive));
            pg_sys::CritSectionCount += 1;
            pg_sys::_bt_initmetapage(pg_sys::BufferGetPage(buffer), root, height, true);
            pg_sys::MarkBufferDirty(buffer);
            if self.needs_wal {
                pg_sys::log_newpage_buffer(buffer, true);
            }
            pg_sys::CritSectionCount -= 1;
            pg_sys::UnlockReleaseBuffer(buffer);
        }
    }

    /// Makes the file durable.
    pub fn finish(self) {
        // Pages that are not in the WAL are synced with the file, when the transaction or the server ends. A checkpoint
        // may have come between logging a page and writing it. It did not sync the page, and a crash would not replay
        // it.
        // SAFETY: reads shared state, and syncs the file of an open index.
        unsafe {
            if self.needs_wal && pg_sys::GetRedoRecPtr() != self.redo {
                pg_sys::smgrimmedsync(self.storage(), self.fork);
            }
        }
    }
}

/// `RelationNeedsWAL`
fn needs_wal(index: &Open) -> bool {
    const INVALID: pg_sys::SubTransactionId = 0;
    let is_permanent = index.class().relpersistence as u8 == pg_sys::RELPERSISTENCE_PERMANENT;
    // SAFETY: reads a setting of this backend.
    let is_archived = unsafe { pg_sys::wal_level } >= pg_sys::WalLevel::WAL_LEVEL_REPLICA as i32;
    let index = index.entry();
    let is_new = index.rd_createSubid != INVALID || new_file_by(index) != INVALID;
    is_permanent && (is_archived || !is_new)
}
