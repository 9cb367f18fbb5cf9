//! Looks up the entries of some keys, or reads all of them, as an index scan of PostgreSQL's B-tree does; or all in the
//! order of their keys, in which rows that share a bucket come together.
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

use pgrx::pg_sys::{BlockNumber, Oid};
use sketch::memory;

use crate::error::Result;
use crate::index::items::{Pivot, downlink, entries, first_item};
use crate::index::layout::Layout;
use crate::index::minlsh_index::MinlshIndex;
use crate::index::nbtree::{self, META_BLOCK, NO_BLOCK, Opaque};
use crate::index::pages::{Page, read_page};
use crate::pg::interrupts::check_interrupts;
use crate::pg::open::Open;
use crate::pg::relation::Lock;
use crate::pg::rights::no_such_relation;
use crate::pg::snapshot::Snapshot;

/// The entries that are looked up.
#[derive(Clone, Copy)]
pub enum WantedEntries<'a> {
    /// All entries.
    All,
    /// The entries of these keys, which ascend.
    Keys(&'a [u64]),
}

/// Receives the rows of some entries, as block << 16 | offset, and says whether more are wanted.
pub type VisitRows<'a> = dyn FnMut(&[u64]) -> Result<ControlFlow<()>> + 'a;

/// A page to be read.
struct Step {
    block: BlockNumber,
    /// Its level; `None` for that from which searches start.
    level: Option<u32>,
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
    /// All keys.
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
    layout: &'a Layout,
    snapshot: Option<&'a Snapshot>,
    wanted: WantedEntries<'a>,
    /// The pages that are still to be read.
    steps: Vec<Step>,
    /// The rows that the last leaf page had.
    rows: Vec<u64>,
}

/// Calls `visit` with the rows of what is wanted, in no order; a row may come repeatedly, and may be gone. A snapshot
/// is held, which need not be that one: none is passed if only an estimate depends on what is read.
pub fn each(
    index: &MinlshIndex,
    snapshot: Option<&Snapshot>,
    wanted: WantedEntries,
    visit: &mut VisitRows,
) -> Result<()> {
    let keys = match wanted {
        WantedEntries::All => 0..1,
        WantedEntries::Keys(keys) => 0..keys.len(),
    };
    if keys.is_empty() {
        return Ok(());
    }
    let mut block = start(index)?;
    if block == NO_BLOCK
        && let Some(snapshot) = snapshot
    {
        index.open().predicate_lock(snapshot);
        // Somebody may have made the first page before the index was locked.
        block = start(index)?;
    }
    if block == NO_BLOCK {
        return Ok(());
    }
    let (mut steps, rows) = (Vec::new(), Vec::new());
    memory::push(&mut steps, Step { block, level: None, keys, span: Span::ALL })?;
    Descent { index, layout: index.layout(), snapshot, wanted, steps, rows }.run(visit)
}

/// Calls `visit` with the rows in the buckets of `keys`, which are ascending, each once, as one search of the index:
/// for jobs that compare rows by themselves. A row may come repeatedly, and may be gone.
pub fn each_of_buckets(
    index: &MinlshIndex,
    snapshot: &Snapshot,
    keys: &[u64],
    visit: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    nbtree::count_search(index.open());
    each(index, Some(snapshot), WantedEntries::Keys(keys), &mut |rows| {
        rows.iter().try_for_each(|row| visit(*row))?;
        Ok(ControlFlow::Continue(()))
    })
}

/// The page from which searches start; `NO_BLOCK` of an empty index.
fn start(index: &MinlshIndex) -> Result<BlockNumber> {
    let start = index.page(META_BLOCK).fast_root();
    start.map(|(block, _)| block).ok_or_else(|| index.damaged(META_BLOCK))
}

