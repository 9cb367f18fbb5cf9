//! Scans: `ambeginscan`, `amrescan`, `amgettuple`, `amgetbitmap`, `amendscan`.
//!
//! A search looks up all its keys. The rows found are collected, sorted and given once, always for recheck. A query
//! that the index does not serve (other options, a threshold below its own, a column left open) gets every row: slow,
//! and right.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;

use pgrx::pg_sys::{self, Datum, Oid, Relation, ScanKeyData};
use pgrx::prelude::*;
use sketch::memory;
use sketch::passage::Bound;

use crate::document::value::BandSearch;
use crate::error::{Result, raise, wrong_state};
use crate::index::descent::{self, WantedEntries};
use crate::index::keys::Keys;
use crate::index::layout::u64_to_tid;
use crate::index::{nbtree, own_rows, passage_scan, stored_options};
use crate::options::IndexOptions;
use crate::pg::versions;
use crate::settings;

/// Rows handed to a bitmap at a time.
const BATCH: usize = 1 << 16;

/// Rows for which a search has room from the beginning.
const FEW: usize = 256;

/// A scan in progress.
struct State {
    keys: Keys,
    /// Memory for one search, emptied before the next.
    memory: pg_sys::MemoryContext,
    /// The rows found, as [`tid_to_u64`] has them; `None` before the search.
    rows: RefCell<Option<Vec<u64>>>,
    next: Cell<usize>,
}

/// The searches of a scan.
enum Lookup {
    Keys(Vec<u64>),
    /// A passage, and the keys of its entries in their order.
    Passage(Bound, Vec<u64>),
    AllRows,
}

/// `ambeginscan`
#[pg_guard]
pub unsafe extern "C-unwind" fn ambeginscan(
    index: Relation,
    keys: i32,
    order_bys: i32,
) -> pg_sys::IndexScanDesc {
    // SAFETY: PostgreSQL passes an open index, which stays open during the scan. The state lives,
    // and is dropped, with the memory context of the scan.
    unsafe {
        let scan = pg_sys::RelationGetIndexScan(index, keys, order_bys);
        let index_keys = match Keys::of(index) {
            Ok(keys) => keys,
            Err(report) => raise(report),
        };
        let memory = crate::index::table_scan::row_context();
        let (rows, next) = (RefCell::new(None), Cell::new(0));
        let state = State { keys: index_keys, memory, rows, next };
        let mut context = pgrx::memcxt::PgMemoryContexts::CurrentMemoryContext;
        (*scan).opaque = context.leak_and_drop_on_delete(state).cast();
        scan
    }
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
    // SAFETY: a scan of `ambeginscan`, with room for the keys it was begun with.
    unsafe {
        if !keys.is_null() && (*scan).numberOfKeys > 0 {
            std::ptr::copy(keys, (*scan).keyData, (*scan).numberOfKeys as usize);
        }
        state(scan).rows.take();
    }
}

/// `amgettuple`
#[pg_guard]
pub unsafe extern "C-unwind" fn amgettuple(
    scan: pg_sys::IndexScanDesc,
    _direction: pg_sys::ScanDirection::Type,
) -> bool {
    // SAFETY: a scan of `ambeginscan` that was rescanned.
    unsafe {
        let state = state(scan);
        if state.rows.borrow().is_none()
            && let Err(report) = collect(scan)
        {
            raise(report);
        }
        let next = state.next.get();
        let Some(row) = state.rows.borrow().as_ref().and_then(|rows| rows.get(next).copied())
        else {
            return false;
        };
        state.next.set(next + 1);
        (*scan).xs_heaptid = u64_to_tid(row);
        (*scan).xs_recheck = true;
        true
    }
}

