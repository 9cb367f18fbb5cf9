//! Looks up entries by their keys, as an index scan of PostgreSQL's B-tree does, or reads all leaf pages, which bring
//! rows of a bucket together.
//!
//! A search has a key for each band. All of them descend the tree together, so each page on their way is read once, and
//! keys are compared as numbers. That takes a quarter of the time of a scan for each key.
//!
//! These are the rules of access/nbtree/README for readers. One page is locked at a time. It may have been split before
//! it is read, so a key above its high key is searched for on the page to the right. A deleted page sends all keys
//! there. It is not reused while a snapshot from before its deletion exists, and each search holds one. In a
//! SERIALIZABLE transaction the leaf pages that are read get predicate locks, and an index without pages gets one as a
//! whole. Rows are passed on after the lock of their page is released.
//!
//! Entries of this backend that [wait](pending) are inserted first.

use std::cmp::Ordering;
use std::ops::Range;

use pgrx::pg_sys::{BTPageOpaqueData, BlockNumber};

use crate::index::layout::{Entry, LockedPage, Page, Pivot, downlink, entries, first_item};
use crate::index::minlsh_index::MinlshIndex;
use crate::index::nbtree::{self, NO_BLOCK};
use crate::index::pending;
use crate::prelude::*;

/// Receives rows of entries, as block << 16 | offset. Returns whether it wants more.
pub type VisitRows<'a> = dyn FnMut(&[u64]) -> Result<Continue> + 'a;

struct Step {
    block: BlockNumber,
    level: u32,
    /// The range of `wanted` that is searched for on the page.
    keys: Range<usize>,
    /// An estimated range of keys on the page.
    span: Span,
}

/// A range of keys. Keys are hashes, so linear interpolation between two bounds estimates the position of a key.
#[derive(Clone, Copy)]
struct Span {
    low: u64,
    high: u64,
}

impl Span {
    const ALL: Self = Self { low: 0, high: u64::MAX };

    /// Estimated position of `key` among `items`; may be one past the end.
    fn place(self, key: u64, items: Range<u16>) -> u16 {
        let width = self.high.saturating_sub(self.low).max(1);
        let share = key.saturating_sub(self.low) as f64 / width as f64;
        // A number beyond the range of `u16` becomes its maximum.
        items.start.saturating_add((share * items.len() as f64) as u16)
    }
}

/// Usual distance between the estimated and the actual position of a key.
const NEAR: u16 = 8;

struct Descent<'a> {
    index: &'a MinlshIndex<'a>,
    snapshot: Option<&'a Snapshot>,
    /// The keys to look up, ascending.
    wanted: &'a [u64],
    /// The pages still to read.
    steps: Vec<Step>,
    /// Number of moves to a right sibling, and of pages in the index as far as is known.
    moves: usize,
    pages: usize,
    /// The rows of the last leaf page.
    rows: Vec<u64>,
}

/// Calls `visit` with the rows of the entries of `wanted`, ascending keys. The rows come in no order, repeatedly, and
/// may be gone. The caller holds a snapshot; pass it in `snapshot` unless no answer depends on what is read.
pub fn each(index: &MinlshIndex, snapshot: Option<&Snapshot>, wanted: &[u64], visit: &mut VisitRows) -> Result<()> {
    if wanted.is_empty() {
        return Ok(());
    }
    pending::flush()?;
    let start = || index.meta().map(|meta| meta.fast_root);
    let mut root = start()?;
    if root.0 == NO_BLOCK
        && let Some(snapshot) = snapshot
    {
        index.open().predicate_lock(snapshot);
        // Another session may have created the first page before the index was locked.
        root = start()?;
    }
    let (block, level) = root;
    if block == NO_BLOCK {
        return Ok(());
    }
    let (mut steps, rows) = (Vec::new(), Vec::new());
    memory::push(&mut steps, Step { block, level, keys: 0..wanted.len(), span: Span::ALL })?;
    Descent { index, snapshot, wanted, steps, moves: 0, pages: 0, rows }.run(visit)
}

/// Calls `visit(key, row)` with each entry of the index in order of key and row. The caller has locked the index. Rows
/// are block << 16 | offset.
pub fn each_in_order(index: Oid, snapshot: &Snapshot, mut visit: impl FnMut(u64, u64) -> Result<()>) -> Result<()> {
    let open = Open::relation(index, Lock::Held).ok_or_else(|| no_such_relation(index))?;
    each_leaf(&MinlshIndex::of(&open)?, Some(snapshot), |leaf| {
        leaf.entries.iter().try_for_each(|entry| visit(entry.key, entry.tid))
    })
}

/// A leaf page as it was under its lock.
pub struct Leaf {
    pub block: BlockNumber,
    /// The left sibling.
    pub previous: BlockNumber,
    /// Empty for a page that is being deleted.
    pub entries: Vec<Entry>,
    /// The high key. The rightmost page and pages that are being deleted have none.
    pub high: Option<Pivot>,
}

