//! The layout of an index: the attributes of a tuple, made of an entry, and the pages of a B-tree that have the tuples.
//! Pages are read where they are: what is in them is not to be trusted.
//!
//! Insert, vacuum and replay read the tuples by the index's own descriptor, so that must be true.
//! The key of an entry is one hash of 64 bits. Its slices, from the top, are the attributes in their
//! order: 48 bits stored as `tid` for the document column, 8 bits as `"char"` for each scope
//! column; both compare as unsigned numbers, so tuples are ordered as keys are. With up to two scope
//! columns an entry takes 16 bytes; the hash has no bits left for a third, which is stored as 0.

use std::cmp::Ordering;
use std::ops::Deref;

use pgrx::pg_sys::{BTPageOpaqueData, BlockNumber, Buffer};

use crate::index::nbtree::{self, HIGH_KEY, NO_BLOCK};
use crate::pg::guc::is_serializable;
use crate::prelude::*;

/// The number of the support function that hashes values of a scope column. Only operator classes
/// for scope columns have it; 6 is the B-tree's own from PostgreSQL 18.
pub const SCOPE_HASH: u16 = 7;

const DOCUMENT_BITS: u32 = 48;
const SCOPE_BITS: u32 = 8;
/// The offset of the attributes in an index tuple.
pub const TUPLE_HEADER: usize = size_of::<pg_sys::IndexTupleData>();

/// One entry of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The hash of the scope columns and a band, its lowest bits cut off (see [`Layout::mask`]).
    pub key: u64,
    /// The row: block and offset, as [`tid_to_u64`] has them.
    pub tid: u64,
}

/// The attributes that hold the slices of a key.
#[derive(Clone, Debug)]
pub struct Layout {
    columns: Vec<Slice>,
    /// The attribute of the document, from 0.
    pub document: usize,
    /// Bytes of an entry's tuple, without its line pointer.
    pub size: usize,
    /// The bits of a key that are stored.
    pub mask: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slice {
    /// The bits below the slice; `None` if the key has no bits left for it.
    shift: Option<u32>,
    offset: usize,
    is_document: bool,
}

/// A row's address as a number, in the order of addresses.
pub fn tid_to_u64(tid: pg_sys::ItemPointerData) -> u64 {
    let block = u64::from(tid.ip_blkid.bi_hi) << 16 | u64::from(tid.ip_blkid.bi_lo);
    block << 16 | u64::from(tid.ip_posid)
}

/// The opposite of [`tid_to_u64`].
pub fn u64_to_tid(tid: u64) -> pg_sys::ItemPointerData {
    pg_sys::ItemPointerData {
        ip_blkid: pg_sys::BlockIdData { bi_hi: (tid >> 32) as u16, bi_lo: (tid >> 16) as u16 },
        ip_posid: tid as u16,
    }
}

impl Layout {
    /// The layout of an index of so many columns, of which that one is the document (from 0).
    pub fn new(count: usize, document: usize) -> Self {
        let (mut free, mut offset) = (u64::BITS, TUPLE_HEADER);
        let mut columns = Vec::with_capacity(count);
        for column in 0..count {
            let is_document = column == document;
            let bits = if is_document { DOCUMENT_BITS } else { SCOPE_BITS };
            if is_document {
                offset = offset.next_multiple_of(align_of::<u16>());
            }
            // The document column's bits are kept for it.
            let reserved = if column < document { DOCUMENT_BITS } else { 0 };
            let shift = free.checked_sub(bits).filter(|left| *left >= reserved);
            free = shift.unwrap_or(free);
            columns.push(Slice { shift, offset, is_document });
            offset += bits as usize / 8;
        }
        let mask = if free == 0 { u64::MAX } else { u64::MAX << free };
        Self { columns, document, size: offset.next_multiple_of(8), mask }
    }

    /// The number of attributes.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// Writes the tuple of an entry: `size` bytes.
    pub fn write(&self, entry: Entry, tuple: &mut [u8]) {
        tuple.fill(0);
        write_tid(entry.tid, &mut tuple[..6]);
        tuple[6..8].copy_from_slice(&(self.size as u16).to_ne_bytes());
        for slice in &self.columns {
            let value = slice.of(entry.key);
            if slice.is_document {
                write_tid(value, &mut tuple[slice.offset..slice.offset + 6]);
            } else {
                tuple[slice.offset] = value as u8;
            }
        }
    }

    /// The key of a tuple that [`Layout::write`] or the B-tree has written from it.
    pub fn key(&self, tuple: &[u8]) -> Option<u64> {
        self.prefix(tuple, self.columns.len())
    }

    /// The first `columns` slices of a key, from a tuple that may lack the others.
    #[inline]
    pub fn prefix(&self, tuple: &[u8], columns: usize) -> Option<u64> {
        let mut key = 0;
        for slice in self.columns.get(..columns)? {
            let value = if slice.is_document {
                read_tid(tuple.get(slice.offset..)?.first_chunk()?)
            } else {
                (*tuple.get(slice.offset)?).into()
            };
            key |= slice.shift.map_or(0, |shift| value << shift);
        }
        Some(key)
    }

    /// A key without all but its first `columns` slices.
    pub fn leading(&self, key: u64, columns: usize) -> u64 {
        let slices = self.columns.iter().take(columns);
        slices.fold(0, |leading, slice| leading | slice.of(key) << slice.shift.unwrap_or(0))
    }
}

impl Slice {
    fn of(self, key: u64) -> u64 {
        let bits = if self.is_document { DOCUMENT_BITS } else { SCOPE_BITS };
        self.shift.map_or(0, |shift| (key >> shift) & (u64::MAX >> (u64::BITS - bits)))
    }
}

/// An `ItemPointerData` as it lies in a tuple.
pub fn write_tid(tid: u64, bytes: &mut [u8]) {
    for (bytes, shift) in bytes.chunks_exact_mut(2).zip([32, 16, 0]) {
        bytes.copy_from_slice(&((tid >> shift) as u16).to_ne_bytes());
    }
}

/// The opposite of [`write_tid`].
pub fn read_tid(bytes: &[u8; 6]) -> u64 {
    let half = |at: usize| u64::from(u16::from_ne_bytes([bytes[at], bytes[at + 1]]));
    half(0) << 32 | half(2) << 16 | half(4)
}

const _: () = assert!(TUPLE_HEADER == 8, "ffi: IndexTupleData is a TID and two bytes");

pub const PAGE: usize = pg_sys::BLCKSZ as usize;
pub const PAGE_HEADER: usize = std::mem::offset_of!(pg_sys::PageHeaderData, pd_linp);
pub const LINE_POINTER: usize = size_of::<pg_sys::ItemIdData>();
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
pub fn entries<'a>(layout: &Layout, item: &'a [u8]) -> Option<(u64, impl ExactSizeIterator<Item = u64> + use<'a>)> {
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
        let half = |start: usize| Some(u16::from_ne_bytes([*item.get(start)?, *item.get(start + 1)?]));
        let (info, count) = (half(6)?, half(4)?);
        if usize::from(info) != item.len() | usize::from(nbtree::ALTERNATIVE_TID) || count & nbtree::POSTING_LIST != 0 {
            return None;
        }
        let attributes = count & nbtree::COUNT_MASK;
        let row = if count & nbtree::PIVOT_HAS_ROW != 0 { Some(read_tid(item.last_chunk()?)) } else { None };
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
