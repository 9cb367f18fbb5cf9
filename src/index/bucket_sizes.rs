//! The sizes of buckets, from which the planner estimates how many rows a search finds.
//!
//! The near-duplicates of a document are in its buckets, most of them in most of these. So the mean size of the buckets
//! that a search would look up says how many rows it finds, and the average size over all entries how many are found
//! for a document of which nothing is known. Both are read from the index at plan time, of a bounded number of pages:
//! the lists of a template with 100,000 copies fill pages of their own, and each of these has a downlink.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::ptr::null_mut;

use ahash::AHashMap;
use pgrx::pg_sys::{self, BlockNumber, Oid, Relation};
use sketch::memory;

use crate::error::{Result, engine};
use crate::index::descent::{self, Wanted};
use crate::index::keys::NO_BAND;
use crate::index::layout::{Layout, downlink};
use crate::index::leaves::{entries, first_item};
use crate::index::nbtree::{self, META_BLOCK, NO_BLOCK, Opaque};
use crate::index::pages::LockedPage;
use crate::index::pivot::Pivot;
use crate::pg::interrupts::check_interrupts;
use crate::pg::versions;

/// The most leaf pages of a bucket that are counted: about 300,000 rows.
const PAGES_OF_BUCKET: usize = 256;
/// The most leaf pages that are counted for a search.
const PAGES_OF_SEARCH: usize = 512;
/// The most pages right above the leaves that are read for the average. Keys are hashes, so any part of their range
/// is like the others.
const INNER_PAGES: usize = 128;
/// Leaf pages that are read for the average.
const LEAF_PAGES: usize = 32;
/// The most averages that a session remembers.
const REMEMBERED: usize = 64;

/// The mean number of rows in the buckets of `keys`; 0 without any.
///
/// # Safety
/// `index` is open and has that layout, and a snapshot is held.
pub unsafe fn mean(index: Relation, layout: &Layout, keys: &[u64]) -> Result<f64> {
    let (mut rows, mut buckets, mut pages) = (0, 0_u32, 0);
    for key in keys {
        let mut of_bucket = 0;
        let wanted = Wanted::Keys(std::slice::from_ref(key));
        let mut count = |found: &[u64]| {
            rows += found.len();
            of_bucket += 1;
            let enough = of_bucket == PAGES_OF_BUCKET;
            Ok(if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        };
        // SAFETY: the caller's promise.
        unsafe { descent::each(index, layout, null_mut(), wanted, &mut count)? };
        (buckets, pages) = (buckets + 1, pages + of_bucket);
        if pages >= PAGES_OF_SEARCH {
            break;
        }
    }
    Ok(rows as f64 / f64::max(buckets.into(), 1.0))
}

thread_local! {
    /// Averages by index and file, with the number of pages that the index had.
    static AVERAGES: RefCell<AHashMap<(Oid, u32), (BlockNumber, f64)>> = RefCell::default();
}

/// The average number of rows in a bucket, as an entry meets it: at least 1.
///
/// # Safety
/// `index` is open and has that layout, and a snapshot is held.
pub unsafe fn average(index: Relation, layout: &Layout) -> Result<f64> {
    // SAFETY: the caller's promise.
    let (key, pages) = unsafe {
        let fork = pg_sys::ForkNumber::MAIN_FORKNUM;
        let pages = pg_sys::RelationGetNumberOfBlocksInFork(index, fork);
        (((*index).rd_id, versions::file_number(index)), pages)
    };
    let kept = AVERAGES.with_borrow(|averages| averages.get(&key).copied());
    if let Some((_, average)) = kept.filter(|(then, _)| *then == pages) {
        return Ok(average);
    }
    let mut sizes = Sizes::new(index, layout, pages);
    // SAFETY: the caller's promise.
    let average = unsafe {
        sizes.read()?;
        sizes.average()?
    };
    AVERAGES.with_borrow_mut(|averages| {
        if averages.len() >= REMEMBERED {
            averages.clear();
        }
        averages.insert(key, (pages, average));
    });
    Ok(average)
}

/// The sizes of the buckets of an index, as far as it was read.
struct Sizes<'a> {
    index: Relation,
    layout: &'a Layout,
    /// One of so many leaf pages is read.
    stride: usize,
    /// The leaf pages of several buckets, or of a part of one.
    mixed: usize,
    /// Those of them that are to be read.
    sample: Vec<BlockNumber>,
    /// The numbers of pages that are filled by one bucket, for each bucket that fills any.
    filled: Vec<usize>,
    /// A page that is filled by a bucket.
    full: Option<BlockNumber>,
    /// The pages that the bucket in hand has filled so far.
    run: usize,
}

impl<'a> Sizes<'a> {
    fn new(index: Relation, layout: &'a Layout, pages: BlockNumber) -> Self {
        // An inner page has downlinks to some 400 pages.
        let read = (pages as usize).min(INNER_PAGES * 400);
        let stride = (read / LEAF_PAGES).max(1);
        let (sample, filled) = (Vec::new(), Vec::new());
        Self { index, layout, stride, mixed: 0, sample, filled, full: None, run: 0 }
    }

