//! The check of an index by `minlsh_check`: it must have the entries of each row, and no others, and a search must find
//! each of them. The tests use amcheck to check that its pages form a tree like PostgreSQL's own.
//!
//! The check of all rows blocks writers, as amcheck's `bt_index_parent_check` does. The check of a share of rows does
//! not, and a standby cannot: then no entry is searched for, and on a standby entries of deleted rows are ignored,
//! because VACUUM on the primary continues. The table is scanned as a concurrent build scans it, by a snapshot older
//! than the pages that are read, with the rights of the current role.

use crate::index::descent;
use crate::index::layout::{Entry, LockedPage, Pivot, u64_to_tid};
use crate::index::minlsh_index::MinlshIndex;
use crate::index::nbtree::NO_BLOCK;
use crate::index::sort::Sorter;
use crate::index::stored_options::{self, OPTIONS_BLOCK};
use crate::index::table_scan::{IndexedRows, Share};
use crate::memory::of_entries;
use crate::options::IndexOptions;
use crate::pg::catalog::{ClassRow, access_method, table_of_index};
use crate::pg::relation::partition_ancestors;
use crate::pg::table::RowsAt;
use crate::pg::worker_threads::for_build;
use crate::prelude::*;

/// Receives a problem, with the row as `(block,offset)` if it is about one.
pub type CheckReport<'a> = dyn FnMut(Option<String>, &str) -> Result<()> + 'a;

/// Checks an index, with a share of its rows if `share` is given, and calls `report` with each problem. The caller has
/// locked its table and then the index ([`lock`]).
pub fn check(index: Oid, share: Option<Share>, report: &mut CheckReport) -> Result<()> {
    let open = &Open::relation(index, Lock::Read).ok_or_else(|| no_such_relation(index))?;
    let Some(form) = open.index_form() else { return Ok(()) };
    if !form.indisvalid {
        report(None, "it is not valid because a concurrent build failed; it needs REINDEX")?;
    }
    // Such an index gets no new rows. It may have no pages, and columns of types that none may have.
    if !form.indisready {
        return Ok(());
    }
    let (index, table) = (MinlshIndex::of(open)?, form.indrelid);
    let heap = &Open::relation(table, Lock::Read).ok_or_else(|| no_such_relation(table))?;
    let options = match index.options() {
        Ok(options) => options,
        Err(cause) => return report(None, cause.message()),
    };
    if !options.is_current() {
        report(None, "it was built by another version and needs REINDEX")?;
        return Ok(());
    }
    match index.wanted() {
        Ok(wanted) if wanted == *options => {}
        Ok(_) => report(None, "its options were changed after it was built; they take effect at REINDEX")?,
        // ALTER INDEX accepts options of the other kind of index.
        Err(cause) => report(None, &format!("REINDEX would fail: {}", cause.message()))?,
    }
    if differs_from_parent(open, &options) {
        report(None, "its options differ from those of the partitioned index that it belongs to")?;
    }
    // Older than the pages that are read. Where others write, on a standby, the tree has the entries of all rows that
    // the snapshot sees. A later row is not checked.
    let snapshot = Snapshot::of_transaction();
    let has_writers = is_standby() || share.is_some();
    let share = share.unwrap_or(Share::ALL);
    let mut sorter = Sorter::new(of_entries()).with_threads(for_build(heap));
    let read = each_entry(&index, !has_writers, &snapshot, &mut |entry| {
        if share.has(entry.tid) { sorter.push(mark(entry, ACTUAL)) } else { Ok(()) }
    });
    match read {
        Err(cause) if cause.is(PgSqlErrorCode::ERRCODE_INDEX_CORRUPTED) => {
            return report(None, cause.message());
        }
        read => read?,
    }
    let mut take = |entries: &[Entry]| entries.iter().try_for_each(|entry| sorter.push(mark(*entry, EXPECTED)));
    IndexedRows::of_check(heap, &index, &snapshot, share).each_entry(&options, &mut take)?;
    compare(heap, &snapshot, sorter, report)
}

/// The lock on the table while its index is checked. It blocks writers, or, for a share of the rows, only VACUUM, which
/// would remove entries that the check has read.
pub fn lock(share: Option<Share>) -> pg_sys::LOCKMODE {
    let mode = match (is_standby(), share) {
        (true, _) => pg_sys::AccessShareLock,
        (false, Some(_)) => pg_sys::ShareUpdateExclusiveLock,
        (false, None) => pg_sys::ShareLock,
    };
    mode as pg_sys::LOCKMODE
}

