//! The rows of a table that belong into an index, and the entries that each should have: for the build,
//! and for the check of what was built.

use std::ffi::c_void;

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Datum, Relation};
use pgrx::prelude::*;
use sketch::pipeline::{Hands, hands};
use sketch::{ElementHash, memory};

use crate::document::to_bands::Saturated;
use crate::error::{Result, SqlError, raise};
use crate::index::entries::{Maker, RowCopies};
use crate::index::keys::Keys;
use crate::index::layout::{Entry, tid_to_u64};
use crate::options::IndexOptions;
use crate::pg::hands::{for_build, setting};
use crate::pg::open::Open;
use crate::pg::relation::Lock;

/// Bytes of a batch: some hundred texts, whose signing takes far longer than to hand them over.
const BATCH: usize = 128 << 10;

/// The state of the callback of the table scan.
struct Scan<'a, 'scope, 'env> {
    keys: &'a Keys,
    options: &'a IndexOptions,
    take: &'a mut dyn FnMut(&mut RowCopies) -> Result<()>,
    hands: &'a mut Hands<'scope, 'env, Maker>,
    /// The batch that is being filled, and how many bytes fill it.
    rows: RowCopies,
    full: usize,
    /// The share of the rows that is taken.
    share: Share,
    /// Memory for one row, emptied after each.
    memory: pg_sys::MemoryContext,
}

impl Scan<'_, '_, '_> {
    /// Adds a row, and has a full batch computed.
    ///
    /// # Safety
    /// As for [`Keys::row`].
    unsafe fn row(&mut self, values: *mut Datum, nulls: *mut bool, tid: u64) -> Result<()> {
        if !self.share.has(tid) {
            return Ok(());
        }
        let documents = &mut self.rows.documents;
        // SAFETY: the caller's promise; the context is alive, and nothing of the row is used after it
        // was copied.
        let scope = unsafe {
            let previous = pg_sys::MemoryContextSwitchTo(self.memory);
            let scope = self.keys.copy(values, nulls, self.options, documents);
            pg_sys::MemoryContextSwitchTo(previous);
            pg_sys::MemoryContextReset(self.memory);
            scope?
        };
        memory::push(&mut self.rows.places, (tid, scope))?;
        if self.rows.documents.bytes() < self.full { Ok(()) } else { self.give() }
    }

    fn give(&mut self) -> Result<()> {
        let mut next = self.hands.batch();
        next.clear();
        let rows = std::mem::replace(&mut self.rows, next);
        let bytes = rows.documents.bytes();
        self.hands.give(rows, bytes, self.take)
    }
}

/// The result of a scan of a table.
pub struct Scanned {
    /// The number of rows.
    pub rows: f64,
    /// The texts that are too long for their shingles.
    pub saturated: Saturated,
}

/// `table_index_build_scan`: calls `take` with the entries that the index should have, row by row in the
/// order of their addresses. What `take` allocates outlives the row. `memory` bytes are for rows that
/// are computed together, by threads as well if the table is large enough for them.
/// `progress` is reported where a build is in progress. With a snapshot the rows are those that it sees, and
/// of them those of `share`.
///
/// # Safety
/// `heap` is an open table, `index` an open index of it that `keys` are of, and `info` describes it.
#[expect(clippy::too_many_arguments, reason = "PostgreSQL's description of a build, and ours")]
pub unsafe fn each_entry(
    heap: Relation,
    index: Relation,
    info: *mut pg_sys::IndexInfo,
    progress: bool,
    snapshot: pg_sys::Snapshot,
    share: Share,
    keys: &Keys,
    options: &IndexOptions,
    memory: usize,
    take: &mut dyn FnMut(&[Entry]) -> Result<()>,
) -> Result<Scanned> {
    let mut saturated = Saturated::default();
    let mut take = |rows: &mut RowCopies| -> Result<()> {
        rows.documents.saturated().iter().for_each(|size| saturated.add(*size));
        take(&rows.entries)
    };
    let make = || Maker::new(options, keys.layout().mask());
    // SAFETY: the caller's promise.
    let threads = || unsafe { threads(heap) };
    // Without memory for a thread there is one less.
    let mut others = || (0..threads()).filter_map(|_| make().ok()).collect();
    let rows = hands(setting(memory), make()?, &mut others, |hands| {
        let (context, full) = (row_context(), BATCH.min(memory / 4));
        let rows = RowCopies::default();
        let mut scan =
            Scan { keys, options, take: &mut take, hands, rows, full, share, memory: context };
        // SAFETY: the caller's promise; the context was made above.
        let found = unsafe {
            let found = each_row(heap, index, info, progress, snapshot, &mut scan);
            pg_sys::MemoryContextDelete(context);
            found
        };
        scan.give()?;
        hands.finish(&mut take)?;
        Ok::<_, SqlError>(found)
    })?;
    Ok(Scanned { rows, saturated })
}

