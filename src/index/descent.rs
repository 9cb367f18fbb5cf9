//! Looks up the entries of some keys, or reads all of them, as an index scan of PostgreSQL's B-tree does.
//!
//! A search has a key for each band. All of them go down the tree together, so each page on their way is read once,
//! and keys are compared as the numbers that they are. That takes a quarter of the time of a scan for each key.
//!
//! These are the rules of access/nbtree/README for those who only read. One page is locked at a time. It may be split
//! before we come to it: a key above its high key is looked for on the page to the right. It may be deleted as well:
//! then all keys are. Nobody makes another page of it as long as a snapshot sees the time before, and no search runs
//! without one. In a SERIALIZABLE transaction the leaf pages that are read get predicate locks, and without any page
//! the whole index. Rows are given when the lock of their page was released.

use std::cmp::Ordering;
use std::ops::{ControlFlow, Range};

use pgrx::pg_sys::{self, BlockNumber, Relation};
use sketch::memory;

use crate::error::{Result, engine};
use crate::index::layout::{Layout, read_tid};
use crate::index::leaves::{damaged, entries, first_item};
use crate::index::nbtree::{self, META_BLOCK, NO_BLOCK, Opaque};
use crate::index::pages::{LockedPage, Page};
use crate::index::pivot::Pivot;
use crate::pg::interrupts::check_interrupts;

/// What is looked up.
#[derive(Clone, Copy)]
pub enum Wanted<'a> {
    /// All entries.
    All,
    /// The entries of these keys, which ascend.
    Keys(&'a [u64]),
}

/// Receives the rows of some entries, as block << 16 | offset, and says whether more are wanted.
pub type Visit<'a> = dyn FnMut(&[u64]) -> Result<ControlFlow<()>> + 'a;

/// A page to be read.
struct Step {
    block: BlockNumber,
    /// Its level; `None` for that from which searches start.
    level: Option<u32>,
    /// The places of the keys that are looked for there.
    keys: Range<usize>,
}

struct Search<'a> {
    index: Relation,
    layout: &'a Layout,
    snapshot: pg_sys::Snapshot,
    wanted: Wanted<'a>,
    /// The pages that are still to be read.
    steps: Vec<Step>,
    /// The rows that the last leaf page had.
    rows: Vec<u64>,
}

