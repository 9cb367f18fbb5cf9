//! The pages of a build, which are written behind one another into the file of an index.
//!
//! They pass by the shared buffers, as those of PostgreSQL's own builds do: a page is complete when it is written, and
//! nobody has read it. So they are not written twice, nor read again for the WAL.

use std::ops::{Deref, DerefMut};

use pgrx::pg_sys::{self, BlockNumber, XLogRecPtr};
use sketch::{Error, memory};

use crate::error::Result;
use crate::index::pages::NewPage;
use crate::pg::interrupts::check_interrupts;
use crate::pg::open::Open;
use crate::pg::versions::{locator, new_file_by};

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
    pub fn append_to(pages: &mut Vec<Self>) -> std::result::Result<&mut Self, Error> {
        let place = pages.len();
        memory::push(pages, Self(NewPage::ZERO))?;
        let page = &mut pages[place];
        page.init();
        Ok(page)
    }
}

impl Deref for FilePage {
    type Target = NewPage;

    fn deref(&self) -> &NewPage {
        &self.0
    }
}

impl DerefMut for FilePage {
    fn deref_mut(&mut self) -> &mut NewPage {
        &mut self.0
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

    /// The storage manager's handle of the file.
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
        FilePage::append_to(&mut self.pages).map(|page| &mut page.0).map_err(Into::into)
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
