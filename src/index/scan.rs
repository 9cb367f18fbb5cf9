//! Index scans: `ambeginscan`, `amrescan`, `amgettuple`, `amgetbitmap`, `amendscan`.
//!
//! A search looks up all its keys. The rows found are collected, sorted, and returned once each, always for recheck.
//! The index cannot serve a query with other options, a threshold below its own, or without a condition on the document
//! or a scope. Such a query gets every row, which is slow but correct. A condition on a range does not narrow a search.

use std::cell::{Cell, RefCell};
use std::vec;

use pgrx::pg_sys::ScanKeyData;
use sketch::passage::Bound;

use crate::document::kind::Kind;
use crate::document::value::BandSearch;
use crate::index::descent;
use crate::index::layout::u64_to_tid;
use crate::index::minlsh_index::MinlshIndex;
use crate::index::{nbtree, own_rows};
use crate::options::{IndexOptions, threshold_setting};
use crate::pg::index::IndexColumn;
use crate::prelude::*;

/// Number of rows from which repeats are removed before the list grows.
const BATCH: usize = 1 << 16;

/// Initial capacity for the rows of a search.
const FEW: usize = 256;

/// Rows of each posting list that are read at first, and the factor for each further round.
const FIRST_OF_LIST: usize = 64;
const GROWTH: usize = 8;

/// State of a scan between calls.
struct ScanState {
    /// Memory context of the state. Each scan has its own, because a statement may begin a scan for each row.
    memory: pg_sys::MemoryContext,
    /// The index, which is open as long as the scan and is not used afterwards.
    index: MinlshIndex<'static>,
    /// The rows found, as [`tid_to_u64`](crate::index::layout::tid_to_u64) encodes them; `None` before the search.
    rows: RefCell<Option<vec::IntoIter<u64>>>,
}

enum Lookup {
    Keys(Vec<u64>),
    /// A passage, and the keys of its entries in order.
    Passage(Bound, Vec<u64>),
    AllRows,
}

/// A scan in progress, as PostgreSQL passes it to a callback.
struct IndexScan<'a> {
    raw: pg_sys::IndexScanDesc,
    state: &'a ScanState,
    /// The conditions, each on a column of the index by an operator of its family.
    keys: &'a [ScanKeyData],
    snapshot: Option<Snapshot>,
}

/// `ambeginscan`
#[pg_guard]
pub unsafe extern "C-unwind" fn ambeginscan(
    index: pg_sys::Relation,
    keys: i32,
    order_bys: i32,
) -> pg_sys::IndexScanDesc {
    answer(|| {
        // SAFETY: PostgreSQL passes an open index, and keeps it open until the scan has ended. The state is dropped
        // with its memory context: by `amendscan`, or after an ERROR with the parent context.
        unsafe {
            let scan = pg_sys::RelationGetIndexScan(index, keys, order_bys);
            let memory = pg_sys::AllocSetContextCreateInternal(
                pg_sys::CurrentMemoryContext,
                c"minlsh scan".as_ptr(),
                pg_sys::ALLOCSET_SMALL_MINSIZE as usize,
                pg_sys::ALLOCSET_SMALL_INITSIZE as usize,
                pg_sys::ALLOCSET_SMALL_MAXSIZE as usize,
            );
            let index = MinlshIndex::of(Open::lent(&(*scan).indexRelation))?;
            let state = ScanState { memory, index, rows: RefCell::new(None) };
            let mut context = pgrx::memcxt::PgMemoryContexts::For(memory);
            (*scan).opaque = context.leak_and_drop_on_delete(state).cast();
            Ok(scan)
        }
    })
}

/// `amrescan`
#[pg_guard]
pub unsafe extern "C-unwind" fn amrescan(
    scan: pg_sys::IndexScanDesc,
    keys: *mut ScanKeyData,
    _key_count: i32,
    _order_bys: *mut ScanKeyData,
    _order_by_count: i32,
) {
    // SAFETY: PostgreSQL passes a scan of `ambeginscan`, with room for the keys that it was begun with.
    unsafe {
        if !keys.is_null() && (*scan).numberOfKeys > 0 {
            std::ptr::copy(keys, (*scan).keyData, (*scan).numberOfKeys as usize);
        }
        IndexScan::of(scan).state.rows.take();
    }
}