/// `amgetbitmap`
#[pg_guard]
pub unsafe extern "C-unwind" fn amgetbitmap(
    scan: pg_sys::IndexScanDesc,
    bitmap: *mut pg_sys::TIDBitmap,
) -> i64 {
    let (mut batch, mut count): (Vec<pg_sys::ItemPointerData>, i64) = (Vec::new(), 0);
    // SAFETY: a scan of `ambeginscan` that was rescanned.
    let result = unsafe {
        search(scan, &mut |rows| {
            for rows in rows.chunks(BATCH) {
                batch.clear();
                memory::reserve(&mut batch, rows.len())?;
                batch.extend(rows.iter().map(|row| u64_to_tid(*row)));
                // SAFETY: the bitmap is being filled; the addresses are copied.
                pg_sys::tbm_add_tuples(bitmap, batch.as_mut_ptr(), batch.len() as i32, true);
                count += batch.len() as i64;
            }
            Ok(())
        })
    };
    if let Err(report) = result {
        raise(report);
    }
    count
}

/// `amendscan`
#[pg_guard]
pub unsafe extern "C-unwind" fn amendscan(scan: pg_sys::IndexScanDesc) {
    // SAFETY: a scan of `ambeginscan`, which is not used any more.
    unsafe {
        let state = state(scan);
        pg_sys::MemoryContextDelete(state.memory);
        state.rows.take();
    }
}

/// The state of a scan, shared: what changes in it is in cells, for one callback calls another's functions.
///
/// # Safety
/// `scan` is one of `ambeginscan`.
unsafe fn state<'a>(scan: pg_sys::IndexScanDesc) -> &'a State {
    // SAFETY: `ambeginscan` has put a `State` there, which lives as long as the memory context of the scan, and nobody
    // has a reference that could change it.
    unsafe { &*(*scan).opaque.cast::<State>() }
}

/// Collects the rows of a search, each once, in the order of their addresses.
///
/// # Safety
/// `scan` is one of `ambeginscan` that was rescanned.
unsafe fn collect(scan: pg_sys::IndexScanDesc) -> Result<()> {
    let mut rows: Vec<u64> = memory::with_capacity(FEW)?;
    let mut visit = |found: &[u64]| {
        // A row has as many entries as bands: without repeats the list is a fraction.
        if rows.len() >= BATCH && rows.len() + found.len() > rows.capacity() {
            sort(&mut rows);
        }
        memory::extend(&mut rows, found).map_err(Into::into)
    };
    // SAFETY: the caller's promise.
    unsafe {
        search(scan, &mut visit)?;
        sort(&mut rows);
        own_rows::rule_out(&state(scan).keys, scan, &mut rows)?;
        let state = state(scan);
        state.rows.replace(Some(rows));
        state.next.set(0);
    }
    Ok(())
}

fn sort(rows: &mut Vec<u64>) {
    rows.sort_unstable();
    rows.dedup();
}

