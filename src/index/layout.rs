//! The layout of an index: the attributes of a tuple, made from an entry, and the B-tree pages that contain the tuples.
//! Pages are read in place, and their content is not trusted.
//!
//! Insert, vacuum and replay read the tuples by the index's own descriptor, so it must describe them. The key of an
//! entry is one 64-bit hash. Its slices, from the highest bits, are the attributes in order: 48 bits as a `tid` for the
//! document column, and 8 bits as a `"char"` for each scope column. Both compare as unsigned numbers, so tuples are
//! ordered like keys. An entry with up to two scope columns takes 16 bytes. The hash has no bits left for a third scope
//! column, which is stored as 0. So is a range column, which takes no part in the keys.

use std::cmp::Ordering;
use std::ops::Deref;

use pgrx::pg_sys::{BTPageOpaqueData, BlockNumber, Buffer};

use crate::index::nbtree::{self, HIGH_KEY, NO_BLOCK};
use crate::pg::guc::is_serializable;
use crate::pg::memory::unless_raised;
use crate::prelude::*;

/// Number of the support function that hashes values of a scope column. Only the operator classes of scope columns have
/// it. Number 6 is the B-tree's own since PostgreSQL 18.
pub const SCOPE_HASH: u16 = 7;

/// The purpose of a column of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The document, which makes the bands.
    Document,
    /// A scope, whose hash is part of each key.
    Scope,
    /// A range. Its values take no part in the keys, and the executor checks its conditions on the rows found.
    Range,
}

impl Role {
    /// The role of a column, by the input type and the support function [`SCOPE_HASH`] of its operator class.
    pub fn of_class(input_type: Oid, hash: Oid) -> Self {
        match input_type {
            _ if hash != Oid::INVALID => Self::Scope,
            pg_sys::ANYRANGEOID | pg_sys::ANYMULTIRANGEOID => Self::Range,
            _ => Self::Document,
        }
    }

    /// Size of the column's attribute: a `tid` or a `"char"`.
    fn bits(self) -> u32 {
        if self == Self::Document { DOCUMENT_BITS } else { u8::BITS }
    }
}

const DOCUMENT_BITS: u32 = 48;
/// Offset of the attributes in an index tuple.
pub const TUPLE_HEADER: usize = size_of::<pg_sys::IndexTupleData>();

/// An entry of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Hash of the scope columns and a band, without its lowest bits (see [`Layout::mask`]).
    pub key: u64,
    /// The row: block and offset, as [`tid_to_u64`] encodes them.
    pub tid: u64,
}

/// The attributes that store the slices of a key.
#[derive(Clone, Debug)]
pub struct Layout {
    columns: Vec<Slice>,
    /// The document's attribute, from 0.
    pub document: usize,
    /// Size of an entry's tuple, without its line pointer.
    pub size: usize,
    /// The stored bits of a key.
    pub mask: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slice {
    role: Role,
    /// The bits below the slice; `None` if the key has no bits for it.
    shift: Option<u32>,
    offset: usize,
}

/// Encodes a row's address as a number that preserves the order.
pub fn tid_to_u64(tid: pg_sys::ItemPointerData) -> u64 {
    let block = u64::from(tid.ip_blkid.bi_hi) << 16 | u64::from(tid.ip_blkid.bi_lo);
    block << 16 | u64::from(tid.ip_posid)
}

/// The inverse of [`tid_to_u64`].
pub fn u64_to_tid(tid: u64) -> pg_sys::ItemPointerData {
    pg_sys::ItemPointerData {
        ip_blkid: pg_sys::BlockIdData { bi_hi: (tid >> 32) as u16, bi_lo: (tid >> 16) as u16 },
        ip_posid: tid as u16,
    }
}

impl Layout {
    /// Layout for columns with these roles; column `document` (from 0) is the document.
    pub fn new(roles: &[Role], document: usize) -> Self {
        let (mut free, mut offset) = (u64::BITS, TUPLE_HEADER);
        let mut columns = Vec::with_capacity(roles.len());
        for (column, &role) in roles.iter().enumerate() {
            if role == Role::Document {
                offset = offset.next_multiple_of(align_of::<u16>());
            }
            // Keeps the document column's bits free.
            let reserved = if column < document { DOCUMENT_BITS } else { 0 };
            let shift = free.checked_sub(role.bits()).filter(|left| role != Role::Range && *left >= reserved);
            free = shift.unwrap_or(free);
            columns.push(Slice { role, shift, offset });
            offset += role.bits() as usize / 8;
        }
        let mask = if free == 0 { u64::MAX } else { u64::MAX << free };
        Self { columns, document, size: offset.next_multiple_of(8), mask }
    }