/// `amgettuple`
#[pg_guard]
pub unsafe extern "C-unwind" fn amgettuple(
    scan: pg_sys::IndexScanDesc,
    _direction: pg_sys::ScanDirection::Type,
) -> bool {
    answer(|| {
        // SAFETY: PostgreSQL passes a scan of `ambeginscan` after `amrescan`.
        let own = unsafe { IndexScan::of(scan) };
        let Some(row) = own.next_row()? else { return Ok(false) };
        // SAFETY: PostgreSQL passes the scan, and reads the found row from it.
        unsafe {
            (*scan).xs_heaptid = u64_to_tid(row);
            (*scan).xs_recheck = true;
        }
        Ok(true)
    })
}

/// `amgetbitmap`
#[pg_guard]
pub unsafe extern "C-unwind" fn amgetbitmap(scan: pg_sys::IndexScanDesc, bitmap: *mut pg_sys::TIDBitmap) -> i64 {
    answer(|| {
        let mut count = 0;
        // SAFETY: PostgreSQL passes a scan of `ambeginscan` after `amrescan`.
        let own = unsafe { IndexScan::of(scan) };
        own.search(&mut |rows| {
            let mut batch = memory::collect(rows.iter().map(|row| u64_to_tid(*row)))?;
            // SAFETY: PostgreSQL passes a bitmap to be filled, and copies the addresses.
            unsafe {
                pg_sys::tbm_add_tuples(bitmap, batch.as_mut_ptr(), batch.len() as i32, true);
            }
            count += batch.len() as i64;
            Ok(())
        })?;
        Ok(count)
    })
}

/// `amendscan`
#[pg_guard]
pub unsafe extern "C-unwind" fn amendscan(scan: pg_sys::IndexScanDesc) {
    // SAFETY: PostgreSQL does not use a scan of `ambeginscan` after this; its state is dropped with its memory.
    unsafe { pg_sys::MemoryContextDelete(IndexScan::of(scan).state.memory) };
}

fn sort(rows: &mut Vec<u64>) {
    rows.sort_unstable();
    rows.dedup();
}

impl<'a> IndexScan<'a> {
    /// # Safety
    /// `scan` is a scan of `ambeginscan`, with room for the keys that it was begun with. It does not end while the
    /// result is used.
    unsafe fn of(scan: pg_sys::IndexScanDesc) -> Self {
        // SAFETY: `ambeginscan` stored a `ScanState`, to which no mutable reference exists, and made room for the keys.
        // The caller promises that the scan has not ended.
        unsafe {
            let keys: &[ScanKeyData] = match (*scan).numberOfKeys {
                0 => &[],
                count => std::slice::from_raw_parts((*scan).keyData, count as usize),
            };
            let state = &*(*scan).opaque.cast::<ScanState>();
            Self { raw: scan, state, keys, snapshot: Snapshot::of_scan((*scan).xs_snapshot) }
        }
    }

    /// Returns the next row, after searching if necessary.
    fn next_row(&self) -> Result<Option<u64>> {
        let rows = &self.state.rows;
        if rows.borrow().is_none() {
            let found = self.collect()?;
            rows.replace(Some(found.into_iter()));
        }
        Ok(rows.borrow_mut().as_mut().and_then(Iterator::next))
    }

    /// Collects the distinct rows of a search, in the order of their addresses.
    fn collect(&self) -> Result<Vec<u64>> {
        let mut rows: Vec<u64> = memory::with_capacity(FEW)?;
        let mut visit = |found: &[u64]| {
            // A row has an entry for each band: without repeats the list is much shorter.
            if rows.len() >= BATCH && rows.len() + found.len() > rows.capacity() {
                sort(&mut rows);
            }
            memory::extend(&mut rows, found).map_err(Into::into)
        };
        self.search(&mut visit)?;
        sort(&mut rows);
        if self.snapshot.as_ref().is_some_and(Snapshot::is_dirty) {
            self.rule_out(&mut rows)?;
        }
        Ok(rows)
    }

