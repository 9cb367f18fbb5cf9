//! The rows of a table that belong in an index, and the entries that each should have, for the build and for the check
//! of an index.

use std::ffi::c_void;

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use sketch::passage::Fingerprints;
use sketch::pipeline::{BatchWork, Hands, Making, Signer, SignerBatch, hands};
use sketch::{ElementHash, ScopeHash, Sketcher};

use crate::document::to_bands::Saturated;
use crate::index::keys::{IndexRow, buckets};
use crate::index::layout::{Entry, tid_to_u64};
use crate::index::minlsh_index::MinlshIndex;
use crate::memory::of_indexed_rows;
use crate::options::IndexOptions;
use crate::pg::memory::in_transaction;
use crate::pg::table::SEQUENTIAL;
use crate::pg::worker_threads::{for_build, setting};
use crate::prelude::*;

/// Bytes in a batch: some hundred texts, which take far longer to sign than to pass on.
const BATCH: usize = 128 << 10;

/// The rows of a table that belong in an index on it.
pub struct IndexedRows<'a> {
    heap: &'a Open,
    index: &'a MinlshIndex<'a>,
    info: *mut pg_sys::IndexInfo,
    /// Selects the rows that it sees; `None` for the rows that a build needs.
    snapshot: Option<&'a Snapshot>,
    share: Share,
}

struct TableScan<'a, 'scope, 'env> {
    index: &'a MinlshIndex<'a>,
    options: &'a IndexOptions,
    take: &'a mut dyn FnMut(&mut RowCopies) -> Result<()>,
    hands: &'a mut Hands<'scope, 'env, Maker>,
    /// The current batch, and its size when it is full.
    rows: RowCopies,
    full: usize,
    share: Share,
    /// Memory for one row, reset after each.
    memory: Memory,
}

impl TableScan<'_, '_, '_> {
    /// Adds a row, and passes on a full batch.
    fn row(&mut self, row: &IndexRow, tid: u64) -> Result<()> {
        if !self.share.has(tid) {
            return Ok(());
        }
        let Self { options, memory, rows, .. } = self;
        let scope = memory.run_and_reset(|| row.copy(options, &mut rows.documents))?;
        memory::push(&mut rows.places, (tid, scope))?;
        if rows.documents.bytes() < self.full { Ok(()) } else { self.give() }
    }

    fn give(&mut self) -> Result<()> {
        let mut next = self.hands.batch();
        next.documents.clear();
        next.places.clear();
        let rows = std::mem::replace(&mut self.rows, next);
        let bytes = rows.documents.bytes();
        self.hands.give(rows, bytes, self.take)
    }
}

impl<'a> IndexedRows<'a> {
    /// The rows that a build needs, with a progress report.
    ///
    /// # Safety
    /// `index` is an index on `heap`, and `info` describes it as long as the result is used.
    pub unsafe fn of_build(heap: &'a Open, index: &'a MinlshIndex<'a>, info: *mut pg_sys::IndexInfo) -> Self {
        Self { heap, index, info, snapshot: None, share: Share::ALL }
    }

    /// A share of the rows that a snapshot sees, scanned like a concurrent build, as amcheck does.
    pub fn of_check(heap: &'a Open, index: &'a MinlshIndex<'a>, snapshot: &'a Snapshot, share: Share) -> Self {
        let form = index.open().index_form();
        assert!(form.is_some_and(|form| form.indrelid == heap.oid()), "an index of that table");
        // SAFETY: the index is open. The description is new, in the transaction's memory.
        let info = in_transaction(|| unsafe {
            let info = pg_sys::BuildIndexInfo(index.open().raw());
            (*info).ii_Concurrent = true;
            (*info).ii_Unique = false;
            (*info).ii_ExclusionOps = std::ptr::null_mut();
            (*info).ii_ExclusionProcs = std::ptr::null_mut();
            (*info).ii_ExclusionStrats = std::ptr::null_mut();
            info
        });
        Self { heap, index, info, snapshot: Some(snapshot), share }
    }

    /// Calls `take` with the entries that the index should have, row by row in the order of their addresses. Threads
    /// help with a large table. Returns the number of rows, and the texts that are too long for their shingles.
    pub fn each_entry(
        &self,
        options: &IndexOptions,
        take: &mut dyn FnMut(&[Entry]) -> Result<()>,
    ) -> Result<(f64, Saturated)> {
        let (index, share, memory) = (self.index, self.share, of_indexed_rows());
        let mut saturated = Saturated::default();
        let mut take = |rows: &mut RowCopies| -> Result<()> {
            rows.documents.saturated.iter().for_each(|size| saturated.add(*size));
            take(&rows.entries)
        };
        let make = || Maker::new(options, index.layout.mask);
        // A thread without memory is left out.
        let mut others = || (0..for_build(self.heap)).filter_map(|_| make().ok()).collect();
        let rows = hands(setting(memory), make()?, &mut others, |hands| {
            let (rows, full) = (RowCopies::default(), BATCH.min(memory / 4));
            let memory = Memory::scratch(c"minlsh row");
            let take = &mut take;
            let mut scan = TableScan { index, options, take, hands, rows, full, share, memory };
            let found = self.scan(&mut scan);
            scan.give()?;
            hands.finish(take)?;
            Ok::<_, SqlError>(found)
        })?;
        Ok((rows, saturated))
    }