/// Calls `visit(key, row)` with each entry of the index, which the caller has locked, in the order of
/// keys and rows. Rows are given as block << 16 | offset. An entry may be of a row that is gone. None is missing that
/// the snapshot sees.
///
/// The entries of a page are copied under its lock, then the next to its right is read. A page split meanwhile moves
/// entries to the right only, so none is missed; one may come again where a page was deleted in between.
pub fn each_in_order(
    index: Oid,
    snapshot: &Snapshot,
    mut visit: impl FnMut(u64, u64) -> Result<()>,
) -> Result<()> {
    let open = Open::relation(index, Lock::Held).ok_or_else(|| no_such_relation(index))?;
    let index = MinlshIndex::of(&open)?;
    let (mut block, mut found) = (leftmost(&index)?, Vec::new());
    while block != NO_BLOCK {
        check_interrupts();
        let damaged = || index.damaged(block);
        let page = (block < open.pages()).then(|| index.page(block)).ok_or_else(damaged)?;
        page.refuse_old(&open, Some(snapshot));
        let opaque = page.opaque().ok_or_else(damaged)?;
        if opaque.flags & (nbtree::DELETED | nbtree::HALF_DEAD) == 0 {
            for offset in first_item(&opaque)..=page.last_item() {
                let item = page.item(offset).ok_or_else(damaged)?;
                let (key, rows) = entries(index.layout(), item).ok_or_else(damaged)?;
                memory::reserve(&mut found, rows.len())?;
                found.extend(rows.map(|row| (key, row)));
            }
        }
        drop(page);
        found.drain(..).try_for_each(|(key, row)| visit(key, row))?;
        block = opaque.next;
    }
    Ok(())
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

impl Descent<'_> {
    fn run(mut self, visit: &mut VisitRows) -> Result<()> {
        while let Some(step) = self.steps.pop() {
            check_interrupts();
            self.rows.clear();
            self.read(step)?;
            if !self.rows.is_empty() && visit(&self.rows)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Reads a page, under its lock: notes where to go on, and the rows that are wanted.
    fn read(&mut self, step: Step) -> Result<()> {
        let page = self.index.page(step.block);
        let opaque = self.sound(&step, page.opaque())?;
        page.refuse_old(self.index.open(), self.snapshot);
        if opaque.flags & (nbtree::DELETED | nbtree::HALF_DEAD) != 0 {
            return self.go_right(&opaque, step);
        }
        let is_of_level = step.level.unwrap_or(opaque.level) == opaque.level;
        self.sound(&step, is_of_level.then_some(()))?;
        if opaque.level > 0 {
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
    fn inner(&mut self, page: &Page, opaque: &Opaque, step: Step) -> Result<()> {
        let (layout, level) = (self.layout, Some(opaque.level - 1));
        let (first, end) = (first_item(opaque), page.last_item() + 1);
        let child = |offset| downlink(page.item(offset)?);
        let bound = |offset| Pivot::read(layout, page.item(offset)?);
        let WantedEntries::Keys(wanted) = self.wanted else {
            let block = self.sound(&step, child(first))?;
            return Ok(memory::push(&mut self.steps, Step { block, level, ..step })?);
        };
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
    fn leaf(&mut self, page: &Page, opaque: &Opaque, mut step: Step) -> Result<()> {
        let layout = self.layout;
        let (first, end) = (first_item(opaque), page.last_item() + 1);
        let WantedEntries::Keys(wanted) = self.wanted else {
            for offset in first..end {
                self.collect(page, &step, offset)?;
            }
            return if opaque.next == NO_BLOCK { Ok(()) } else { self.go_right(opaque, step) };
        };
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
        opaque: &Opaque,
        step: &Step,
        is_here: fn(Ordering) -> bool,
    ) -> Result<usize> {
        let WantedEntries::Keys(wanted) = self.wanted else { return Ok(step.keys.end) };
        if opaque.next == NO_BLOCK {
            return Ok(step.keys.end);
        }
        let high = page.item(nbtree::HIGH_KEY).and_then(|item| Pivot::read(self.layout, item));
        let high = self.sound(step, high)?;
        let until = up_to(wanted, &step.keys, |key| is_here(high.order(self.layout, key)));
        if until < step.keys.end {
            let keys = until..step.keys.end;
            self.go_right(opaque, Step { keys, ..*step })?;
        }
        Ok(until)
    }

    /// Goes on with the page to the right.
    fn go_right(&mut self, opaque: &Opaque, step: Step) -> Result<()> {
        let block = self.sound(&step, (opaque.next != NO_BLOCK).then_some(opaque.next))?;
        Ok(memory::push(&mut self.steps, Step { block, ..step })?)
    }

    /// Appends the rows of a leaf item.
    fn collect(&mut self, page: &Page, step: &Step, offset: u16) -> Result<()> {
        let item = page.item(offset).and_then(|item| entries(self.layout, item));
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
fn partition(
    items: Range<u16>,
    place: u16,
    mut holds: impl FnMut(u16) -> Option<bool>,
) -> Option<u16> {
    let (mut low, mut high) = (items.start, items.end.max(items.start));
    let mut at = place;
    let mut step = NEAR;
    let mut direction = None;
    while low < high {
        let middle = at.clamp(low, high - 1);
        let is_before = holds(middle)?;
        if is_before {
            low = middle + 1;
        } else {
            high = middle;
        }
        at = if *direction.get_or_insert(is_before) == is_before && step < items.len() as u16 {
            let next =
                if is_before { middle.saturating_add(step) } else { middle.saturating_sub(step) };
            step *= 2;
            next
        } else {
            step = u16::MAX;
            low + (high - low) / 2
        };
    }
    Some(low)
}
