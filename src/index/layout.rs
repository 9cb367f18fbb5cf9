//! The attributes of an index tuple, made of an entry.
//!
//! Insert, vacuum and replay read the tuples by the index's own descriptor, so that must be true.
//! The key of an entry is one hash of 64 bits. Its slices, from the top, are the attributes in their
//! order: 48 bits stored as `tid` for the document column, 8 bits as `"char"` for each scope
//! column; both compare as unsigned numbers, so tuples are ordered as keys are. With up to two scope
//! columns an entry takes 16 bytes; the hash has no bits left for a third, which is stored as 0.

use crate::prelude::*;

/// The number of the support function that hashes values of a scope column. Only operator classes
/// for scope columns have it; 6 is the B-tree's own from PostgreSQL 18.
pub const SCOPE_HASH: u16 = 7;

const DOCUMENT_BITS: u32 = 48;
const SCOPE_BITS: u32 = 8;
/// The offset of the attributes in an index tuple.
const HEADER: usize = size_of::<pg_sys::IndexTupleData>();

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
        let (mut free, mut offset) = (u64::BITS, HEADER);
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

const _: () = assert!(HEADER == 8, "ffi: IndexTupleData is a TID and two bytes");
