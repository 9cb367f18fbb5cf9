//! Memory: the share of `maintenance_work_mem` or `work_mem` that each kind of work may take.
//!
//! | work | of | share |
//! |---|---|---|
//! | a build or a check of an index: rows on their way to their entries; the entries that are sorted | `maintenance_work_mem` | a sixteenth; the rest |
//! | an audited sample: its keys and counts; what is compared of it at a time | `maintenance_work_mem` | a half each |
//! | whole-corpus jobs: documents or their hashes; stored rows; the documents that are being signed and then the current batch | `maintenance_work_mem` | a third each |
//! | in addition, where boilerplate is left out: texts by which it is found; the shingles that do not count | `maintenance_work_mem` | a quarter, and the shares above are of the rest |
//! | after the batches are compared: a group that is too large for a batch | `maintenance_work_mem` | two thirds |
//! | the values of scopes that may be equal with different bytes | `maintenance_work_mem` | a third; then an error |
//! | the pairs that count as not similar | `maintenance_work_mem` | a third; then an error |
//! | passages of a whole corpus: the stored texts, what is sorted, what is looked up | `maintenance_work_mem` | a third each |
//! | documents inside others: fingerprints that are sorted; the same by text, and candidates | `maintenance_work_mem` | a third; a sixth each |
//! | a refresh of tracked clusters: the changed keys that it examines | `maintenance_work_mem` | a half |
//! | the sorted documents of a refresh, and its events | `work_mem` | all, twice; then files |
//! | the window function: documents; the documents that are being signed and then the current batch | `work_mem` | a half each |
//! | the sample of a suggestion: its documents, and the nearest of each | `work_mem` | all |
//! | the rows that a query returns at a time | `work_mem` | a quarter |
//! | entries of new rows that wait; files with more of them | `work_mem` | three quarters; a quarter |
//! | outlines of the rows that a transaction inserts under exclusion constraints | `work_mem` | times `hash_mem_multiplier` |
//! | the shingles of two texts that are compared | `work_mem` | times `hash_mem_multiplier`, and at least 32 MB; then a file |
//! | the shingles of a document with which `jaccard()` compares many texts | `work_mem` | 16 times that; then a file |
//! | the shingles, passages and words of two texts that are explained | `maintenance_work_mem` | all; then an error |
//! | the rows that a function returns | `work_mem` | all, then a file |
//!
//! In addition a few bytes are kept for each document.

use pgrx::pg_sys;
use sketch::dedup::Shares;

/// Bytes for rows from which the entries of an index are made.
pub fn of_indexed_rows() -> usize {
    maintenance() / 16
}

/// Bytes for sorting the entries of an index.
pub fn of_entries() -> usize {
    maintenance() - of_indexed_rows()
}

/// Bytes for the keys and counts of an audited sample, and as many for the part of it that is compared at a time.
pub fn of_sample() -> usize {
    maintenance() / 2
}

/// Bytes for the queued keys of tracked clusters that a refresh examines.
pub fn of_queue() -> usize {
    maintenance() / 2
}

/// Bytes for sorting the documents of a refresh, and for sorting its events.
pub fn of_sort() -> usize {
    work()
}

/// Bytes for the distinct values of scopes, when they are kept in place of their hashes.
pub fn of_scopes() -> usize {
    maintenance() / 3
}

/// Bytes for the pairs that do not count as similar. Besides them only what groups the documents is kept.
pub fn of_apart() -> usize {
    maintenance() / 3
}

/// Bytes for the sample of a suggestion.
pub fn of_suggestion() -> usize {
    work()
}

/// Bytes for entries of new rows that wait.
pub fn of_pending() -> usize {
    work()
}

/// Bytes for outlines of the rows that a transaction inserts under exclusion constraints.
pub fn of_own_rows() -> usize {
    hash()
}

/// Bytes for the shingles of two compared texts before they go to a file. For a few MB a file would take longer than
/// the comparison.
pub fn of_comparison() -> usize {
    const LEAST: usize = 32 << 20;
    hash().max(LEAST)
}

/// Bytes for a comparison that shows the parts of two texts.
pub fn of_explanation() -> usize {
    maintenance()
}

/// The shares of a job that a user starts directly, which may exclude boilerplate.
pub fn of_corpus(without_boilerplate: bool) -> Shares {
    Shares::of(maintenance(), without_boilerplate)
}

/// The shares of a partition of a window function. A query may have many; the executor keeps its rows.
pub fn of_window() -> Shares {
    let share = work() / 2;
    Shares { rows: 0, group: share, ..Shares::of(3 * share, false) }
}

/// `maintenance_work_mem`, in bytes.
fn maintenance() -> usize {
    // SAFETY: reads a setting of this backend.
    bytes(unsafe { pg_sys::maintenance_work_mem })
}

/// `work_mem` times `hash_mem_multiplier`, in bytes.
fn hash() -> usize {
    // SAFETY: computed from two settings of this backend.
    unsafe { pg_sys::get_hash_memory_limit() }
}

/// `work_mem`, in bytes.
fn work() -> usize {
    // SAFETY: reads a setting of this backend.
    bytes(unsafe { pg_sys::work_mem })
}

fn bytes(kilobytes: i32) -> usize {
    usize::try_from(kilobytes).unwrap_or(0) * 1024
}
