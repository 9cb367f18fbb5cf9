//! Bounds between two pages of a tree: high keys, and the items of inner pages.

use std::cmp::Ordering;
use std::ffi::c_void;

use pgrx::pg_sys;

use crate::index::layout::{Entry, Layout, read_tid};
use crate::index::minlsh_index::MinlshIndex;
use crate::index::nbtree;
use crate::pg::memory::in_transaction;

/// A bound between two pages: the leading attributes of a key, and perhaps a row. What is missing is minus
/// infinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pivot {
    /// The number of its attributes.
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

    /// True if this bound is to the left of another one.
    pub fn is_below(self, other: Self) -> bool {
        (self.key, self.attributes, self.row) < (other.key, other.attributes, other.row)
    }
}

/// Makes the pivots of a build: what separates two leaf pages.
pub struct Separator<'a> {
    index: &'a MinlshIndex<'a>,
    /// In the memory of the transaction, which outlives the call.
    key: *mut c_void,
}

impl<'a> Separator<'a> {
    /// Makes those of an index.
    pub fn of(index: &'a MinlshIndex<'a>) -> Self {
        // SAFETY: an index of the access method is open, and has the functions of the B-tree.
        let key = in_transaction(|| unsafe { nbtree::make_scan_key(index.open().raw()) });
        Self { index, key }
    }

    /// The pivot between two leaf pages: the last entry of the left one is below the first of the right one.
    pub fn between(&self, last_left: Entry, first_right: Entry) -> Vec<u8> {
        let [left, right] = &mut [last_left, first_right].map(|entry| self.tuple(entry));
        let (left, right) = (left.as_mut_ptr().cast(), right.as_mut_ptr().cast());
        // SAFETY: the index is open and the key is one of its own, as `of` made it; both tuples were written by the
        // layout of the index. The result is a tuple as long as its header says.
        unsafe {
            let pivot = nbtree::truncate(self.index.open().raw(), left, right, self.key);
            let length = usize::from((*pivot).t_info & nbtree::SIZE_MASK);
            let bytes = std::slice::from_raw_parts(pivot.cast::<u8>(), length).to_vec();
            pg_sys::pfree(pivot.cast());
            bytes
        }
    }

    /// The leaf tuple of an entry, in words, so that it is aligned.
    fn tuple(&self, entry: Entry) -> Vec<u64> {
        let layout = self.index.layout();
        let mut bytes = vec![0; layout.size()];
        layout.write(entry, &mut bytes);
        let (words, _) = bytes.as_chunks();
        words.iter().map(|word| u64::from_ne_bytes(*word)).collect()
    }
}