    /// Number of attributes.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// The scope columns, from 0.
    pub fn scopes(&self) -> impl Iterator<Item = usize> {
        let columns = self.columns.iter().enumerate();
        columns.filter(|(_, slice)| slice.role == Role::Scope).map(|(column, _)| column)
    }

    /// Writes the tuple of an entry: `size` bytes.
    pub fn write(&self, entry: Entry, tuple: &mut [u8]) {
        tuple.fill(0);
        write_tid(entry.tid, &mut tuple[..6]);
        tuple[6..8].copy_from_slice(&(self.size as u16).to_ne_bytes());
        for slice in &self.columns {
            let value = slice.of(entry.key);
            if slice.role == Role::Document {
                write_tid(value, &mut tuple[slice.offset..slice.offset + 6]);
            } else {
                tuple[slice.offset] = value as u8;
            }
        }
    }

    /// The key of a tuple that [`Layout::write`] or, from such a tuple, the B-tree has written.
    pub fn key(&self, tuple: &[u8]) -> Option<u64> {
        self.prefix(tuple, self.columns.len())
    }

    /// The first `columns` slices of a key, from a tuple that may lack the rest.
    #[inline]
    pub fn prefix(&self, tuple: &[u8], columns: usize) -> Option<u64> {
        let mut key = 0;
        for slice in self.columns.get(..columns)? {
            let value = if slice.role == Role::Document {
                read_tid(tuple.get(slice.offset..)?.first_chunk()?)
            } else {
                (*tuple.get(slice.offset)?).into()
            };
            key |= slice.shift.map_or(0, |shift| value << shift);
        }
        Some(key)
    }

    /// A key reduced to its first `columns` slices.
    pub fn leading(&self, key: u64, columns: usize) -> u64 {
        let slices = self.columns.iter().take(columns);
        slices.fold(0, |leading, slice| leading | slice.of(key) << slice.shift.unwrap_or(0))
    }
}

impl Slice {
    fn of(self, key: u64) -> u64 {
        self.shift.map_or(0, |shift| (key >> shift) & (u64::MAX >> (u64::BITS - self.role.bits())))
    }
}

/// Writes an `ItemPointerData` as a tuple stores it.
pub fn write_tid(tid: u64, bytes: &mut [u8]) {
    for (bytes, shift) in bytes.chunks_exact_mut(2).zip([32, 16, 0]) {
        bytes.copy_from_slice(&((tid >> shift) as u16).to_ne_bytes());
    }
}

/// The inverse of [`write_tid`].
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

/// Content of a metapage: the root of the tree, and the page at which searches start, which is the only one of its
/// level. Each comes with its level.
pub struct Meta {
    pub root: (BlockNumber, u32),
    pub fast_root: (BlockNumber, u32),
}

/// A page that is read in place under a share lock, until this is dropped. Others may only set hint bits of a table's
/// rows, which are not read through this. An ERROR releases it.
pub struct LockedPage {
    buffer: Buffer,
    page: *const Page,
}

impl LockedPage {
    /// Locks a page for reading. Raises an ERROR if the relation does not have the block.
    pub fn of(relation: &Open, block: BlockNumber) -> Self {
        // A backend that holds the write lock of the page would wait for itself. Only a build writes pages, and it
        // reads none.
        let buffer = relation.pin_and_lock(block);
        // SAFETY: the buffer stays pinned and locked until `drop`.
        let page = unsafe { pg_sys::BufferGetPage(buffer) }.cast::<Page>().cast_const();
        Self { buffer, page }
    }

