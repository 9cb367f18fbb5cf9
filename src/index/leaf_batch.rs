//! Leaf pages of a build, made of sorted entries a batch at a time: in any thread.

use std::sync::Arc;

use pgrx::pg_sys::BlockNumber;
use sketch::Error;

use crate::index::layout::{self, Entry, Layout};
use crate::index::nbtree::{self, LEAF, NO_BLOCK, Opaque, ROOT};
use crate::index::page_file::FilePage;
use crate::index::pages::LINE_POINTER;
use crate::index::sort::Pool;

/// Bytes of a row's address.
pub const TID: usize = 6;

/// The shape of the leaf pages of an index, and room for those that are made.
pub struct Shape {
    pub layout: Layout,
    /// The most rows of one key that an item takes.
    pub list: usize,
    pub entries: Pool<Entry>,
    pub pages: Pool<FilePage>,
}

/// Some leaf pages that are to be made, one behind the other.
pub struct LeafBatch {
    pub shape: Arc<Shape>,
    /// The entries of all; of each page the end of its entries, and its high key's end among `high_keys`.
    pub entries: Vec<Entry>,
    pub ends: Vec<(usize, usize)>,
    pub high_keys: Vec<u8>,
    /// The block of the first of them, and the first one of the level.
    pub first: BlockNumber,
    pub leftmost: BlockNumber,
}

impl Shape {
    /// The room that an item of so many rows takes, with its line pointer.
    pub fn item_size(&self, rows: usize) -> usize {
        let list = if rows == 1 { 0 } else { (TID * rows).next_multiple_of(8) };
        self.layout.size() + list + LINE_POINTER
    }

    /// Writes an entry, or a posting list of several of one key (`_bt_form_posting`).
    fn write_item(&self, rows: &[Entry], bytes: &mut [u8]) {
        let (item, list) = bytes.split_at_mut(self.layout.size());
        self.layout.write(rows[0], item);
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
}

impl LeafBatch {
    /// Makes the pages.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; then it can be tried again.
    pub fn make(&mut self, check: &mut dyn FnMut()) -> Result<Vec<FilePage>, Error> {
        let mut pages = self.shape.pages.get(self.ends.len())?;
        let (mut block, mut start, mut high_start) = (self.first, 0, 0);
        for &(end, high_end) in &self.ends {
            check();
            let page = FilePage::append_to(&mut pages)?;
            self.fill(page, block, start..end, high_start..high_end);
            (block, start, high_start) = (block + 1, end, high_end);
        }
        self.shape.entries.put(std::mem::take(&mut self.entries));
        Ok(pages)
    }

    fn fill(
        &self,
        page: &mut FilePage,
        block: BlockNumber,
        entries: std::ops::Range<usize>,
        high_key: std::ops::Range<usize>,
    ) {
        let (is_first, is_last) = (block == self.leftmost, high_key.is_empty());
        let previous = if is_first { NO_BLOCK } else { block - 1 };
        let next = if is_last { NO_BLOCK } else { block + 1 };
        let flags = if is_first && is_last { LEAF | ROOT } else { LEAF };
        *page.opaque() = Opaque { previous, next, level: 0, flags, cycle: 0 };
        if !is_last {
            let high_key = &self.high_keys[high_key];
            page.add(high_key.len(), |bytes| bytes.copy_from_slice(high_key));
        }
        for same_key in self.entries[entries].chunk_by(|a, b| a.key == b.key) {
            for rows in same_key.chunks(self.shape.list) {
                let size = self.shape.item_size(rows.len()) - LINE_POINTER;
                page.add(size, |bytes| self.shape.write_item(rows, bytes));
            }
        }
    }
}
