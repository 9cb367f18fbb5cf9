//! The rows of a table that belong into an index, and the entries that each should have: for the build,
//! and for the check of what was built.

use std::ffi::c_void;

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Datum, Relation};
use pgrx::prelude::*;

use crate::error::{Result, raise};
use crate::index::keys::Keys;
use crate::index::layout::{Entry, tid_to_u64};
use crate::options::IndexOptions;

/// What the callback of the table scan works with.
struct Scan<'a> {
    keys: &'a mut Keys,
    options: &'a IndexOptions,
    take: &'a mut dyn FnMut(Entry) -> Result<()>,
    row_keys: Vec<u64>,
    /// What one row needs; emptied after each.
    memory: pg_sys::MemoryContext,
}

/// `table_index_build_scan`: calls `take` with each entry that the index should have, row by row in the
/// order of their addresses; returns the number of rows. What `take` allocates outlives the row.
/// `progress` is reported where a build is in progress.
///
/// # Safety
/// `heap` is an open table, `index` an open index of it that `keys` are of, and `info` describes it.
pub unsafe fn each_entry(
    heap: Relation,
    index: Relation,
    info: *mut pg_sys::IndexInfo,
    progress: bool,
    keys: &mut Keys,
    options: &IndexOptions,
    take: &mut dyn FnMut(Entry) -> Result<()>,
) -> f64 {
    let memory = row_context();
    let mut scan = Scan { keys, options, take, row_keys: Vec::new(), memory };
    let state = std::ptr::from_mut(&mut scan).cast::<c_void>();
    let all = pg_sys::InvalidBlockNumber;
    // Not synchronised with other scans: so rows come in the order of their addresses.
    let (synchronised, any_visible) = (false, false);
    let no_scan = std::ptr::null_mut();
    let callback: pg_sys::IndexBuildCallback = Some(take_row);
    // SAFETY: the caller's promise; a table has the functions of its access method, and nothing is
    // dropped in the closure. The context was made above.
    unsafe {
        let function = (*(*heap).rd_tableam).index_build_range_scan;
        let rows = pg_guard_ffi_boundary(|| {
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
                    no_scan,
                )
            })
        });
        pg_sys::MemoryContextDelete(memory);
        rows
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
    // SAFETY: the state is the `Scan` of `each_entry`; tid, values and nulls are those of a row.
    let result = unsafe {
        let scan = &mut *state.cast::<Scan>();
        let previous = pg_sys::MemoryContextSwitchTo(scan.memory);
        let result = scan.keys.row(values, nulls, scan.options, &mut scan.row_keys);
        pg_sys::MemoryContextSwitchTo(previous);
        pg_sys::MemoryContextReset(scan.memory);
        let tid = tid_to_u64(*tid);
        result.and_then(|()| {
            scan.row_keys.iter().try_for_each(|&key| (scan.take)(Entry { key, tid }))
        })
    };
    if let Err(report) = result {
        raise(report);
    }
}
