//! Looks up the entries of some keys, as an index scan of PostgreSQL's B-tree does; or reads all leaf pages, on which
//! rows that share a bucket come together.
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
use std::ops::Range;

use pgrx::pg_sys::{BTPageOpaqueData, BlockNumber};

use crate::index::layout::{Entry, LockedPage, Page, Pivot, downlink, entries, first_item};
use crate::index::minlsh_index::MinlshIndex;
use crate::index::nbtree::{self, NO_BLOCK};
use crate::pg::rights::no_such_relation;
use crate::prelude::*;

/// Receives the rows of some entries, as block << 16 | offset, and says whether more are wanted.
pub type VisitRows<'a> = dyn FnMut(&[u64]) -> Result<Continue> + 'a;

struct Step {
    block: BlockNumber,
    level: u32,
    /// The places of the keys that are looked for there.
    keys: Range<usize>,
    /// Between which keys its entries are, about.
    span: Span,
}

/// A range of keys. They are hashes, so how far a key is between two others says about where it stands.
#[derive(Clone, Copy)]
struct Span {
    low: u64,
    high: u64,
}

impl Span {
    const ALL: Self = Self { low: 0, high: u64::MAX };

    /// About where a key is among some items; perhaps behind them.
    fn place(self, key: u64, items: Range<u16>) -> u16 {
        let width = self.high.saturating_sub(self.low).max(1);
        let share = key.saturating_sub(self.low) as f64 / width as f64;
        // A number beyond the range of the type is its greatest.
        items.start.saturating_add((share * items.len() as f64) as u16)
    }
}

/// The distance of a key from where its span says that it is, as a rule.
const NEAR: u16 = 8;

struct Descent<'a> {
    index: &'a MinlshIndex<'a>,
    snapshot: Option<&'a Snapshot>,
    /// The keys that are looked up, which ascend.
    wanted: &'a [u64],
    /// The pages that are still to be read.
    steps: Vec<Step>,
    /// The number of steps to a page on the right, and of pages of the index as far as is known.
    moves: usize,
    pages: usize,
    /// The rows that the last leaf page had.
    rows: Vec<u64>,
}

/// Calls `visit` with the rows of the entries of `wanted`, keys that ascend, in no order; a row may come repeatedly,
/// and may be gone. A snapshot is held, which need not be that one: none is passed if no answer depends on what is
/// read.
pub fn each(index: &MinlshIndex, snapshot: Option<&Snapshot>, wanted: &[u64], visit: &mut VisitRows) -> Result<()> {
    if wanted.is_empty() {
        return Ok(());
    }
    let start = || index.meta().map(|meta| meta.fast_root);
    let mut root = start()?;
    if root.0 == NO_BLOCK
        && let Some(snapshot) = snapshot
    {
        index.open().predicate_lock(snapshot);
        // Somebody may have made the first page before the index was locked.
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

/// Calls `visit(key, row)` with each entry of the index, which the caller has locked, in the order of
/// keys and rows. Rows are given as block << 16 | offset.
pub fn each_in_order(index: Oid, snapshot: &Snapshot, mut visit: impl FnMut(u64, u64) -> Result<()>) -> Result<()> {
    let open = Open::relation(index, Lock::Held).ok_or_else(|| no_such_relation(index))?;
    each_leaf(&MinlshIndex::of(&open)?, Some(snapshot), |leaf| {
        leaf.entries.iter().try_for_each(|entry| visit(entry.key, entry.tid))
    })
}

/// A leaf page, as it was under its lock.
pub struct Leaf {
    pub block: BlockNumber,
    /// The page to its left.
    pub previous: BlockNumber,
    /// None of a page that is being deleted.
    pub entries: Vec<Entry>,
    /// Its high key: of all but the rightmost, and those that are being deleted.
    pub high: Option<Pivot>,
}

/// Calls `visit` with the leaf pages from left to right. An entry may be of a row that is gone. None is missing that
/// the snapshot sees.
///
/// The entries of a page are copied under its lock, then the next to its right is read. A page split meanwhile moves
/// entries to the right only, so none is missed; one may come again where a page was deleted in between.
pub fn each_leaf(
    index: &MinlshIndex,
    snapshot: Option<&Snapshot>,
    mut visit: impl FnMut(&Leaf) -> Result<()>,
) -> Result<()> {
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
        // If they are more than the pages of the index, they are linked in a circle.
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

/// The leftmost leaf page; `NO_BLOCK` of an empty index.
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

    /// True if the index has more pages than that.
    fn has_more_pages(&mut self, count: usize) -> bool {
        if self.pages <= count {
            self.pages = self.index.open().pages() as usize;
        }
        self.pages > count
    }

    /// Reads a page, under its lock: notes where to go on, and the rows that are wanted.
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

    /// Gives what was read of a page, if it is sound.
    fn sound<T>(&self, step: &Step, read: Option<T>) -> Result<T> {
        read.ok_or_else(|| self.index.damaged(step.block))
    }

    /// Notes the pages below an inner page.
    fn inner(&mut self, page: &Page, opaque: &BTPageOpaqueData, step: Step) -> Result<()> {
        let (layout, wanted, level) = (&self.index.layout, self.wanted, opaque.btpo_level - 1);
        let (first, end) = (first_item(opaque), page.last_item() + 1);
        let child = |offset| downlink(page.item(offset)?);
        let bound = |offset| Pivot::read(layout, page.item(offset)?);
        let mut at = step.keys.start;
        let until = self.until(page, opaque, &step, Ordering::is_le)?;
        while at < until {
            // Behind the last item that is less; the first one is less than any key.
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

    /// Collects the rows of a leaf page.
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
                // It may go on to the right, and so may those after it.
                return self.until(page, opaque, &step, Ordering::is_lt).map(drop);
            }
            step.keys.start += 1;
        }
        Ok(())
    }

    /// The end of those keys that are on this page, as their order with its high key says; the others are looked for
    /// on the page to the right.
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
        // If keys went over more pages than there are, they would be linked in a circle.
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

/// The end of those of `keys`, in order, for which `holds` is true.
fn up_to(wanted: &[u64], keys: &Range<usize>, holds: impl Fn(u64) -> bool) -> usize {
    keys.start + wanted[keys.clone()].partition_point(|key| holds(*key))
}

/// The first of some items for which `holds` is not true, as it is for those before it; `None` if it cannot be said for
/// one. It is looked for around `place` first.
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
        // Twice as far each time. Once it is between two that were looked at, half of what is left is less.
        let reach = step.min((high - low) / 2);
        at = if is_before { low + reach } else { high.saturating_sub(reach + 1) };
        step = step.saturating_mul(2);
    }
    Some(low)
}
