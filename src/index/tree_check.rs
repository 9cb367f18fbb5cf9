//! Checks that the pages of an index are a tree, which is what `minlsh_check` asks first, since amcheck takes
//! B-trees of core's own access method only.
//!
//! Level by level from the root: each page is of its level and linked with its neighbours, its items
//! ascend and keep within its high key, and the downlinks above lead to the pages of the level in
//! their order, each with the high key of the page to the left of it. Those are nbtree's own invariants
//! (access/nbtree/README), which hold while others write: a split that lacks its downlink is marked, and a
//! page being deleted is too.

use pgrx::pg_sys::{self, BlockNumber, Relation};

use crate::error::{Result, out_of_memory};
use crate::index::layout::{Entry, Layout, downlink};
use crate::index::leaves::{entries, first_item};
use crate::index::nbtree::{self, META_BLOCK, NO_BLOCK, Opaque};
use crate::index::pages::{PageCopy, read_page};
use crate::index::pivot::Pivot;
use crate::index::stored_options::OPTIONS_BLOCK;
use crate::pg::interrupts::check_interrupts;

/// A page of a level.
struct Page {
    block: BlockNumber,
    flags: u16,
    high: Option<Pivot>,
}

/// A downlink to a page of the level below.
struct Downlink {
    child: BlockNumber,
    pivot: Option<Pivot>,
}

/// True if the links between levels are looked at: they are not at rest while somebody writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Links {
    Check,
    Skip,
}

/// Checks the tree of an open index; calls `report` with each problem, and `visit` with each entry.
///
/// # Safety
/// `index` is open and has that layout.
pub unsafe fn check(
    index: Relation,
    layout: &Layout,
    links: Links,
    report: &mut dyn FnMut(String) -> Result<()>,
    visit: &mut dyn FnMut(Entry) -> Result<()>,
) -> Result<()> {
    let walk = Walk { index, layout, links };
    let Some(meta) = walk.page(META_BLOCK) else {
        return report("the metapage is missing".to_owned());
    };
    let Some((root, height)) = meta.root().zip(meta.height()) else {
        return report("the metapage is damaged".to_owned());
    };
    if meta.all_equal_image() != Some(true)
        || meta.opaque().is_none_or(|opaque| opaque.flags != nbtree::META)
    {
        report("the metapage is damaged".to_owned())?;
    }
    let options = walk.page(OPTIONS_BLOCK).and_then(|page| page.opaque());
    if options != Some(Opaque { previous: NO_BLOCK, next: NO_BLOCK, level: 0, flags: 0, cycle: 0 })
    {
        report(format!("page {OPTIONS_BLOCK}, which has the options, is damaged"))?;
    }
    if root == NO_BLOCK {
        return Ok(());
    }
    if links == Links::Check && !walk.is_fast_root(meta.fast_root(), height) {
        report("the metapage points to a wrong root".to_owned())?;
    }
    let mut start = root;
    let mut above: Option<Vec<Downlink>> = None;
    for level in (0..=height).rev() {
        let Some((pages, downlinks)) = walk.level(start, level, report, visit)? else {
            return Ok(());
        };
        if let (Some(above), Links::Check) = (&above, links) {
            compare(above, &pages, level, report)?;
        }
        if level == 0 {
            break;
        }
        let Some(first) = downlinks.first() else {
            return report(format!("level {level} has no valid first page"));
        };
        start = first.child;
        above = Some(downlinks);
    }
    Ok(())
}

struct Walk<'a> {
    index: Relation,
    layout: &'a Layout,
    links: Links,
}

type LevelPages = (Vec<Page>, Vec<Downlink>);