/// Calls `visit` with the rows of what is wanted, in no order; a row may come repeatedly, and may be gone.
///
/// # Safety
/// `index` is open, an index of this access method that has that layout. A snapshot is held, which need not be that
/// one: the snapshot that is passed is valid, or null if only an estimate depends on what is read.
pub unsafe fn each(
    index: Relation,
    layout: &Layout,
    snapshot: pg_sys::Snapshot,
    wanted: Wanted,
    visit: &mut Visit,
) -> Result<()> {
    let keys = match wanted {
        Wanted::All => 0..1,
        Wanted::Keys(keys) => 0..keys.len(),
    };
    if keys.is_empty() {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    let start = unsafe {
        match start(index)? {
            NO_BLOCK => {
                // Somebody may have made the first page before the index was locked.
                nbtree::lock_relation_for_serializable(index, snapshot);
                start(index)?
            }
            start => start,
        }
    };
    if start == NO_BLOCK {
        return Ok(());
    }
    let (steps, rows) = (vec![Step { block: start, level: None, keys }], Vec::new());
    let mut search = Search { index, layout, snapshot, wanted, steps, rows };
    while let Some(step) = search.steps.pop() {
        check_interrupts();
        search.rows.clear();
        // SAFETY: the caller's promise.
        unsafe { search.read(step)? };
        if !search.rows.is_empty() && visit(&search.rows)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// The page from which searches start; `NO_BLOCK` of an empty index.
///
/// # Safety
/// `index` is open.
unsafe fn start(index: Relation) -> Result<BlockNumber> {
    // SAFETY: the caller's promise.
    let meta = unsafe { LockedPage::of(index, META_BLOCK) };
    let start = meta.fast_root().map(|(block, _)| block);
    drop(meta);
    // SAFETY: the caller's promise.
    start.ok_or_else(|| unsafe { damaged(index, META_BLOCK) })
}

impl Search<'_> {
    /// Reads a page: notes where to go on, and the rows that are wanted.
    ///
    /// # Safety
    /// The index is open.
    unsafe fn read(&mut self, step: Step) -> Result<()> {
        let (index, block) = (self.index, step.block);
        // SAFETY: the caller's promise.
        let page = unsafe { LockedPage::of(index, block) };
        let sound = match page.opaque() {
            None => None,
            Some(opaque) if opaque.flags & (nbtree::DELETED | nbtree::HALF_DEAD) != 0 => {
                self.go_right(&opaque, step.level, step.keys)
            }
            Some(opaque) if step.level.is_some_and(|level| level != opaque.level) => None,
            Some(opaque) if opaque.level > 0 => self.inner(&page, &opaque, step.keys),
            Some(opaque) => {
                // SAFETY: the index is open, and the page locked.
                unsafe { nbtree::lock_page_for_serializable(index, block, self.snapshot) };
                self.leaf(&page, &opaque, step.keys)
            }
        };
        // SAFETY: the page is locked.
        unsafe { page.refuse_old(index, self.snapshot) };
        drop(page);
        // SAFETY: the index is open.
        sound.unwrap_or_else(|| Err(unsafe { damaged(index, block) }))
    }

    /// Notes the pages below an inner page; `None` if the page is damaged.
    fn inner(&mut self, page: &Page, opaque: &Opaque, keys: Range<usize>) -> Option<Result<()>> {
        let level = opaque.level;
        let (first, end) = (first_item(opaque), page.last_item() + 1);
        let child =
            |offset: u16| Some((read_tid(page.item(offset)?.get(..6)?) >> 16) as BlockNumber);
        let Wanted::Keys(wanted) = self.wanted else {
            return Some(self.push(child(first)?, level - 1, keys));
        };
        let layout = self.layout;
        let pivot = |offset| Pivot::read(layout, page.item(offset)?);
        let mut result = Ok(());
        let mut at = keys.start;
        let until = match self.high_key(page, opaque)? {
            None => keys.end,
            Some(high) => {
                let until = up_to(wanted, &keys, |key| high.order(layout, key).is_le());
                if until < keys.end {
                    result = self.go_right(opaque, Some(level), until..keys.end)?;
                }
                until
            }
        };
        while at < until && result.is_ok() {
            // Behind the last item that is less; the first one is less than any key.
            let next = partition(first + 1, end, |offset| {
                Some(pivot(offset)?.order(layout, wanted[at]) == Ordering::Greater)
            })?;
            let shared = if next == end {
                until
            } else {
                let bound = pivot(next)?;
                up_to(wanted, &(at..until), |key| bound.order(layout, key).is_le())
            };
            result = self.push(child(next - 1)?, level - 1, at..shared);
            at = shared;
        }
        Some(result)
    }

    /// Collects the rows of a leaf page; `None` if the page is damaged.
    fn leaf(&mut self, page: &Page, opaque: &Opaque, keys: Range<usize>) -> Option<Result<()>> {
        let layout = self.layout;
        let (first, end) = (first_item(opaque), page.last_item() + 1);
        let Wanted::Keys(wanted) = self.wanted else {
            let all = (first..end)
                .try_for_each(|offset| collect(layout, page, offset, &mut self.rows)?.ok());
            all?;
            return if opaque.next == NO_BLOCK {
                Some(Ok(()))
            } else {
                self.go_right(opaque, Some(0), keys)
            };
        };
        let key = |offset: u16| layout.key(page.item(offset)?);
        for at in keys.clone() {
            let wanted = wanted[at];
            let mut offset = partition(first, end, |offset| Some(key(offset)? < wanted))?;
            while offset < end && key(offset)? == wanted {
                if let Err(report) = collect(layout, page, offset, &mut self.rows)? {
                    return Some(Err(report));
                }
                offset += 1;
            }
        }
        match self.high_key(page, opaque)? {
            None => Some(Ok(())),
            Some(high) => {
                let until = up_to(wanted, &keys, |key| high.order(layout, key).is_lt());
                if until < keys.end {
                    self.go_right(opaque, Some(0), until..keys.end)
                } else {
                    Some(Ok(()))
                }
            }
        }
    }

    /// The bound of a page to its right; `Some(None)` of the last page of its level.
    fn high_key(&self, page: &Page, opaque: &Opaque) -> Option<Option<Pivot>> {
        if opaque.next == NO_BLOCK {
            return Some(None);
        }
        Pivot::read(self.layout, page.item(nbtree::HIGH_KEY)?).map(Some)
    }

    /// Looks for keys on the page to the right; `None` if there is no such page.
    fn go_right(
        &mut self,
        opaque: &Opaque,
        level: Option<u32>,
        keys: Range<usize>,
    ) -> Option<Result<()>> {
        (opaque.next != NO_BLOCK).then(|| {
            memory::push(&mut self.steps, Step { block: opaque.next, level, keys }).map_err(engine)
        })
    }

    fn push(&mut self, block: BlockNumber, level: u32, keys: Range<usize>) -> Result<()> {
        memory::push(&mut self.steps, Step { block, level: Some(level), keys }).map_err(engine)
    }
}

/// Appends the rows of a leaf item; `None` if it is damaged.
fn collect(layout: &Layout, page: &Page, offset: u16, rows: &mut Vec<u64>) -> Option<Result<()>> {
    entries(layout, page.item(offset)?, &mut |entry| memory::push(rows, entry.tid).map_err(engine))
}

/// The end of those of `keys`, in order, for which `holds` is true.
fn up_to(wanted: &[u64], keys: &Range<usize>, holds: impl Fn(u64) -> bool) -> usize {
    keys.start + wanted[keys.clone()].partition_point(|key| holds(*key))
}

/// The first of the items from `first` to before `end` for which `holds` is not true, as it is for those before it;
/// `None` if it cannot be said for one.
fn partition(first: u16, end: u16, mut holds: impl FnMut(u16) -> Option<bool>) -> Option<u16> {
    let (mut low, mut high) = (first, end.max(first));
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle)? {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Some(low)
}
