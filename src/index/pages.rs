//! Pages of a B-tree, read where they are: what is in them is not to be trusted.

use std::cmp::Ordering;
use std::ops::Deref;

use pgrx::pg_sys::{BTPageOpaqueData, BlockNumber, Buffer};

use crate::index::layout::{Entry, Layout, read_tid};
use crate::index::nbtree::{self, HIGH_KEY, NO_BLOCK};
use crate::pg::guc::is_serializable;
use crate::prelude::*;

pub const PAGE: usize = pg_sys::BLCKSZ as usize;
pub const PAGE_HEADER: usize = std::mem::offset_of!(pg_sys::PageHeaderData, pd_linp);
pub const LINE_POINTER: usize = size_of::<pg_sys::ItemIdData>();
pub const TUPLE_HEADER: usize = size_of::<pg_sys::IndexTupleData>();
pub const OPAQUE: usize = size_of::<BTPageOpaqueData>().next_multiple_of(8);

/// The bytes of a page.
#[repr(transparent)]
pub struct Page([u8; PAGE]);

/// The content of a metapage: the root of the tree, and the page from which searches start, which is the only one of
/// its level; each with its level.
pub struct Meta {
    pub root: (BlockNumber, u32),
    pub fast_root: (BlockNumber, u32),
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
        // A search comes here for each leaf page, and most transactions need nothing.
        if let Some(snapshot) = snapshot.filter(|_| is_serializable()) {
            let (index, snapshot) = (index.raw(), snapshot.raw());
            // SAFETY: the index is open and the snapshot is held, as their references say; `of` has pinned the buffer.
            unsafe {
                let block = pg_sys::BufferGetBlockNumber(self.buffer);
                pg_sys::PredicateLockPage(index, block, snapshot);
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
        u64::from(self.word(0)) << 32 | u64::from(self.word(4))
    }

    fn word(&self, offset: usize) -> u32 {
        u32::from_ne_bytes([0, 1, 2, 3].map(|byte| self.0[offset + byte]))
    }

    fn header(&self) -> pg_sys::PageHeaderData {
        // SAFETY: a page begins with its header, and any bits make one.
        unsafe { self.0.as_ptr().cast::<pg_sys::PageHeaderData>().read_unaligned() }
    }

    /// The tree's own words at the end of the page; `None` if the page is not part of a tree.
    pub fn opaque(&self) -> Option<BTPageOpaqueData> {
        let special = usize::from(self.header().pd_special);
        if special != PAGE - OPAQUE {
            return None;
        }
        // SAFETY: the page has that many bytes there; any bits make an `BTPageOpaqueData`.
        Some(unsafe { self.0.as_ptr().add(special).cast::<BTPageOpaqueData>().read_unaligned() })
    }

    /// The content of a metapage; `None` of another page, and of a tree in which equal keys may have other bytes.
    pub fn meta(&self) -> Option<Meta> {
        let start = PAGE_HEADER.next_multiple_of(8);
        let word = |number: usize| self.word(start + 4 * number);
        // Behind eight words and a number of eight bytes.
        let all_equal_image = self.0[start + 40] == 1;
        let is_meta = (word(0), word(1)) == (pg_sys::BTREE_MAGIC, pg_sys::BTREE_VERSION)
            && self.opaque()?.btpo_flags == nbtree::META
            && all_equal_image;
        is_meta.then(|| Meta { root: (word(2), word(3)), fast_root: (word(4), word(5)) })
    }

    /// The high key of a page of the tree, or none if it is the rightmost; `None` if that is damaged.
    pub fn high_key(&self, opaque: &BTPageOpaqueData, layout: &Layout) -> Option<Option<Pivot>> {
        if opaque.btpo_next == NO_BLOCK {
            return Some(None);
        }
        Pivot::read(layout, self.item(HIGH_KEY)?).map(Some)
    }

    /// The number of the last item.
    pub fn last_item(&self) -> u16 {
        let lower = usize::from(self.header().pd_lower);
        (lower.min(PAGE - OPAQUE).saturating_sub(PAGE_HEADER) / LINE_POINTER) as u16
    }

    /// The line pointer of item `offset` (from 1); `None` if the page has no such.
    fn line_pointer(&self, offset: u16) -> Option<pg_sys::ItemIdData> {
        if offset == 0 || offset > self.last_item() {
            return None;
        }
        let place = PAGE_HEADER + usize::from(offset - 1) * LINE_POINTER;
        // SAFETY: within the page, as just checked; any bits make a line pointer.
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
        let upper = usize::from(self.header().pd_upper);
        let item = self.0.get(start..start.checked_add(length)?)?;
        (length >= TUPLE_HEADER && start >= upper).then_some(item)
    }
}

/// The first item of a leaf page: behind the high key, which all but the rightmost have.
pub fn first_item(opaque: &BTPageOpaqueData) -> u16 {
    if opaque.btpo_next == NO_BLOCK { HIGH_KEY } else { HIGH_KEY + 1 }
}

/// The key of a leaf item, and its rows: one, or those of a posting list. `None` if it is neither.
#[inline]
pub fn entries<'a>(
    layout: &Layout,
    item: &'a [u8],
) -> Option<(u64, impl ExactSizeIterator<Item = u64> + use<'a>)> {
    let key = layout.key(item)?;
    let half = |start: usize| Some(u16::from_ne_bytes([*item.get(start)?, *item.get(start + 1)?]));
    let info = half(6)?;
    if usize::from(info & !nbtree::ALTERNATIVE_TID) != item.len() {
        return None;
    }
    let mut tids = 0..6;
    if info & nbtree::ALTERNATIVE_TID != 0 {
        let count = half(4)?;
        // The posting list's place stands where a plain item has its block.
        let start = usize::from(half(0)?) << 16 | usize::from(half(2)?);
        if count & !nbtree::COUNT_MASK != nbtree::POSTING_LIST || start != layout.size {
            return None;
        }
        tids = start..start + usize::from(count & nbtree::COUNT_MASK) * 6;
        if tids.end.next_multiple_of(8) != item.len() {
            return None;
        }
    } else if item.len() != layout.size {
        return None;
    }
    let (tids, _) = item.get(tids)?.as_chunks();
    Some((key, tids.iter().map(read_tid)))
}