impl Walk<'_> {
    fn page(&self, block: BlockNumber) -> Option<PageCopy> {
        // SAFETY: `check` promises an open index.
        unsafe { read_page(self.index, block) }
    }

    /// True if searches may start at a page: it is the only one of its level.
    fn is_fast_root(&self, place: Option<(BlockNumber, u32)>, height: u32) -> bool {
        let Some((block, level)) = place else { return false };
        let opaque = self.page(block).and_then(|page| page.opaque());
        level <= height
            && opaque.is_some_and(|page| {
                let alone = page.previous == NO_BLOCK && page.next == NO_BLOCK;
                alone && page.level == level && page.flags & (nbtree::DELETED | nbtree::META) == 0
            })
    }

    /// Walks a level from its leftmost page; `None` if it cannot be followed to its end.
    fn level(
        &self,
        start: BlockNumber,
        level: u32,
        report: &mut dyn FnMut(String) -> Result<()>,
        visit: &mut dyn FnMut(Entry) -> Result<()>,
    ) -> Result<Option<LevelPages>> {
        // SAFETY: `check` promises an open index.
        let count = || unsafe {
            let fork = pg_sys::ForkNumber::MAIN_FORKNUM;
            pg_sys::RelationGetNumberOfBlocksInFork(self.index, fork)
        };
        let mut blocks = count();
        let (mut pages, mut downlinks) = (Vec::new(), Vec::new());
        let (mut block, mut previous, mut steps) = (start, NO_BLOCK, 0);
        while block != NO_BLOCK {
            check_interrupts();
            steps += 1;
            let page = self.page(block);
            let opaque = page.as_ref().and_then(|page| page.opaque());
            let (Some(page), Some(opaque)) = (page, opaque) else {
                report(format!("page {block} is damaged"))?;
                return Ok(None);
            };
            if opaque.flags & nbtree::DELETED == 0 {
                let is_leaf = opaque.flags & nbtree::LEAF != 0;
                if opaque.level != level
                    || is_leaf != (level == 0)
                    || opaque.flags & nbtree::META != 0
                {
                    report(format!("page {block} is not of level {level}"))?;
                    return Ok(None);
                }
                if opaque.previous != previous && self.links == Links::Check {
                    report(format!("page {block} is not linked to the page to its left"))?;
                }
                let high = self.high_key(&page, &opaque);
                if high.is_none() && opaque.next != NO_BLOCK {
                    report(format!("page {block} has no high key"))?;
                }
                if opaque.flags & nbtree::HALF_DEAD == 0 {
                    let sound = if level == 0 {
                        self.leaf(&page, &opaque, high, visit)?
                    } else {
                        self.inner(&page, &opaque, high, &mut downlinks)?
                    };
                    if !sound {
                        report(format!("the items of page {block} are damaged or out of order"))?;
                    }
                }
                pages.try_reserve(1).map_err(|_| out_of_memory())?;
                pages.push(Page { block, flags: opaque.flags, high });
                previous = block;
            }
            block = opaque.next;
            if steps > blocks {
                // Where others write, pages are added meanwhile.
                blocks = count();
            }
            if steps > blocks {
                report(format!("the pages of level {level} are linked in a circle"))?;
                return Ok(None);
            }
        }
        Ok(Some((pages, downlinks)))
    }

    fn high_key(&self, page: &PageCopy, opaque: &Opaque) -> Option<Pivot> {
        if opaque.next == NO_BLOCK {
            return None;
        }
        Pivot::read(self.layout, page.item(nbtree::HIGH_KEY)?)
    }

    /// True if the entries of a leaf page ascend and keep within its high key; visits them.
    fn leaf(
        &self,
        page: &PageCopy,
        opaque: &Opaque,
        high: Option<Pivot>,
        visit: &mut dyn FnMut(Entry) -> Result<()>,
    ) -> Result<bool> {
        let mut last: Option<Entry> = None;
        let mut sound = true;
        for offset in first_item(opaque)..=page.last_item() {
            let item = page.item(offset).and_then(|item| entries(self.layout, item));
            let Some((key, rows)) = item else {
                sound = false;
                continue;
            };
            for tid in rows {
                let entry = Entry { key, tid };
                sound &= last.is_none_or(|last| last < entry);
                sound &= high.is_none_or(|high| high.bounds(self.layout, entry));
                last = Some(entry);
                visit(entry)?;
            }
        }
        Ok(sound)
    }

    /// True if the downlinks of an inner page ascend and keep within its high key; appends them to
    /// `downlinks`.
    fn inner(
        &self,
        page: &PageCopy,
        opaque: &Opaque,
        high: Option<Pivot>,
        downlinks: &mut Vec<Downlink>,
    ) -> Result<bool> {
        let mut sound = true;
        let first = first_item(opaque);
        let mut last: Option<Pivot> = None;
        for offset in first..=page.last_item() {
            let read = |item| Some((item, downlink(item)?));
            let Some((item, child)) = page.item(offset).and_then(read) else {
                sound = false;
                continue;
            };
            let pivot = if offset == first { None } else { Pivot::read(self.layout, item) };
            sound &= offset == first || pivot.is_some();
            if let Some(pivot) = pivot {
                sound &= last.is_none_or(|last| last.is_below(pivot));
                sound &= high.is_none_or(|high| pivot.is_below(high));
                last = Some(pivot);
            }
            downlinks.try_reserve(1).map_err(|_| out_of_memory())?;
            downlinks.push(Downlink { child, pivot });
        }
        Ok(sound)
    }
}

/// Holds the downlinks of a level against the pages of the level below.
fn compare(
    downlinks: &[Downlink],
    pages: &[Page],
    level: u32,
    report: &mut dyn FnMut(String) -> Result<()>,
) -> Result<()> {
    const EXCUSED: u16 = nbtree::HALF_DEAD | nbtree::DELETED;
    let mut at = 0;
    for downlink in downlinks {
        check_interrupts();
        let Some(ahead) = pages[at..].iter().position(|page| page.block == downlink.child) else {
            report(format!(
                "a downlink to page {} of level {level} points to a wrong page",
                downlink.child
            ))?;
            continue;
        };
        for page in &pages[at..at + ahead] {
            // A page without a downlink: its left neighbour's split is not finished, or it goes.
            let left = pages.iter().take_while(|left| left.block != page.block).last();
            let unfinished = left.is_some_and(|left| left.flags & nbtree::INCOMPLETE_SPLIT != 0);
            if page.flags & EXCUSED == 0 && !unfinished {
                report(format!("page {} of level {level} has no downlink", page.block))?;
            }
        }
        at += ahead;
        let left = at.checked_sub(1).map(|left| &pages[left]);
        if let (Some(pivot), Some(left)) = (downlink.pivot, left)
            && left.flags & EXCUSED == 0
            && left.high.is_some_and(|high| high != pivot)
        {
            let child = downlink.child;
            report(format!("the downlink to page {child} has another bound than its neighbour"))?;
        }
        at += 1;
    }
    Ok(())
}