/// Calls `visit` with the rows that have one of the keys looked for; rows may come repeatedly.
///
/// # Safety
/// `scan` is one of `ambeginscan` that was rescanned.
unsafe fn search(
    scan: pg_sys::IndexScanDesc,
    visit: &mut dyn FnMut(&[u64]) -> Result<()>,
) -> Result<()> {
    // SAFETY: the caller's promise. What making the keys allocates is freed before the tree is read.
    let (lookup, keys) = unsafe {
        let state = state(scan);
        let previous = pg_sys::MemoryContextSwitchTo(state.memory);
        let lookup = look_up(scan, &state.keys);
        pg_sys::MemoryContextSwitchTo(previous);
        pg_sys::MemoryContextReset(state.memory);
        (lookup?, &state.keys)
    };
    // SAFETY: the caller's promise.
    unsafe {
        nbtree::count_search((*scan).indexRelation);
        versions::count_search_of(scan);
    }
    let each = |wanted: WantedEntries, visit: &mut descent::VisitRows| {
        // SAFETY: the caller's promise: the index is open during the scan, under its snapshot.
        unsafe {
            let (index, snapshot) = ((*scan).indexRelation, (*scan).xs_snapshot);
            descent::each(index, keys.layout(), snapshot, wanted, visit)
        }
    };
    let mut visit_all = |rows: &[u64]| visit(rows).map(ControlFlow::Continue);
    match lookup {
        Lookup::AllRows => each(WantedEntries::All, &mut visit_all),
        Lookup::Keys(wanted) => each(WantedEntries::Keys(&wanted), &mut visit_all),
        Lookup::Passage(bound, keys) => {
            let mut read = |place: usize, rows: &mut Vec<u64>, limit: usize| {
                let mut complete = true;
                each(WantedEntries::Keys(&keys[place..=place]), &mut |found| {
                    let room = limit - rows.len();
                    complete = found.len() <= room;
                    memory::extend(rows, &found[..found.len().min(room)])?;
                    Ok(if complete { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
                })?;
                Ok(complete)
            };
            let rows = passage_scan::candidates(&bound, &mut read)?;
            visit(&rows)
        }
    }
}

/// Makes searches of the keys of a scan.
///
/// # Safety
/// `scan` is one of `ambeginscan` that was rescanned.
unsafe fn look_up(scan: pg_sys::IndexScanDesc, keys: &Keys) -> Result<Lookup> {
    let columns = keys.layout().columns();
    let mut asked: Vec<Option<(Oid, Datum)>> = vec![None; columns];
    // SAFETY: the caller's promise: the scan has that many keys, each for a column of the index,
    // by an operator of its family.
    unsafe {
        let scan_keys: &[ScanKeyData] = match (*scan).numberOfKeys {
            0 => &[],
            count => std::slice::from_raw_parts((*scan).keyData, count as usize),
        };
        for scan_key in scan_keys {
            if scan_key.sk_flags & pg_sys::SK_ISNULL as i32 != 0 {
                return Ok(Lookup::Keys(Vec::new()));
            }
            // Of two conditions on one column the first is looked up; the executor checks both.
            let place = &mut asked[scan_key.sk_attno as usize - 1];
            *place = place.or(Some((scan_key.sk_subtype, scan_key.sk_argument)));
        }
        let mut scope = Vec::with_capacity(columns);
        let mut document = None;
        for (column, asked) in asked.into_iter().enumerate() {
            match asked {
                None => return Ok(Lookup::AllRows),
                Some(asked) if column == keys.layout().document() => document = Some(asked),
                Some((type_oid, value)) => scope.push((column, type_oid, value)),
            }
        }
        let Some((type_oid, value)) = document else {
            return Ok(Lookup::AllRows);
        };
        let options = stored_options::built_of((*scan).indexRelation)?;
        if !options.is_current() {
            return Ok(Lookup::AllRows);
        }
        let mut found = Vec::new();
        match keys.kind().search(value, type_oid, &options)? {
            BandSearch::Everything if keys.kind().takes_setting(type_oid) => {
                refuse_lowered(&options)?;
                return Ok(Lookup::AllRows);
            }
            BandSearch::Everything => return Ok(Lookup::AllRows),
            BandSearch::Nothing => {}
            BandSearch::Bands(bands) => keys.search(&bands, &scope, &mut found)?,
            BandSearch::Passage(bound) => {
                let keys = keys.each(bound.entries(), &scope)?;
                return Ok(Lookup::Passage(bound, keys));
            }
        }
        Ok(Lookup::Keys(found))
    }
}

/// Refuses a search below the threshold of the index that `minlsh.threshold` asks for. No plan does that, so
/// the setting was lowered by the query itself. To give all rows for recheck would be right, but would let the
/// caller count rows that it must not see by how similar they are.
fn refuse_lowered(options: &IndexOptions) -> Result<()> {
    let threshold = settings::threshold();
    if threshold >= options.threshold {
        return Ok(());
    }
    Err(wrong_state("minlsh.threshold was lowered while a query was running")
        .set_detail(format!(
            "The index of the query's plan serves thresholds of at least {}, not {threshold}.",
            options.threshold
        ))
        .set_hint(
            "Set minlsh.threshold before the query, or pass minlsh_document(body, threshold).",
        ))
}