    /// Raises an ERROR if the page has changed since a snapshot that `old_snapshot_threshold` has expired, because rows
    /// may be gone. PostgreSQL 17 removed that setting.
    pub fn refuse_old(&self, index: &Open, snapshot: Option<&Snapshot>) {
        if let Some(snapshot) = snapshot {
            // SAFETY: `index` is open, and `snapshot` registered or active.
            unsafe { versions::refuse_old(index.raw(), snapshot.raw(), || self.lsn()) }
        }
    }

    /// Makes a later insertion into the page conflict with a SERIALIZABLE transaction (`PredicateLockPage`).
    pub fn lock_for_serializable(&self, index: &Open, snapshot: Option<&Snapshot>) {
        // Each leaf page of a search comes here, and most transactions need nothing.
        if let Some(snapshot) = snapshot.filter(|_| is_serializable()) {
            let (index, snapshot) = (index.raw(), snapshot.raw());
            // SAFETY: `index` is open, `snapshot` registered or active, and `of` has pinned the buffer.
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
        // SAFETY: a page has that many bytes; `of` has pinned it, and locked it against writers.
        unsafe { &*self.page }
    }
}

impl Drop for LockedPage {
    fn drop(&mut self) {
        // SAFETY: `of` pinned and locked the buffer, which is released once.
        unless_raised(|| unsafe { pg_sys::UnlockReleaseBuffer(self.buffer) });
    }
}

impl Page {
    /// WAL position of the page's last change.
    fn lsn(&self) -> u64 {
        u64::from(self.word(0)) << 32 | u64::from(self.word(4))
    }

    fn word(&self, offset: usize) -> u32 {
        u32::from_ne_bytes([0, 1, 2, 3].map(|byte| self.0[offset + byte]))
    }

    fn header(&self) -> pg_sys::PageHeaderData {
        // SAFETY: a page begins with its header, for which any bits are valid.
        unsafe { self.0.as_ptr().cast::<pg_sys::PageHeaderData>().read_unaligned() }
    }

    /// The tree's data at the end of the page; `None` if the page does not belong to a tree.
    pub fn opaque(&self) -> Option<BTPageOpaqueData> {
        let special = usize::from(self.header().pd_special);
        if special != PAGE - OPAQUE {
            return None;
        }
        // SAFETY: the page has that many bytes there, for which any bits are valid.
        Some(unsafe { self.0.as_ptr().add(special).cast::<BTPageOpaqueData>().read_unaligned() })
    }

    /// Content of a metapage; `None` for another page, and for a tree whose equal keys may differ in their bytes.
    pub fn meta(&self) -> Option<Meta> {
        let start = PAGE_HEADER.next_multiple_of(8);
        let word = |number: usize| self.word(start + 4 * number);
        // It follows eight words and a number of eight bytes.
        let all_equal_image = self.0[start + 40] == 1;
        let is_meta = (word(0), word(1)) == (pg_sys::BTREE_MAGIC, pg_sys::BTREE_VERSION)
            && self.opaque()?.btpo_flags == nbtree::META
            && all_equal_image;
        is_meta.then(|| Meta { root: (word(2), word(3)), fast_root: (word(4), word(5)) })
    }

    /// The high key of a page of the tree, `Some(None)` for the rightmost page; `None` if it is damaged.
    pub fn high_key(&self, opaque: &BTPageOpaqueData, layout: &Layout) -> Option<Option<Pivot>> {
        if opaque.btpo_next == NO_BLOCK {
            return Some(None);
        }
        Pivot::read(layout, self.item(HIGH_KEY)?).map(Some)
    }