/// Calls `visit` with the leaf pages from left to right. No entry of a row that the snapshot sees is missing; others
/// may be of rows that are gone.
///
/// The entries of a page are copied under its lock before its right sibling is read. A split moves entries to the right
/// only, so none is missed. An entry may repeat if a page is deleted meanwhile.
pub fn each_leaf(
    index: &MinlshIndex,
    snapshot: Option<&Snapshot>,
    mut visit: impl FnMut(&Leaf) -> Result<()>,
) -> Result<()> {
    pending::flush()?;
    let layout = &index.layout;
    let (block, mut count) = (leftmost(index)?, 0);
    let mut leaf = Leaf { block, previous: NO_BLOCK, entries: Vec::new(), high: None };
    while leaf.block != NO_BLOCK {
        check_interrupts();
        let block = leaf.block;
        let damaged = || index.damaged(block);
        let (page, opaque) = index.tree_page(block)?;
        page.refuse_old(index.open(), snapshot);
        let has = |flag| opaque.btpo_flags & flag != 0;
        count += 1;
        // More leaf pages than the index has pages means that they are linked in a circle.
        if opaque.btpo_level != 0 || !has(nbtree::LEAF) || count > index.open().pages() {
            return Err(damaged());
        }
        if !has(nbtree::DELETED) {
            (leaf.previous, leaf.high) = (opaque.btpo_prev, None);
            leaf.entries.clear();
            if !has(nbtree::HALF_DEAD) {
                leaf.high = page.high_key(&opaque, layout).ok_or_else(damaged)?;
                for offset in first_item(&opaque)..=page.last_item() {
                    let item = page.item(offset).ok_or_else(damaged)?;
                    let (key, rows) = entries(layout, item).ok_or_else(damaged)?;
                    memory::reserve(&mut leaf.entries, rows.len())?;
                    leaf.entries.extend(rows.map(|tid| Entry { key, tid }));
                }
            }
            drop(page);
            visit(&leaf)?;
        }
        leaf.block = opaque.btpo_next;
    }
    Ok(())
}

/// The leftmost leaf page; `NO_BLOCK` for an empty index.
fn leftmost(index: &MinlshIndex) -> Result<BlockNumber> {
    let (mut block, mut level) = index.meta()?.root;
    while block != NO_BLOCK && level > 0 {
        let (page, opaque) = index.tree_page(block)?;
        let is_gone = opaque.btpo_flags & (nbtree::DELETED | nbtree::HALF_DEAD) != 0;
        let next = match is_gone {
            true => Some(opaque.btpo_next),
            false => page.item(first_item(&opaque)).and_then(downlink),
        };
        let is_leftmost = opaque.btpo_level == level && opaque.btpo_prev == NO_BLOCK;
        block = next.filter(|_| is_leftmost).ok_or_else(|| index.damaged(block))?;
        level -= u32::from(!is_gone);
    }
    Ok(block)
}