/// The page that an item of an inner page leads to; `None` if it is too short.
pub fn downlink(item: &[u8]) -> Option<pg_sys::BlockNumber> {
    Some((read_tid(item.first_chunk()?) >> 16) as pg_sys::BlockNumber)
}

/// A bound between two pages: the leading attributes of a key, and perhaps a row. What is missing is minus
/// infinity.
#[derive(Clone, Copy, Debug)]
pub struct Pivot {
    attributes: u16,
    key: u64,
    row: Option<u64>,
}

impl Pivot {
    /// Reads a pivot; `None` if the item is not one.
    pub fn read(layout: &Layout, item: &[u8]) -> Option<Self> {
        let half =
            |start: usize| Some(u16::from_ne_bytes([*item.get(start)?, *item.get(start + 1)?]));
        let (info, count) = (half(6)?, half(4)?);
        if usize::from(info) != item.len() | usize::from(nbtree::ALTERNATIVE_TID)
            || count & nbtree::POSTING_LIST != 0
        {
            return None;
        }
        let attributes = count & nbtree::COUNT_MASK;
        let row = if count & nbtree::PIVOT_HAS_ROW != 0 {
            Some(read_tid(item.last_chunk()?))
        } else {
            None
        };
        Some(Self { attributes, key: layout.prefix(item, attributes.into())?, row })
    }

    /// Its leading attributes as a key.
    pub fn key(self) -> u64 {
        self.key
    }

    /// Compares a key with this bound. The entries of a lesser one are to the left of it, those of a greater one to
    /// the right, and those of an equal one may be on both sides.
    pub fn order(self, layout: &Layout, key: u64) -> Ordering {
        let complete = usize::from(self.attributes) == layout.columns();
        let leading = if complete { key } else { layout.leading(key, self.attributes.into()) };
        let order = leading.cmp(&self.key);
        if complete && self.row.is_some() { order } else { order.then(Ordering::Greater) }
    }

    /// True if an entry may be on the page to the left of this bound.
    pub fn bounds(self, layout: &Layout, entry: Entry) -> bool {
        let leading = layout.leading(entry.key, self.attributes.into());
        leading < self.key || (leading == self.key && self.row.is_some_and(|row| entry.tid <= row))
    }
}