    /// Removes rows that cannot be conflicts, as this transaction knows, from the results of a constraint's scan.
    fn rule_out(&self, rows: &mut Vec<u64>) -> Result<()> {
        let index = &self.state.index;
        let of_document =
            |key: &&ScanKeyData| key.sk_attno as usize == index.layout.document + 1 && key.sk_subtype == Oid::INVALID;
        let key = self.keys.iter().find(of_document);
        // SAFETY: the caller of `of` promises a scan in progress. A constraint's scan has its table open; others may
        // have null.
        let heap = unsafe { &(*self.raw).heapRelation };
        // With a NULL value there would be no results.
        let is_known = index.kind == Kind::Document && !heap.is_null() && !rows.is_empty();
        let Some(key) = key.filter(|_| is_known) else { return Ok(()) };
        // SAFETY: the table is open as long as the scan. A condition without a type has a value of the column's own
        // type.
        let (heap, image) = unsafe { (Open::lent(heap), bytes::read(key.sk_argument)) };
        own_rows::rule_out(index, heap, image, rows)
    }

    /// Calls `visit` with the rows that have one of the wanted keys, possibly repeatedly.
    fn search(&self, visit: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        let index = &self.state.index;
        // Frees the memory for making keys before the tree is read.
        let lookup = Memory::scratch(c"minlsh search").run(|| self.look_up())?;
        nbtree::count_search(index.open());
        // SAFETY: the caller of `of` promises a scan in progress.
        unsafe { versions::count_search_of(self.raw) };
        match lookup {
            Lookup::AllRows => self.each_row(visit),
            Lookup::Keys(wanted) => {
                descent::each(index, self.snapshot.as_ref(), &wanted, &mut |rows| visit(rows).map(|()| Continue::Yes))
            }
            Lookup::Passage(bound, keys) => visit(&self.candidates(&bound, &keys)?),
        }
    }

    /// The rows that can contain enough of a passage, ascending; `keys` are the keys of its entries.
    ///
    /// Every text that contains enough of it has an entry of a stretch, for any stretch that is long enough
    /// ([`Bound`]). So a few rows of each entry's posting list are read at first, then more of the longer lists, until
    /// the lists of one stretch are complete. This avoids the long lists of boilerplate, and misses no row. The
    /// complete lists show how much of the passage each candidate can contain. The others are not returned for recheck.
    fn candidates(&self, bound: &Bound, keys: &[u64]) -> Result<Vec<u64>> {
        let mut lists: Vec<Option<Vec<u64>>> = memory::filled(None, keys.len())?;
        let mut limit = FIRST_OF_LIST;
        let asked = loop {
            for (list, key) in lists.iter_mut().zip(keys).filter(|(list, _)| list.is_none()) {
                check_interrupts();
                *list = self.list(*key, limit)?;
            }
            let cost = |place: usize| lists[place].as_ref().map(|rows| rows.len() as u64);
            if let Some(asked) = bound.cheapest(cost)? {
                break asked;
            }
            limit = limit.saturating_mul(GROWTH);
        };
        let mut rows = Vec::new();
        for place in asked {
            memory::extend(&mut rows, lists[place].as_deref().unwrap_or_default())?;
        }
        sort(&mut rows);
        // Rows and lists ascend, so each list is traversed once.
        let next = memory::filled(Cell::new(0), lists.len())?;
        rows.retain(|row| {
            bound.is_possible(|place| {
                check_interrupts();
                let (Some(list), next) = (&lists[place], &next[place]) else { return false };
                while list.get(next.get()).is_some_and(|listed| listed < row) {
                    next.set(next.get() + 1);
                }
                list.get(next.get()) != Some(row)
            })
        });
        Ok(rows)
    }

