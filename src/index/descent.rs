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

use std::cell::Cell;
use std::cmp::Ordering;
use std::ops::{ControlFlow, Range};

use pgrx::pg_sys::BlockNumber;
use sketch::memory;

use crate::error::{Result, SqlError};
use crate::index::layout::{Layout, downlink};
use crate::index::leaves::{entries, first_item};
use crate::index::minlsh_index::MinlshIndex;
use crate::index::nbtree::{self, META_BLOCK, NO_BLOCK, Opaque};
use crate::index::pages::{LockedPage, Page};
use crate::index::pivot::Pivot;
use crate::pg::ffi;
use crate::pg::interrupts::check_interrupts;
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

/// Rows for which room is kept.
const LONG: usize = 1 << 12;

struct Search<'a> {
    index: &'a MinlshIndex<'a>,
    layout: &'a Layout,
    snapshot: Option<&'a Snapshot>,
    wanted: WantedEntries<'a>,
    room: Room,
}

/// Room that a search leaves to the next one.
#[derive(Default)]
struct Room {
    /// The pages that are still to be read.
    steps: Vec<Step>,
    /// The rows that the last leaf page had.
    rows: Vec<u64>,
}

thread_local! {
    static ROOM: Cell<Room> = Cell::default();
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
        // SAFETY: the index is open, and the snapshot held.
        unsafe { ffi::predicate_lock(index.open().raw(), snapshot.raw()) };
        // Somebody may have made the first page before the index was locked.
        block = start(index)?;
    }
    if block == NO_BLOCK {
        return Ok(());
    }
    let mut room = ROOM.take();
    let step = Step { block, level: None, keys, span: Span::ALL };
    memory::push(&mut room.steps, step)?;
    Search { index, layout: index.layout(), snapshot, wanted, room }.run(visit)
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

/// A reason why a page cannot be read.
enum Trouble {
    Damaged,
    Refused(SqlError),
}

impl From<sketch::Error> for Trouble {
    fn from(cause: sketch::Error) -> Self {
        Self::Refused(cause.into())
    }
}

/// Gives what was read of a page, if it is sound.
fn sound<T>(read: Option<T>) -> std::result::Result<T, Trouble> {
    read.ok_or(Trouble::Damaged)
}

impl Search<'_> {
    fn run(mut self, visit: &mut VisitRows) -> Result<()> {
        while let Some(step) = self.room.steps.pop() {
            check_interrupts();
            self.room.rows.clear();
            self.read(step)?;
            if !self.room.rows.is_empty() && visit(&self.room.rows)?.is_break() {
                break;
            }
        }
        let mut room = self.room;
        room.steps.clear();
        room.rows.clear();
        room.rows.shrink_to(LONG);
        ROOM.set(room);
        Ok(())
    }

    /// Reads a page: notes where to go on, and the rows that are wanted.
    fn read(&mut self, step: Step) -> Result<()> {
        let block = step.block;
        let page = self.index.page(block);
        let read = self.locked(&page, step);
        drop(page);
        read.map_err(|trouble| match trouble {
            Trouble::Refused(report) => report,
            Trouble::Damaged => self.index.damaged(block),
        })
    }

    fn locked(&mut self, page: &LockedPage, step: Step) -> std::result::Result<(), Trouble> {
        let opaque = sound(page.opaque())?;
        page.refuse_old(self.index.open(), self.snapshot);
        if opaque.flags & (nbtree::DELETED | nbtree::HALF_DEAD) != 0 {
            return self.go_right(&opaque, step);
        }
        sound((step.level.unwrap_or(opaque.level) == opaque.level).then_some(()))?;
        if opaque.level > 0 {
            return self.inner(page, &opaque, step);
        }
        page.lock_for_serializable(self.index.open(), self.snapshot);
        self.leaf(page, &opaque, step)
    }

    /// Notes the pages below an inner page.
    fn inner(
        &mut self,
        page: &Page,
        opaque: &Opaque,
        step: Step,
    ) -> std::result::Result<(), Trouble> {
        let (layout, level) = (self.layout, Some(opaque.level - 1));
        let (first, end) = (first_item(opaque), page.last_item() + 1);
        let child = |offset| downlink(page.item(offset)?);
        let bound = |offset| Pivot::read(layout, page.item(offset)?);
        let WantedEntries::Keys(wanted) = self.wanted else {
            let block = sound(child(first))?;
            return Ok(memory::push(&mut self.room.steps, Step { block, level, ..step })?);
        };
        let mut at = step.keys.start;
        let until = self.until(page, opaque, &step, Ordering::is_le)?;
        while at < until {
            // Behind the last item that is less; the first one is less than any key.
            let next = sound(partition(
                first + 1..end,
                step.span.place(wanted[at], first..end),
                |offset| Some(bound(offset)?.order(layout, wanted[at]).is_gt()),
            ))?;
            let mut span = step.span;
            if next > first + 1 {
                span.low = sound(bound(next - 1))?.key();
            }
            let mut shared = until;
            if next < end {
                let bound = sound(bound(next))?;
                span.high = bound.key();
                shared = up_to(wanted, &(at..until), |key| bound.order(layout, key).is_le());
            }
            let block = sound(child(next - 1))?;
            memory::push(&mut self.room.steps, Step { block, level, keys: at..shared, span })?;
            at = shared;
        }
        Ok(())
    }

    /// Collects the rows of a leaf page.
    fn leaf(
        &mut self,
        page: &Page,
        opaque: &Opaque,
        mut step: Step,
    ) -> std::result::Result<(), Trouble> {
        let layout = self.layout;
        let (first, end) = (first_item(opaque), page.last_item() + 1);
        let WantedEntries::Keys(wanted) = self.wanted else {
            for offset in first..end {
                self.collect(page, offset)?;
            }
            return if opaque.next == NO_BLOCK { Ok(()) } else { self.go_right(opaque, step) };
        };
        let key = |offset| layout.key(page.item(offset)?);
        while step.keys.start < step.keys.end {
            let wanted = wanted[step.keys.start];
            let is_before = |offset| Some(key(offset)? < wanted);
            let place = step.span.place(wanted, first..end);
            let mut offset = sound(partition(first..end, place, is_before))?;
            while offset < end && sound(key(offset))? == wanted {
                self.collect(page, offset)?;
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
    ) -> std::result::Result<usize, Trouble> {
        let WantedEntries::Keys(wanted) = self.wanted else { return Ok(step.keys.end) };
        if opaque.next == NO_BLOCK {
            return Ok(step.keys.end);
        }
        let high = page.item(nbtree::HIGH_KEY).and_then(|item| Pivot::read(self.layout, item));
        let high = sound(high)?;
        let until = up_to(wanted, &step.keys, |key| is_here(high.order(self.layout, key)));
        if until < step.keys.end {
            let keys = until..step.keys.end;
            self.go_right(opaque, Step { keys, ..*step })?;
        }
        Ok(until)
    }

    /// Goes on with the page to the right.
    fn go_right(&mut self, opaque: &Opaque, step: Step) -> std::result::Result<(), Trouble> {
        let block = sound((opaque.next != NO_BLOCK).then_some(opaque.next))?;
        Ok(memory::push(&mut self.room.steps, Step { block, ..step })?)
    }

    /// Appends the rows of a leaf item.
    fn collect(&mut self, page: &Page, offset: u16) -> std::result::Result<(), Trouble> {
        let (_, rows) = sound(page.item(offset).and_then(|item| entries(self.layout, item)))?;
        let found = &mut self.room.rows;
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