impl Descent<'_> {
    fn run(mut self, visit: &mut VisitRows) -> Result<()> {
        while let Some(step) = self.steps.pop() {
            check_interrupts();
            self.rows.clear();
            self.read(step)?;
            if !self.rows.is_empty() && visit(&self.rows)? == Continue::No {
                break;
            }
        }
        Ok(())
    }

    /// True if the index has more than `count` pages.
    fn has_more_pages(&mut self, count: usize) -> bool {
        if self.pages <= count {
            self.pages = self.index.open().pages() as usize;
        }
        self.pages > count
    }

    /// Reads a page under its lock: adds the steps that follow from it, or collects its rows.
    fn read(&mut self, step: Step) -> Result<()> {
        let is_page = self.has_more_pages(step.block as usize);
        self.sound(&step, is_page.then_some(()))?;
        let page = LockedPage::of(self.index.open(), step.block);
        let opaque = self.sound(&step, page.opaque())?;
        page.refuse_old(self.index.open(), self.snapshot);
        if opaque.btpo_flags & (nbtree::DELETED | nbtree::HALF_DEAD) != 0 {
            return self.go_right(&opaque, step);
        }
        self.sound(&step, (step.level == opaque.btpo_level).then_some(()))?;
        if opaque.btpo_level > 0 {
            return self.inner(&page, &opaque, step);
        }
        page.lock_for_serializable(self.index.open(), self.snapshot);
        self.leaf(&page, &opaque, step)
    }

    /// Returns what was read of a page; an error if `read` is `None`, since the page is damaged.
    fn sound<T>(&self, step: &Step, read: Option<T>) -> Result<T> {
        read.ok_or_else(|| self.index.damaged(step.block))
    }

    /// Adds a step for each child page with wanted keys.
    fn inner(&mut self, page: &Page, opaque: &BTPageOpaqueData, step: Step) -> Result<()> {
        let (layout, wanted, level) = (&self.index.layout, self.wanted, opaque.btpo_level - 1);
        let (first, end) = (first_item(opaque), page.last_item() + 1);
        let child = |offset| downlink(page.item(offset)?);
        let bound = |offset| Pivot::read(layout, page.item(offset)?);
        let mut at = step.keys.start;
        let until = self.until(page, opaque, &step, Ordering::is_le)?;
        while at < until {
            // After the last item that is less. The first item is less than any key.
            let next = self.sound(
                &step,
                partition(first + 1..end, step.span.place(wanted[at], first..end), |offset| {
                    Some(bound(offset)?.order(layout, wanted[at]).is_gt())
                }),
            )?;
            let mut span = step.span;
            if next > first + 1 {
                span.low = self.sound(&step, bound(next - 1))?.key();
            }
            let mut shared = until;
            if next < end {
                let bound = self.sound(&step, bound(next))?;
                span.high = bound.key();
                shared = up_to(wanted, &(at..until), |key| bound.order(layout, key).is_le());
            }
            let block = self.sound(&step, child(next - 1))?;
            memory::push(&mut self.steps, Step { block, level, keys: at..shared, span })?;
            at = shared;
        }
        Ok(())
    }

    /// Collects the wanted rows of a leaf page.
    fn leaf(&mut self, page: &Page, opaque: &BTPageOpaqueData, mut step: Step) -> Result<()> {
        let (layout, wanted) = (&self.index.layout, self.wanted);
        let (first, end) = (first_item(opaque), page.last_item() + 1);
        let key = |offset| layout.key(page.item(offset)?);
        while step.keys.start < step.keys.end {
            let wanted = wanted[step.keys.start];
            let is_before = |offset| Some(key(offset)? < wanted);
            let place = step.span.place(wanted, first..end);
            let mut offset = self.sound(&step, partition(first..end, place, is_before))?;
            while offset < end && self.sound(&step, key(offset))? == wanted {
                self.collect(page, &step, offset)?;
                offset += 1;
            }
            if offset == end {
                // The key may continue on the page to the right, and so may later keys.
                return self.until(page, opaque, &step, Ordering::is_lt).map(drop);
            }
            step.keys.start += 1;
        }
        Ok(())
    }

    /// Returns the end of the keys on this page, which are those whose order with its high key satisfies `stays`. Adds
    /// a step to the right sibling for the others.
    fn until(
        &mut self,
        page: &Page,
        opaque: &BTPageOpaqueData,
        step: &Step,
        is_here: fn(Ordering) -> bool,
    ) -> Result<usize> {
        let layout = &self.index.layout;
        let high = self.sound(step, page.high_key(opaque, layout))?;
        let Some(high) = high else { return Ok(step.keys.end) };
        let until = up_to(self.wanted, &step.keys, |key| is_here(high.order(layout, key)));
        if until < step.keys.end {
            let keys = until..step.keys.end;
            self.go_right(opaque, Step { keys, ..*step })?;
        }
        Ok(until)
    }

    fn go_right(&mut self, opaque: &BTPageOpaqueData, step: Step) -> Result<()> {
        self.moves += 1;
        // More moves than pages means that the pages are linked in a circle.
        let over = self.moves.saturating_sub(self.wanted.len());
        let is_sound = opaque.btpo_next != NO_BLOCK && self.has_more_pages(over);
        let block = self.sound(&step, is_sound.then_some(opaque.btpo_next))?;
        Ok(memory::push(&mut self.steps, Step { block, ..step })?)
    }

    /// Appends the rows of a leaf item.
    fn collect(&mut self, page: &Page, step: &Step, offset: u16) -> Result<()> {
        let item = page.item(offset).and_then(|item| entries(&self.index.layout, item));
        let (_, rows) = self.sound(step, item)?;
        let found = &mut self.rows;
        memory::reserve(found, rows.len())?;
        found.extend(rows);
        Ok(())
    }
}

/// Returns the end of the leading `keys` for which `holds` is true.
fn up_to(wanted: &[u64], keys: &Range<usize>, holds: impl Fn(u64) -> bool) -> usize {
    keys.start + wanted[keys.clone()].partition_point(|key| holds(*key))
}

/// Returns the first item for which `holds` is false; it is true for all earlier items. `None` if `holds` cannot decide
/// for an item. The search starts at `place`.
fn partition(items: Range<u16>, place: u16, mut holds: impl FnMut(u16) -> Option<bool>) -> Option<u16> {
    let (mut low, mut high) = (items.start, items.end.max(items.start));
    let (mut at, mut step) = (place, NEAR);
    while low < high {
        let middle = at.clamp(low, high - 1);
        let is_before = holds(middle)?;
        if is_before {
            low = middle + 1;
        } else {
            high = middle;
        }
        // The distance doubles. Between two items that were compared, half of the rest is less.
        let reach = step.min((high - low) / 2);
        at = if is_before { low + reach } else { high.saturating_sub(reach + 1) };
        step = step.saturating_mul(2);
    }
    Some(low)
}