    /// Reads the pages right above the leaves, or as many of them as suffice.
    ///
    /// # Safety
    /// The index is open, and a snapshot is held.
    unsafe fn read(&mut self) -> Result<()> {
        // SAFETY: the caller's promise.
        let root = unsafe { LockedPage::of(self.index, META_BLOCK) }.fast_root();
        let Some((mut block, level)) = root else { return Ok(()) };
        if level == 0 && block != NO_BLOCK {
            return self.note(block, false);
        }
        let (mut read, mut high) = (0, None);
        let mut before: Option<(BlockNumber, Option<u64>)> = None;
        while block != NO_BLOCK && read < INNER_PAGES {
            check_interrupts();
            // SAFETY: the caller's promise.
            let page = unsafe { LockedPage::of(self.index, block) };
            let Some(opaque) = page.opaque().filter(|opaque| opaque.level > 0) else { break };
            if opaque.flags & (nbtree::DELETED | nbtree::HALF_DEAD) != 0 {
                block = opaque.next;
                continue;
            }
            let first = first_item(&opaque);
            let child = |offset| downlink(page.item(offset)?);
            if opaque.level > 1 {
                block = child(first).unwrap_or(NO_BLOCK);
                continue;
            }
            let divided =
                |offset| Pivot::read(self.layout, page.item(offset)?)?.divided(self.layout);
            for offset in first..=page.last_item() {
                // The bound of the first one is the high key of the page to the left.
                let bound = if offset == first { high } else { divided(offset) };
                let Some(child) = child(offset) else { break };
                if let Some((page, left)) = before.replace((child, bound)) {
                    self.note(page, left.is_some() && left == bound)?;
                }
            }
            high = if opaque.next == NO_BLOCK { None } else { divided(nbtree::HIGH_KEY) };
            (block, read) = (opaque.next, read + 1);
        }
        before.map_or(Ok(()), |(page, _)| self.note(page, false))
    }

    /// Notes a leaf page, from left to right.
    fn note(&mut self, page: BlockNumber, is_full: bool) -> Result<()> {
        if is_full {
            self.run += 1;
            self.full.get_or_insert(page);
            return Ok(());
        }
        if self.run > 0 {
            memory::push(&mut self.filled, std::mem::take(&mut self.run)).map_err(engine)?;
        }
        if self.mixed.is_multiple_of(self.stride) && self.sample.len() < LEAF_PAGES {
            memory::push(&mut self.sample, page).map_err(engine)?;
        }
        self.mixed += 1;
        Ok(())
    }

    /// The average that follows.
    ///
    /// # Safety
    /// The index is open, and a snapshot is held.
    unsafe fn average(&self) -> Result<f64> {
        let mut of_sample = Entries::default();
        for page in &self.sample {
            // SAFETY: the caller's promise.
            unsafe { self.count(*page, &mut of_sample)? };
        }
        let scale = self.mixed as f64 / f64::max(self.sample.len() as f64, 1.0);
        let mut all = Entries { count: of_sample.count * scale, met: of_sample.met * scale };
        if let Some(page) = self.full {
            let mut of_page = Entries::default();
            // SAFETY: the caller's promise.
            unsafe { self.count(page, &mut of_page)? };
            for pages in &self.filled {
                // The rest is on the pages beside them: one page, as a mean.
                let size = (pages + 1) as f64 * of_page.count;
                all.add(size);
            }
        }
        Ok(if all.count == 0.0 { 1.0 } else { all.met / all.count })
    }

    /// Counts the entries of a leaf page.
    ///
    /// # Safety
    /// The index is open, and a snapshot is held.
    unsafe fn count(&self, block: BlockNumber, found: &mut Entries) -> Result<()> {
        // SAFETY: the caller's promise.
        let page = unsafe { LockedPage::of(self.index, block) };
        let is_leaf = |opaque: &Opaque| {
            opaque.level == 0 && opaque.flags & (nbtree::DELETED | nbtree::HALF_DEAD) == 0
        };
        let Some(opaque) = page.opaque().filter(is_leaf) else { return Ok(()) };
        let mut bucket = (NO_BAND, 0_usize);
        for offset in first_item(&opaque)..=page.last_item() {
            let item = page.item(offset).and_then(|item| entries(self.layout, item));
            let Some((key, rows)) = item else { continue };
            if key != bucket.0 {
                found.add(std::mem::replace(&mut bucket, (key, 0)).1 as f64);
            }
            // A row without shingles is in no bucket.
            if key != NO_BAND {
                bucket.1 += rows.len();
            }
        }
        found.add(bucket.1 as f64);
        Ok(())
    }
}

/// Entries, and how many entries the bucket of each has, in all.
#[derive(Default)]
struct Entries {
    count: f64,
    met: f64,
}

impl Entries {
    /// Adds a bucket.
    fn add(&mut self, size: f64) {
        self.count += size;
        self.met += size * size;
    }
}
