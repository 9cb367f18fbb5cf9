//! The check of an index by `minlsh_check`: that its pages are a tree, and that it has the entries
//! of each row, and no others.
//!
//! Writers are held off meanwhile, as amcheck's `bt_index_parent_check` holds them off. They are not where a share of
//! the rows is checked, and on a standby they cannot be: then the links between levels are not looked at, and on a
//! standby neither are entries of rows that are gone, for VACUUM goes on there. The table is scanned as a
//! concurrent build would scan it, by a snapshot that is older than what is read of the index, by the rights that
//! the caller has made its own.

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Oid, Relation};

use crate::error::Result;
use crate::extension::access_method;
use crate::index::keys::Keys;
use crate::index::layout::{Entry, u64_to_tid};
use crate::index::pages::LockedPage;
use crate::index::sort::Sorter;
use crate::index::table_scan::{self, Share};
use crate::index::{reloptions, stored_options, tree_check};
use crate::memory;
use crate::options::IndexOptions;
use crate::pg::catalog::{CatalogRow, table_of_index};
use crate::pg::versions;

/// Takes the row that has a problem, as `(block,offset)`, and the problem.
pub type CheckReport<'a> = dyn FnMut(Option<String>, &str) -> Result<()> + 'a;

/// Checks an index that the caller has locked, its table first ([`lock`]), by a share of its rows if one was asked for;
/// calls `report` with each problem.
pub fn check(index: Oid, share: Option<Share>, report: &mut CheckReport) -> Result<()> {
    // SAFETY: both relations are open until the end; an ERROR closes them too.
    unsafe {
        let index = pg_sys::index_open(index, pg_sys::AccessShareLock as i32);
        let table = (*(*index).rd_index).indrelid;
        let heap = pg_sys::table_open(table, pg_sys::AccessShareLock as i32);
        let result = check_open(heap, index, share, report);
        pg_sys::table_close(heap, pg_sys::NoLock as i32);
        pg_sys::index_close(index, pg_sys::NoLock as i32);
        result
    }
}

/// The lock that a table needs while its index is checked: it holds off writers, or for a share of the rows
/// VACUUM alone, which would remove what the check has read.
pub fn lock(share: Option<Share>) -> pg_sys::LOCKMODE {
    // SAFETY: reads the state of the server.
    let mode = match (unsafe { pg_sys::RecoveryInProgress() }, share) {
        (true, _) => pg_sys::AccessShareLock,
        (false, Some(_)) => pg_sys::ShareUpdateExclusiveLock,
        (false, None) => pg_sys::ShareLock,
    };
    mode as pg_sys::LOCKMODE
}

/// # Safety
/// `index` is an open index of this access method on the open table `heap`.
unsafe fn check_open(
    heap: Relation,
    index: Relation,
    share: Option<Share>,
    report: &mut CheckReport,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let options = match stored_options::built_of(index) {
            Ok(options) => options,
            Err(cause) => return report(None, cause.message()),
        };
        if !options.is_current() {
            report(None, "it was built by another version and needs REINDEX")?;
            return Ok(());
        }
        if reloptions::wanted(index)? != *options {
            report(
                None,
                "its options were changed after it was built; they take effect at REINDEX",
            )?;
        }
        if differs_from_parent(index, &options)? {
            report(
                None,
                "its options differ from those of the partitioned index that it belongs to",
            )?;
        }
        if !(*(*index).rd_index).indisvalid {
            report(None, "it is not valid because a concurrent build failed; it needs REINDEX")?;
        }
        // Older than what is read of the tree: where others write, on a standby, the tree has the entries of all
        // rows that it sees, and what it does not see is no row that lacks one.
        let snapshot = pg_sys::RegisterSnapshot(pg_sys::GetTransactionSnapshot());
        let has_writers = pg_sys::RecoveryInProgress() || share.is_some();
        let share = share.unwrap_or(Share::ALL);
        let keys = Keys::of(index)?;
        let memory = memory::BuildShares::of_index();
        let mut sorter = Sorter::new(memory.sort).with_threads(table_scan::threads(heap));
        let layout = keys.layout().clone();
        let mut problem = |problem: String| report(None, &problem);
        tree_check::check(index, &layout, !has_writers, &mut problem, &mut |entry| {
            if share.has(entry.tid) { sorter.push(mark(entry, ACTUAL)) } else { Ok(()) }
        })?;
        let mut take = |entries: &[Entry]| {
            entries.iter().try_for_each(|entry| sorter.push(mark(*entry, EXPECTED)))
        };
        let info = concurrent_scan(index);
        table_scan::each_entry(
            heap,
            index,
            info,
            false,
            snapshot,
            share,
            &keys,
            &options,
            memory.rows,
            &mut take,
        )?;
        compare(heap, snapshot, sorter, report)?;
        pg_sys::UnregisterSnapshot(snapshot);
        Ok(())
    }
}

/// True if an index is a partition's, and was built with other options than the partitioned index
/// says: ATTACH PARTITION takes an index that is there for the one it would make.
///
/// # Safety
/// `index` is an open index of this access method.
unsafe fn differs_from_parent(index: Relation, options: &IndexOptions) -> Result<bool> {
    // SAFETY: the caller's promise; a partition has a parent, of the same access method.
    unsafe {
        if !(*(*index).rd_rel).relispartition {
            return Ok(false);
        }
        let Some(&parent) = crate::pg::ffi::partition_ancestors((*index).rd_id).first() else {
            return Ok(false);
        };
        let parent = pg_sys::relation_open(parent, pg_sys::AccessShareLock as i32);
        let wanted = reloptions::wanted(parent);
        pg_sys::relation_close(parent, pg_sys::NoLock as i32);
        Ok(wanted? != *options)
    }
}

