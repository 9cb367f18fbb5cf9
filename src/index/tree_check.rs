//! Checks that the pages of an index are a tree, which is what `minlsh_check` asks first, since amcheck takes
//! B-trees of core's own access method only.
//!
//! Level by level from the root: each page is of its level, its items ascend and keep within its high key. While nobody
//! writes, the pages of a level are those that the level above leads to, each with the high key of the page to its
//! left. Those are nbtree's own invariants (access/nbtree/README): a page lacks its downlink after a split that was not
//! finished, and while it is being deleted.

use pgrx::pg_sys::BlockNumber;
use sketch::memory;

use crate::error::Result;
use crate::index::items::{Pivot, downlink, entries, first_item};
use crate::index::layout::{Entry, Layout};
use crate::index::minlsh_index::MinlshIndex;
use crate::index::nbtree::{self, META_BLOCK, NO_BLOCK, Opaque};
use crate::index::pages::{PageCopy, read_page};
use crate::index::stored_options::OPTIONS_BLOCK;
use crate::pg::interrupts::check_interrupts;
use crate::pg::open::Open;

/// A page of a level, and the bound between it and the page to its left.
type Place = (BlockNumber, Option<Pivot>);

/// Takes a problem.
type Report<'a> = dyn FnMut(String) -> Result<()> + 'a;

/// Checks the tree of an open index; calls `report` with each problem, and `visit` with each entry. `at_rest` if nobody
/// writes meanwhile: the links between pages are not looked at otherwise.
pub fn check(
    index: &MinlshIndex,
    at_rest: bool,
    report: &mut Report,
    visit: &mut dyn FnMut(Entry) -> Result<()>,
) -> Result<()> {
    let tree = Tree { index: index.open(), layout: index.layout(), at_rest };
    let meta = tree.page(META_BLOCK);
    let root = meta.as_ref().and_then(|(meta, _)| meta.root().zip(meta.height()));
    let (Some((meta, opaque)), Some((root, height))) = (meta, root) else {
        return report("the metapage is damaged".to_owned());
    };
    if meta.all_equal_image() != Some(true) || opaque.flags != nbtree::META {
        report("the metapage is damaged".to_owned())?;
    }
    let bare = Opaque { previous: NO_BLOCK, next: NO_BLOCK, level: 0, flags: 0, cycle: 0 };
    if tree.page(OPTIONS_BLOCK).is_none_or(|(_, opaque)| opaque != bare) {
        report(format!("page {OPTIONS_BLOCK}, which has the options, is damaged"))?;
    }
    if root == NO_BLOCK {
        return Ok(());
    }
    // Searches may start at a page that is the only one of its level.
    let mut fast_root = meta.fast_root();
    let mut above = vec![(root, None)];
    for level in (0..=height).rev() {
        let Some(&(start, _)) = above.first() else {
            return report(format!("level {level} has no first page"));
        };
        let Some((pages, below)) = tree.level(start, level, report, visit)? else {
            return Ok(());
        };
        if at_rest && pages != above {
            report(format!(
                "the downlinks to level {level} lead to other pages, or have other bounds"
            ))?;
        }
        fast_root.take_if(|(block, of)| *of == level && pages == [(*block, None)]);
        above = below;
    }
    if at_rest && fast_root.is_some() {
        report("the metapage points to a wrong root".to_owned())?;
    }
    Ok(())
}

struct Tree<'a> {
    index: &'a Open,
    layout: &'a Layout,
    at_rest: bool,
}