    /// The rows of a key, ascending; `None` if there are more than `limit`.
    fn list(&self, key: u64, limit: usize) -> Result<Option<Vec<u64>>> {
        let (mut rows, mut is_complete) = (Vec::new(), true);
        descent::each(&self.state.index, self.snapshot.as_ref(), &[key], &mut |found| {
            is_complete = rows.len() + found.len() <= limit;
            if !is_complete {
                return Ok(Continue::No);
            }
            memory::extend(&mut rows, found)?;
            Ok(Continue::Yes)
        })?;
        sort(&mut rows);
        Ok(is_complete.then_some(rows))
    }

    /// Calls `visit` with all rows, once for each entry.
    fn each_row(&self, visit: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        let (index, snapshot) = (&self.state.index, self.snapshot.as_ref());
        // An insertion anywhere is a conflict.
        snapshot.into_iter().for_each(|snapshot| index.open().predicate_lock(snapshot));
        descent::each_leaf(index, snapshot, |leaf| visit(&memory::collect(leaf.entries.iter().map(|entry| entry.tid))?))
    }

    /// Makes searches from the conditions.
    fn look_up(&self) -> Result<Lookup> {
        let index = &self.state.index;
        let mut asked: Vec<Option<(Oid, Datum)>> = vec![None; index.layout.columns()];
        for key in self.keys {
            if key.sk_flags & pg_sys::SK_ISNULL as i32 != 0 {
                return Ok(Lookup::Keys(Vec::new()));
            }
            if !index.has_keys(key) {
                continue;
            }
            // The first of two conditions on a column is looked up; the executor checks both.
            let place = &mut asked[key.sk_attno as usize - 1];
            *place = place.or(Some((key.sk_subtype, key.sk_argument)));
        }
        let scopes: Option<Vec<_>> = index.layout.scopes().map(|column| asked[column]).collect();
        let (Some((type_oid, value)), Some(scopes)) = (asked[index.layout.document], scopes) else {
            return Ok(Lookup::AllRows);
        };
        let options = index.options()?;
        if !options.is_current() {
            return Ok(Lookup::AllRows);
        }
        // SAFETY: the scan's conditions are not NULL, as just checked. `has_keys` found a hash function for the types
        // of scopes.
        let scope = || unsafe { index.scope(scopes.into_iter().map(|(type_oid, value)| (type_oid, Some(value)))) };
        // A constraint's condition has no type, and a value of the column's own.
        let of_column = || IndexColumn::of(index.open(), index.layout.document).input_type;
        let type_oid = if type_oid == Oid::INVALID { of_column() } else { type_oid };
        // SAFETY: not NULL, as just checked, and of the condition's type, or else the column's.
        let sought = unsafe { TypedValue::new(value, type_oid) };
        Ok(match index.kind.search(sought, &options)? {
            BandSearch::Everything => {
                if index.kind.takes_setting(sought) {
                    refuse_lowered(&options)?;
                }
                Lookup::AllRows
            }
            BandSearch::Nothing => Lookup::Keys(Vec::new()),
            BandSearch::Bands(bands) => Lookup::Keys(index.keys_of(&bands, scope())?),
            BandSearch::Passage(bound) => {
                let keys = index.keys_of_passage(bound.entries(), scope())?;
                Lookup::Passage(bound, keys)
            }
        })
    }
}

/// Refuses a search with a threshold from `minlsh.threshold` below the index's. No plan does so, so the query itself
/// has lowered the setting. Returning all rows for recheck would be correct, but the caller could count hidden rows by
/// their similarity.
fn refuse_lowered(options: &IndexOptions) -> Result<()> {
    let threshold = threshold_setting();
    if threshold >= options.threshold {
        return Ok(());
    }
    Err(wrong_state("minlsh.threshold was lowered while a query was running")
        .set_detail(format!(
            "The index of the query's plan serves thresholds of at least {}, not {threshold}.",
            options.threshold
        ))
        .set_hint("Set minlsh.threshold before the query, or pass minlsh_document(body, threshold)."))
}
