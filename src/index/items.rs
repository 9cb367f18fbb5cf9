//! Items of a tree's pages, read: entries of leaf pages, downlinks, and the bounds between two pages: high keys, and
//! the items of inner pages.

use std::cmp::Ordering;

use pgrx::pg_sys;

use crate::index::layout::{Entry, Layout, read_tid};
use crate::index::nbtree::{self, HIGH_KEY, NO_BLOCK, Opaque};

/// The first item of a leaf page: behind the high key, which all but the rightmost have.
pub fn first_item(opaque: &Opaque) -> u16 {
    if opaque.next == NO_BLOCK { HIGH_KEY } else { HIGH_KEY + 1 }
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
        if count & !nbtree::COUNT_MASK != nbtree::POSTING_LIST || start != layout.size() {
            return None;
        }
        tids = start..start + usize::from(count & nbtree::COUNT_MASK) * 6;
        if tids.end.next_multiple_of(8) != item.len() {
            return None;
        }
    } else if item.len() != layout.size() {
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