/// Calls `visit` with the entries of an index. `at_rest` is true if no one can write meanwhile.
///
/// # Errors
/// SQLSTATE XX002 if a page is damaged, or if a search does not find each entry although the index is at rest.
fn each_entry(
    index: &MinlshIndex,
    at_rest: bool,
    snapshot: &Snapshot,
    visit: &mut dyn FnMut(Entry) -> Result<()>,
) -> Result<()> {
    let (_, opaque) = index.tree_page(OPTIONS_BLOCK)?;
    let pg_sys::BTPageOpaqueData { btpo_prev, btpo_next, btpo_level, btpo_flags, btpo_cycleid } = opaque;
    if [btpo_prev, btpo_next, btpo_level] != [0; 3] || (btpo_flags, btpo_cycleid) != (0, 0) {
        return Err(index.damaged(OPTIONS_BLOCK));
    }
    let (mut block, mut low, mut last) = (NO_BLOCK, None, None);
    let (mut entries, mut found) = (0, 0);
    descent::each_leaf(index, Some(snapshot), |leaf| {
        let bounds = |(pivot, entry): (Pivot, &Entry)| pivot.bounds(&index.layout, *entry);
        let is_in_order =
            leaf.entries.is_sorted_by(|a, b| a < b) && leaf.high.zip(leaf.entries.last()).is_none_or(bounds);
        let is_next = leaf.previous == block && !low.zip(leaf.entries.first()).is_some_and(bounds);
        if !is_in_order || (at_rest && !is_next) {
            return Err(index.damaged(leaf.block));
        }
        (block, low) = (leaf.block, leaf.high);
        leaf.entries.iter().try_for_each(|entry| visit(*entry))?;
        if at_rest {
            // A key that continues from the page to the left was searched for there.
            let new = leaf.entries.partition_point(|entry| Some(entry.key) == last);
            last = leaf.entries.last().map(|entry| entry.key).or(last);
            let mut keys = memory::collect(leaf.entries[new..].iter().map(|entry| entry.key))?;
            keys.dedup();
            entries += leaf.entries.len();
            descent::each(index, Some(snapshot), &keys, &mut |rows| {
                found += rows.len();
                Ok(Continue::Yes)
            })?;
        }
        Ok(())
    })?;
    if found == entries {
        return Ok(());
    }
    let message = format!("searches find {found} of the {entries} entries of the index");
    Err(damaged_index(message))
}

fn is_standby() -> bool {
    // SAFETY: reads the state of the server.
    unsafe { pg_sys::RecoveryInProgress() }
}

/// True if a partition's index was built with options other than the partitioned index has: ATTACH PARTITION accepts an
/// existing index.
fn differs_from_parent(index: &Open, options: &IndexOptions) -> bool {
    // Unreadable options count as different.
    let differs = |parent: &Oid| stored_options::wanted(*parent).ok().as_ref() != Some(options);
    partition_ancestors(index.oid()).first().is_some_and(differs)
}

/// Lowest bit of a marked entry's row: 0 for an entry that a row should have, 1 for an entry of the index.
const EXPECTED: u64 = 0;
const ACTUAL: u64 = 1;

fn mark(entry: Entry, mark: u64) -> Entry {
    Entry { key: entry.key, tid: entry.tid << 1 | mark }
}

/// Compares the entries that rows should have with the entries of the index.
fn compare(heap: &Open, snapshot: &Snapshot, sorter: Sorter, report: &mut CheckReport) -> Result<()> {
    let mut pending: Option<Entry> = None;
    let missing = |entry: Entry, report: &mut CheckReport| {
        report(Some(row_name(entry.tid >> 1)), "an entry of the row is missing from the index")
    };
    sorter.finish(|entry| {
        let (row, before) = (entry.tid >> 1, pending.take());
        let expected = mark(Entry { tid: row, ..entry }, EXPECTED);
        if before == Some(expected) && entry != expected {
            return Ok(());
        }
        before.map_or(Ok(()), |before| missing(before, report))?;
        if entry == expected {
            pending = Some(entry);
            return Ok(());
        }
        let problem = problem_of_row(heap, snapshot, row);
        problem.map_or(Ok(()), |problem| report(Some(row_name(row)), problem))
    })?;
    pending.map_or(Ok(()), |entry| missing(entry, report))
}

/// The problem of an entry whose row should not have it. `None` if the row is not visible: VACUUM will remove the
/// entry.
fn problem_of_row(heap: &Open, snapshot: &Snapshot, row: u64) -> Option<&'static str> {
    let (tid, block) = (u64_to_tid(row), (row >> 16) as pg_sys::BlockNumber);
    if block >= heap.pages() || !LockedPage::of(heap, block).is_used(tid.ip_posid) {
        // On a standby, VACUUM may have removed entry and row after the entry was read.
        return (!is_standby()).then_some("an entry points to a row that does not exist");
    }
    let is_visible = RowsAt::of(heap, snapshot).is_some_and(|mut rows| rows.at(tid).is_some());
    is_visible.then_some("an entry of the index does not belong to the row")
}

fn row_name(row: u64) -> String {
    format!("({},{})", row >> 16, row & 0xffff)
}

/// The table of an index; `None` if it is not an index with pages of this access method. Takes no lock: the table's
/// comes first.
pub fn table_of(index: Oid) -> Option<Oid> {
    let row = ClassRow::find(index)?;
    let is_ours = row.relkind as u8 == pg_sys::RELKIND_INDEX && row.relam == access_method();
    is_ours.then(|| table_of_index(index)).filter(|table| *table != Oid::INVALID)
}