/// The lowest bit of a marked entry's row: whether a row should have it, or the index has it.
const EXPECTED: u64 = 0;
const ACTUAL: u64 = 1;

fn mark(entry: Entry, mark: u64) -> Entry {
    Entry { key: entry.key, tid: entry.tid << 1 | mark }
}

/// The settings of a scan of the table for an index: as with amcheck, those of a concurrent build,
/// which sees what a snapshot of its own sees.
///
/// # Safety
/// `index` is open.
unsafe fn concurrent_scan(index: Relation) -> *mut pg_sys::IndexInfo {
    // SAFETY: the caller's promise; the description is made for us.
    unsafe {
        let info = pg_sys::BuildIndexInfo(index);
        (*info).ii_Concurrent = true;
        (*info).ii_Unique = false;
        (*info).ii_ExclusionOps = std::ptr::null_mut();
        (*info).ii_ExclusionProcs = std::ptr::null_mut();
        (*info).ii_ExclusionStrats = std::ptr::null_mut();
        info
    }
}

/// Holds what rows should have against what the index has.
///
/// # Safety
/// `heap` is open, and the snapshot registered.
unsafe fn compare(
    heap: Relation,
    snapshot: pg_sys::Snapshot,
    sorter: Sorter,
    report: &mut CheckReport,
) -> Result<()> {
    let mut pending: Option<Entry> = None;
    let missing = |entry: Entry, report: &mut CheckReport| {
        report(Some(row_name(entry.tid >> 1)), "an entry of the row is missing from the index")
    };
    sorter.finish(|entry| {
        if entry.tid & 1 == EXPECTED {
            if let Some(before) = pending.replace(entry) {
                missing(before, report)?;
            }
            return Ok(());
        }
        let expected = Entry { key: entry.key, tid: entry.tid & !1 };
        match pending.take() {
            Some(before) if before == expected => Ok(()),
            before => {
                if let Some(before) = before {
                    missing(before, report)?;
                }
                // SAFETY: the caller's promise.
                match unsafe { judge(heap, snapshot, entry.tid >> 1) } {
                    RowState::Dead => Ok(()),
                    // VACUUM may have removed entry and row since the entry was read.
                    // SAFETY: reads the state of the server.
                    RowState::Gone if unsafe { pg_sys::RecoveryInProgress() } => Ok(()),
                    RowState::Gone => report(
                        Some(row_name(entry.tid >> 1)),
                        "an entry points to a row that does not exist",
                    ),
                    RowState::Visible => report(
                        Some(row_name(entry.tid >> 1)),
                        "an entry of the index does not belong to the row",
                    ),
                }
            }
        }
    })?;
    pending.map_or(Ok(()), |entry| missing(entry, report))
}

/// The state of the row that an entry leads to, though no visible row should have that entry.
enum RowState {
    /// A row that is not visible: VACUUM will remove the entry.
    Dead,
    /// Nothing, or another table's business.
    Gone,
    /// A row that does not have that entry.
    Visible,
}

/// # Safety
/// `heap` is open, and the snapshot registered.
unsafe fn judge(heap: Relation, snapshot: pg_sys::Snapshot, row: u64) -> RowState {
    let mut tid = u64_to_tid(row);
    let block = (row >> 16) as pg_sys::BlockNumber;
    // SAFETY: the caller's promise; the page is pinned and locked while its line pointers are read.
    unsafe {
        let main = pg_sys::ForkNumber::MAIN_FORKNUM;
        if block >= pg_sys::RelationGetNumberOfBlocksInFork(heap, main) {
            return RowState::Gone;
        }
        if !LockedPage::of(heap, block).is_used(tid.ip_posid) {
            return RowState::Gone;
        }
        let methods = &*(*heap).rd_tableam;
        let (Some(fetch), Some(end)) = (methods.index_fetch_tuple, methods.index_fetch_end) else {
            return RowState::Dead;
        };
        let slot = pg_sys::table_slot_create(heap, std::ptr::null_mut());
        let (mut again, mut all_dead) = (false, false);
        let visible = pg_guard_ffi_boundary(|| {
            versions::index_fetch_begin(heap).is_some_and(|state| {
                let visible = fetch(state, &mut tid, snapshot, slot, &mut again, &mut all_dead);
                end(state);
                visible
            })
        });
        pg_sys::ExecDropSingleTupleTableSlot(slot);
        if visible { RowState::Visible } else { RowState::Dead }
    }
}

fn row_name(row: u64) -> String {
    format!("({},{})", row >> 16, row & 0xffff)
}

/// The table that an index belongs to; `None` if it is not an index with pages of this access method.
/// Nothing is locked: the table comes first.
pub fn table_of(index: Oid) -> Option<Oid> {
    let row = CatalogRow::<pg_sys::FormData_pg_class>::find(index)?;
    let is_ours = row.relkind as u8 == pg_sys::RELKIND_INDEX && row.relam == access_method();
    is_ours.then(|| table_of_index(index)).filter(|table| *table != Oid::INVALID)
}
