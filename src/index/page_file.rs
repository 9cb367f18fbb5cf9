//! The pages of a build, made item by item, and written behind one another into the file of an index.
//!
//! Nobody else reads an index while it is built, and WAL gets finished pages, so a page needs no care while it is made.
//! The first two are made in buffers. All others pass by these, as those of PostgreSQL's own builds do: so they are not
//! written twice, nor read again for the WAL.

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{BlockNumber, Buffer, XLogRecPtr};
use sketch::Error;

use crate::index::nbtree::{self, NO_BLOCK, Opaque};
use crate::index::pages::{LINE_POINTER, OPAQUE, PAGE, PAGE_HEADER, TUPLE_HEADER};
use crate::pg::versions::{self, locator, new_file_by};
use crate::prelude::*;

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
        page.bytes().init();
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

    /// Its bytes.
    pub fn bytes(&mut self) -> &mut NewPage {
        // SAFETY: a buffer has as many bytes, aligned; `at` has pinned it and locked it for us alone, until `finish`.
        unsafe { &mut *self.page }
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

/// Makes the metapage and nothing else; it becomes block 0 of a file that is empty.
pub fn write_metapage(index: &Open) {
    let mut page = BufferedPage::append(index, pg_sys::ForkNumber::MAIN_FORKNUM);
    page.bytes().make_meta(NO_BLOCK, 0);
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
    page.bytes().add(size, |bytes| {
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

/// Pages that are written together: as many as a record of the WAL takes.
pub const BATCH: usize = pg_sys::XLR_MAX_BLOCK_ID as usize;

const FORK: pg_sys::ForkNumber::Type = pg_sys::ForkNumber::MAIN_FORKNUM;

/// A page at a place from which direct I/O could write it.
#[repr(C, align(4096))]
pub struct FilePage(NewPage);

impl FilePage {
    /// Adds an empty page to some.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn append_to(pages: &mut Vec<Self>) -> Result<&mut NewPage, Error> {
        let place = pages.len();
        memory::push(pages, Self(NewPage::ZERO))?;
        let page = &mut pages[place].0;
        page.init();
        Ok(page)
    }
}

/// Appends pages to an index.
pub struct PageFile<'a> {
    index: &'a Open,
    needs_wal: bool,
    /// The place in the WAL from which a crash would have replayed it when the first page was begun.
    redo: XLogRecPtr,
    /// The number of pages that lie in buffers, which are the first.
    buffered: BlockNumber,
    /// Pages that were not written yet, and the block of the first of them.
    pages: Vec<FilePage>,
    first: BlockNumber,
}

impl<'a> PageFile<'a> {
    /// The file of an index, which nobody else writes.
    pub fn of(index: &'a Open) -> Result<Self> {
        let pages = memory::with_capacity(BATCH)?;
        let needs_wal = needs_wal(index);
        // SAFETY: reads what all backends share.
        let redo = if needs_wal { unsafe { pg_sys::GetRedoRecPtr() } } else { 0 };
        let first = index.pages();
        Ok(Self { index, needs_wal, redo, buffered: first, pages, first })
    }

    fn storage(&self) -> pg_sys::SMgrRelation {
        let index = self.index.entry();
        // SAFETY: an open relation has its file.
        unsafe { pg_sys::smgropen(locator(index), index.rd_backend) }
    }

    /// The block of the next page.
    pub fn next_block(&self) -> BlockNumber {
        self.first + self.pages.len() as BlockNumber
    }

    /// Begins a page; those before it are complete.
    pub fn append(&mut self) -> Result<&mut NewPage> {
        if self.pages.len() == BATCH {
            self.flush();
        }
        FilePage::append_to(&mut self.pages).map_err(Into::into)
    }

    /// Appends complete pages, a batch at most. The first becomes block [`PageFile::next_block`].
    pub fn append_all(&mut self, pages: &mut [FilePage]) {
        self.flush();
        self.write(pages);
    }

    fn flush(&mut self) {
        let mut pages = std::mem::take(&mut self.pages);
        self.write(&mut pages);
        pages.clear();
        self.pages = pages;
    }

    /// Writes the rest. The pages that lie in buffers are complete, and get into the WAL as well.
    pub fn finish(mut self) {
        self.flush();
        if !self.needs_wal {
            // What is not in the WAL is in the file when the transaction or the server ends.
            return;
        }
        // SAFETY: the index is open, and has had those blocks since `of`.
        unsafe {
            pg_sys::log_newpage_range(self.index.raw(), FORK, 0, self.buffered, true);
            // A checkpoint since then may have come between the WAL of a page and its writing: it had nothing to bring
            // to the disk, and a crash would not replay the page.
            if pg_sys::GetRedoRecPtr() != self.redo {
                pg_sys::smgrimmedsync(self.storage(), FORK);
            }
        }
    }

    /// Writes complete pages, a batch at most: into the WAL first, which gives them its place.
    fn write(&mut self, made: &mut [FilePage]) {
        if made.is_empty() {
            return;
        }
        check_interrupts();
        let first = self.first;
        let mut blocks: [BlockNumber; BATCH] =
            std::array::from_fn(|page| first + page as BlockNumber);
        let mut pages = [std::ptr::null_mut(); BATCH];
        let count = made.len().min(BATCH);
        for (pointer, page) in pages.iter_mut().zip(made) {
            *pointer = std::ptr::from_mut(page).cast();
        }
        // SAFETY: the index is open; there are `count` complete pages, each for the block of the same place. The
        // checkpointer is told of each page that is written.
        unsafe {
            if self.needs_wal {
                let mut locator = locator(self.index.entry());
                let (blocks, pages) = (blocks.as_mut_ptr(), pages.as_mut_ptr());
                pg_sys::log_newpages(&mut locator, FORK, count as i32, blocks, pages, true);
            }
            let file = self.storage();
            for (&block, &page) in blocks.iter().zip(&pages).take(count) {
                pg_sys::PageSetChecksumInplace(page, block);
                pg_sys::smgrextend(file, FORK, block, page.cast(), false);
            }
        }
        self.first += count as BlockNumber;
    }
}

/// `RelationNeedsWAL`
fn needs_wal(index: &Open) -> bool {
    const INVALID: pg_sys::SubTransactionId = 0;
    let is_permanent = index.class().relpersistence as u8 == pg_sys::RELPERSISTENCE_PERMANENT;
    // SAFETY: reads a setting.
    let is_archived = unsafe { pg_sys::wal_level } >= pg_sys::WalLevel::WAL_LEVEL_REPLICA as i32;
    let index = index.entry();
    let is_new = index.rd_createSubid != INVALID || new_file_by(index) != INVALID;
    is_permanent && (is_archived || !is_new)
}