impl Tree<'_> {
    fn page(&self, block: BlockNumber) -> Option<(PageCopy, Opaque)> {
        let page = read_page(self.index, block)?;
        let opaque = page.opaque()?;
        Some((page, opaque))
    }

    /// Walks a level from its leftmost page; returns the pages that should have a downlink, and those that its own
    /// downlinks lead to. `None` if it cannot be followed to its end.
    fn level(
        &self,
        start: BlockNumber,
        level: u32,
        report: &mut Report,
        visit: &mut dyn FnMut(Entry) -> Result<()>,
    ) -> Result<Option<(Vec<Place>, Vec<Place>)>> {
        let (mut pages, mut below) = (Vec::new(), Vec::new());
        let (mut block, mut previous, mut steps) = (start, NO_BLOCK, 0);
        let (mut low, mut is_split) = (None, false);
        while block != NO_BLOCK {
            check_interrupts();
            let Some((page, opaque)) = self.page(block) else {
                report(format!("page {block} is damaged"))?;
                return Ok(None);
            };
            steps += 1;
            // Where others write, pages are added meanwhile.
            if steps > self.index.pages() {
                report(format!("the pages of level {level} are linked in a circle"))?;
                return Ok(None);
            }
            let has = |flag| opaque.flags & flag != 0;
            if !has(nbtree::DELETED) {
                if opaque.level != level || has(nbtree::LEAF) != (level == 0) || has(nbtree::META) {
                    report(format!("page {block} is not of level {level}"))?;
                    return Ok(None);
                }
                if self.at_rest && opaque.previous != previous {
                    report(format!("page {block} is not linked to the page to its left"))?;
                }
                previous = block;
            }
            if !has(nbtree::DELETED | nbtree::HALF_DEAD) {
                let has_high = opaque.next != NO_BLOCK;
                let high = page.item(nbtree::HIGH_KEY).filter(|_| has_high);
                let high = high.and_then(|item| Pivot::read(self.layout, item));
                let ascend = match level {
                    0 => self.entries(&page, &opaque, high, visit)?,
                    _ => self.downlinks(&page, &opaque, (low, high), &mut below)?,
                };
                if !ascend || high.is_some() != has_high {
                    report(format!("the items of page {block} are damaged or out of order"))?;
                }
                if !is_split {
                    memory::push(&mut pages, (block, low))?;
                }
                (low, is_split) = (high, has(nbtree::INCOMPLETE_SPLIT));
            }
            block = opaque.next;
        }
        Ok(Some((pages, below)))
    }

    /// Visits the entries of a leaf page. True if they ascend and keep within its high key.
    fn entries(
        &self,
        page: &PageCopy,
        opaque: &Opaque,
        high: Option<Pivot>,
        visit: &mut dyn FnMut(Entry) -> Result<()>,
    ) -> Result<bool> {
        let (mut sound, mut last) = (true, None);
        for offset in first_item(opaque)..=page.last_item() {
            let item = page.item(offset).and_then(|item| entries(self.layout, item));
            let Some((key, rows)) = item else {
                sound = false;
                continue;
            };
            for tid in rows {
                let entry = Entry { key, tid };
                sound &= last.replace(entry).is_none_or(|last| last < entry);
                sound &= high.is_none_or(|high| high.bounds(self.layout, entry));
                visit(entry)?;
            }
        }
        Ok(sound)
    }

    /// Appends the downlinks of an inner page to `below`. True if they ascend and keep between its bounds.
    fn downlinks(
        &self,
        page: &PageCopy,
        opaque: &Opaque,
        (low, high): (Option<Pivot>, Option<Pivot>),
        below: &mut Vec<Place>,
    ) -> Result<bool> {
        let (mut sound, mut bound) = (true, low);
        let first = first_item(opaque);
        for offset in first..=page.last_item() {
            let Some(item) = page.item(offset) else {
                sound = false;
                continue;
            };
            // The first one has no bound of its own.
            if offset > first {
                let last = std::mem::replace(&mut bound, Pivot::read(self.layout, item));
                sound &= bound.is_some_and(|bound| {
                    last.is_none_or(|last| last.is_below(bound))
                        && high.is_none_or(|high| bound.is_below(high))
                });
            }
            let Some(child) = downlink(item) else { return Ok(false) };
            memory::push(below, (child, bound))?;
        }
        Ok(sound)
    }
}