/// The number of threads that may help to build an index of a table.
///
/// # Safety
/// `heap` is an open table.
pub unsafe fn threads(heap: Relation) -> usize {
    // SAFETY: the caller's promise.
    let table = Open::relation(unsafe { (*heap).rd_id }, Lock::Held);
    table.map_or(0, |table| for_build(&table))
}

/// Adds each row of a table to a scan; returns how many there are.
///
/// # Safety
/// As for [`each_entry`].
unsafe fn each_row(
    heap: Relation,
    index: Relation,
    info: *mut pg_sys::IndexInfo,
    progress: bool,
    snapshot: pg_sys::Snapshot,
    scan: &mut Scan,
) -> f64 {
    let state = std::ptr::from_mut(scan).cast::<c_void>();
    let all = pg_sys::InvalidBlockNumber;
    // Not synchronised with other scans: so rows come in the order of their addresses. (PostgreSQL asserts that
    // a scan that it is given may be.)
    let (synchronised, any_visible) = (!snapshot.is_null(), false);
    let flags = pg_sys::ScanOptions::SO_TYPE_SEQSCAN
        | pg_sys::ScanOptions::SO_ALLOW_STRAT
        | pg_sys::ScanOptions::SO_ALLOW_PAGEMODE;
    let callback: pg_sys::IndexBuildCallback = Some(take_row);
    // SAFETY: the caller's promise; a table has the functions of its access method, and nothing is
    // dropped in the closure.
    unsafe {
        let methods = &*(*heap).rd_tableam;
        let (function, begin) = (methods.index_build_range_scan, methods.scan_begin);
        pg_guard_ffi_boundary(|| {
            let null = std::ptr::null_mut::<pg_sys::TableScanDescData>();
            let own = begin.filter(|_| !snapshot.is_null());
            let scan =
                own.map_or(null, |begin| begin(heap, snapshot, 0, null.cast(), null.cast(), flags));
            // The function ends the scan.
            function.map_or(0.0, |function| {
                function(
                    heap,
                    index,
                    info,
                    synchronised,
                    any_visible,
                    progress,
                    0,
                    all,
                    callback,
                    state,
                    scan,
                )
            })
        })
    }
}

/// A memory context for what one row needs.
pub fn row_context() -> pg_sys::MemoryContext {
    // SAFETY: a child of the current context.
    unsafe {
        pg_sys::AllocSetContextCreateInternal(
            pg_sys::CurrentMemoryContext,
            c"minlsh row".as_ptr(),
            pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
        )
    }
}

/// The callback of the table scan.
#[pg_guard]
unsafe extern "C-unwind" fn take_row(
    _index: Relation,
    tid: pg_sys::ItemPointer,
    values: *mut Datum,
    nulls: *mut bool,
    _alive: bool,
    state: *mut c_void,
) {
    // SAFETY: the state is the `Scan` of `each_row`; tid, values and nulls are those of a row.
    let result = unsafe { (*state.cast::<Scan>()).row(values, nulls, tid_to_u64(*tid)) };
    if let Err(report) = result {
        raise(report);
    }
}

/// A share of all rows, picked by a hash.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Rows with a greater hash are left out.
    most: u64,
    seed: u64,
}

impl Share {
    /// All rows.
    pub const ALL: Self = Self { most: u64::MAX, seed: 0 };

    /// About that part of them, above 0 and at most 1; another seed picks others.
    pub fn new(part: f64, seed: i64) -> Self {
        Self { most: (part * u64::MAX as f64) as u64, seed: seed as u64 }
    }

    /// True if it has the row with that number, such as its address.
    pub fn has(self, row: u64) -> bool {
        let hash = || {
            ElementHash::Xxh3.hash(&(u128::from(self.seed) << 64 | u128::from(row)).to_le_bytes())
        };
        self.most == u64::MAX || hash() <= self.most
    }
}
