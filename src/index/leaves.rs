//! Reads all entries of an index in the order of their keys: rows that share a bucket come together.
//!
//! A page is copied under its lock, then the next to its right is read. A page split meanwhile moves
//! entries to the right only, so none is missed; one may come again where a page was deleted in between.

use pgrx::pg_sys::{BlockNumber, Oid};

use crate::error::Result;
use crate::index::layout::{Layout, downlink, read_tid};
use crate::index::minlsh_index::MinlshIndex;
use crate::index::nbtree::{self, HIGH_KEY, META_BLOCK, NO_BLOCK, Opaque};
use crate::index::pages::{PageCopy, read_page};
use crate::pg::interrupts::check_interrupts;
use crate::pg::open::Open;
use crate::pg::relation::Lock;
use crate::pg::rights::no_such_relation;
use crate::pg::snapshot::Snapshot;

/// Calls `visit(key, row)` with each entry of the index, which the caller has locked, in the order of
/// keys and rows. Rows are given as block << 16 | offset. An entry may be of a row that is gone. None is missing that
/// the snapshot sees.
pub fn each(
    index: Oid,
    snapshot: &Snapshot,
    mut visit: impl FnMut(u64, u64) -> Result<()>,
) -> Result<()> {
    let open = Open::relation(index, Lock::Held).ok_or_else(|| no_such_relation(index))?;
    let index = MinlshIndex::of(&open)?;
    let (mut block, mut copy) = (leftmost(&index)?, PageCopy::empty());
    while block != NO_BLOCK {
        check_interrupts();
        let damaged = || index.damaged(block);
        let page = copy.read(&open, block, Some(snapshot)).ok_or_else(damaged)?;
        let opaque = page.opaque().ok_or_else(damaged)?;
        if opaque.flags & (nbtree::DELETED | nbtree::HALF_DEAD) == 0 {
            for offset in first_item(&opaque)..=page.last_item() {
                let item = page.item(offset).ok_or_else(damaged)?;
                let (key, mut rows) = entries(index.layout(), item).ok_or_else(damaged)?;
                rows.try_for_each(|row| visit(key, row))?;
            }
        }
        block = opaque.next;
    }
    Ok(())
}

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

/// The leftmost leaf page; `NO_BLOCK` of an empty index.
fn leftmost(index: &MinlshIndex) -> Result<BlockNumber> {
    let page = |block| read_page(index.open(), block).ok_or_else(|| index.damaged(block));
    let mut block = page(META_BLOCK)?.root().ok_or_else(|| index.damaged(META_BLOCK))?;
    // A tree of more levels has more pages than there are addresses.
    for _ in 0..32 {
        if block == NO_BLOCK {
            return Ok(NO_BLOCK);
        }
        let page = page(block)?;
        let opaque = page.opaque().ok_or_else(|| index.damaged(block))?;
        if opaque.level == 0 {
            return Ok(block);
        }
        let first = page.item(first_item(&opaque)).and_then(downlink);
        block = first.ok_or_else(|| index.damaged(block))?;
    }
    Err(index.damaged(block))
}