    /// `table_index_build_scan`: passes each row to `scan`, and returns their number.
    fn scan(&self, scan: &mut TableScan) -> f64 {
        let state = std::ptr::from_mut(scan).cast::<c_void>();
        let (heap, index, info) = (self.heap.raw(), self.index.open().raw(), self.info);
        let all = pg_sys::InvalidBlockNumber;
        // Not synchronised with other scans, so rows come in the order of their addresses. PostgreSQL asserts that a
        // scan that it is given allows it.
        let (synchronised, any_visible) = (self.snapshot.is_some(), false);
        let progress = self.snapshot.is_none();
        let callback: pg_sys::IndexBuildCallback = Some(take_row);
        // SAFETY: the maker of `self` promises that both relations are open and belong together, with this description.
        // A table has the functions of its access method. Nothing is dropped in the closure.
        unsafe {
            let methods = &*(*heap).rd_tableam;
            let (function, begin) = (methods.index_build_range_scan, methods.scan_begin);
            pg_guard_ffi_boundary(|| {
                let null = std::ptr::null_mut::<pg_sys::TableScanDescData>();
                let own = self.snapshot.zip(begin).map_or(null, |(snapshot, begin)| {
                    begin(heap, snapshot.raw(), 0, null.cast(), null.cast(), SEQUENTIAL)
                });
                // The function ends the scan.
                function.map_or(0.0, |function| {
                    function(heap, index, info, synchronised, any_visible, progress, 0, all, callback, state, own)
                })
            })
        }
    }
}

/// Callback of the table scan.
#[pg_guard]
unsafe extern "C-unwind" fn take_row(
    _index: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    values: *mut Datum,
    nulls: *mut bool,
    _alive: bool,
    state: *mut c_void,
) {
    // SAFETY: PostgreSQL passes on the state from `IndexedRows::scan`, with the address, values and nulls of a row.
    let taken = unsafe {
        let scan = &mut *state.cast::<TableScan>();
        let row = scan.index.row(values, nulls);
        scan.row(&row, tid_to_u64(*tid))
    };
    taken.unwrap_or_else(|report| raise(report));
}

/// Copies of rows, from which their entries are made.
#[derive(Default)]
struct RowCopies {
    /// Their documents; NULL is an empty signature.
    documents: SignerBatch,
    /// Address and scope of each row.
    places: Vec<(u64, ScopeHash)>,
    entries: Vec<Entry>,
}

struct Maker {
    signer: Signer,
    mask: u64,
    keys: Vec<u64>,
}

impl Maker {
    /// Makes the entries of an index with these options; `mask` has the stored bits of a key.
    fn new(options: &IndexOptions, mask: u64) -> Result<Self, sketch::Error> {
        let sketcher = Sketcher::new(options.config.clone());
        let making = match options.min_match {
            Some(min_match) => Making::Passages(min_match, Fingerprints::new()?),
            None => Making::Bands,
        };
        let signer = Signer::new(sketcher, options.banding, making);
        Ok(Self { signer, mask, keys: Vec::new() })
    }
}

impl BatchWork for Maker {
    type Batch = RowCopies;

    fn work(&mut self, rows: &mut RowCopies, check_interrupts: Check) -> Result<(), sketch::Error> {
        let RowCopies { documents, places, entries } = rows;
        self.signer.work(documents, check_interrupts)?;
        entries.clear();
        for (bands, &(tid, scope)) in documents.hashes().zip(&*places) {
            buckets(scope, bands, self.mask, &mut self.keys, check_interrupts)?;
            memory::reserve(entries, self.keys.len())?;
            entries.extend(self.keys.iter().map(|&key| Entry { key, tid }));
        }
        Ok(())
    }
}

/// A share of all rows, selected by a hash.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// The greatest hash of a selected row.
    most: u64,
    seed: u64,
}

impl Share {
    /// All rows.
    pub const ALL: Self = Self { most: u64::MAX, seed: 0 };

    /// About the share `part` of all rows, above 0 and at most 1. Another seed selects others.
    pub fn new(part: f64, seed: i64) -> Self {
        Self { most: (part * u64::MAX as f64) as u64, seed: seed as u64 }
    }

    /// True if it selects a row, by a number such as its address.
    pub fn has(self, row: u64) -> bool {
        let seeded = u128::from(self.seed) << 64 | u128::from(row);
        self.most == u64::MAX || ElementHash::Xxh3.hash(&seeded.to_le_bytes()) <= self.most
    }
}