    /// Number of the last item.
    pub fn last_item(&self) -> u16 {
        let lower = usize::from(self.header().pd_lower);
        (lower.min(PAGE - OPAQUE).saturating_sub(PAGE_HEADER) / LINE_POINTER) as u16
    }

    /// The line pointer of item `offset` (from 1); `None` if the page does not have it.
    fn line_pointer(&self, offset: u16) -> Option<pg_sys::ItemIdData> {
        if offset == 0 || offset > self.last_item() {
            return None;
        }
        let place = PAGE_HEADER + usize::from(offset - 1) * LINE_POINTER;
        // SAFETY: it is within the page, as just checked, and any bits are valid.
        Some(unsafe { self.0.as_ptr().add(place).cast::<pg_sys::ItemIdData>().read_unaligned() })
    }

    /// True if a line pointer is in use: for an item, or for the remains of one.
    pub fn is_used(&self, offset: u16) -> bool {
        self.line_pointer(offset).is_some_and(|pointer| pointer.lp_flags() != pg_sys::LP_UNUSED)
    }

    /// The bytes of item `offset` (from 1); `None` if its line pointer is invalid.
    pub fn item(&self, offset: u16) -> Option<&[u8]> {
        let pointer = self.line_pointer(offset)?;
        let (start, length) = (pointer.lp_off() as usize, pointer.lp_len() as usize);
        let upper = usize::from(self.header().pd_upper);
        let item = self.0.get(start..start.checked_add(length)?)?;
        (length >= TUPLE_HEADER && start >= upper).then_some(item)
    }

    /// The transaction that inserted row `offset` of a heap. `None` if there is no row, or if its statement may still
    /// take it back.
    pub fn inserter(&self, offset: u16) -> Option<pg_sys::TransactionId> {
        /// Offset in place of a row's successor while the row may be taken back.
        const TOKEN_OFFSET: u16 = pg_sys::SpecTokenOffsetNumber as u16;
        let row = self.item(offset).filter(|row| row.len() >= size_of::<pg_sys::HeapTupleHeaderData>())?;
        // SAFETY: the item has the bytes of a header, for which any bits are valid.
        let row = unsafe { row.as_ptr().cast::<pg_sys::HeapTupleHeaderData>().read_unaligned() };
        // SAFETY: the header of a stored row has its writer.
        let inserter = unsafe { row.t_choice.t_heap.t_xmin };
        (row.t_ctid.ip_posid != TOKEN_OFFSET).then_some(inserter)
    }
}

/// Number of the first item of a leaf page. It follows the high key, which only the rightmost page lacks.
pub fn first_item(opaque: &BTPageOpaqueData) -> u16 {
    if opaque.btpo_next == NO_BLOCK { HIGH_KEY } else { HIGH_KEY + 1 }
}

/// The key of a leaf item, with its row or the rows of its posting list. `None` if the item is neither.
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
        // The offset of the posting list is stored in place of the block.
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

/// The child page of an item on an inner page; `None` if the item is too short.
pub fn downlink(item: &[u8]) -> Option<pg_sys::BlockNumber> {
    Some((read_tid(item.first_chunk()?) >> 16) as pg_sys::BlockNumber)
}

/// A bound between two pages: the leading attributes of a key, and perhaps a row. A missing attribute is minus
/// infinity.
#[derive(Clone, Copy, Debug)]
pub struct Pivot {
    attributes: u16,
    key: u64,
    row: Option<u64>,
}

impl Pivot {
    /// Reads a pivot; `None` if the item is not a pivot.
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

    /// Its leading attributes, as a key.
    pub fn key(self) -> u64 {
        self.key
    }

    /// Compares a key with this bound. Entries of lesser keys are to its left, entries of greater keys to its right,
    /// and entries of an equal key may be on both sides.
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
