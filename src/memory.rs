//! Memory: which work may take which share of `maintenance_work_mem` and of `work_mem`.
//!
//! | work | of | share |
//! |---|---|---|
//! | a build or a check of an index: rows on their way to their entries; the entries that are sorted | `maintenance_work_mem` | a sixteenth; the rest |
//! | an audited sample: its keys and counts; what is compared of it at a time | `maintenance_work_mem` | a half each |
//! | whole-corpus jobs: documents or their hashes, the rows that are put aside, the documents that are being signed and then the batch at hand | `maintenance_work_mem` | a third each |
//! | beside them, where boilerplate is left out: texts by which it is found; the shingles that do not count | `maintenance_work_mem` | a quarter, and the shares above are of the rest |
//! | once these are compared: a group that is too large for a batch | `maintenance_work_mem` | two thirds |
//! | the values of scopes whose equality is not that of their bytes | `maintenance_work_mem` | a third; then an error |
//! | the pairs that count as not similar | `maintenance_work_mem` | a third; then an error |
//! | passages of a whole corpus: the texts that are put aside, what is sorted, what is looked up | `maintenance_work_mem` | a third each |
//! | documents inside others: fingerprints that are sorted; the same by text, and candidates | `maintenance_work_mem` | a third; a sixth each |
//! | a refresh of tracked clusters: the changed keys that it looks at | `maintenance_work_mem` | a half |
//! | its documents that are sorted, and its events | `work_mem` | all, twice; then files |
//! | the window function: documents, those that are being signed and then the batch at hand | `work_mem` | a half each |
//! | the sample of a suggestion: its documents, and the nearest of each | `work_mem` | all |
//! | the rows that a query gives at a time | `work_mem` | a quarter |
//! | outlines of the rows that a transaction inserts under exclusion constraints | `work_mem` | times `hash_mem_multiplier` |
//! | the shingles of two texts that are compared | `work_mem` | times `hash_mem_multiplier`, and at least 32 MB; then a file |
//! | the shingles of a document with which `jaccard()` compares many texts | `work_mem` | 16 times that; then a file |
//! | the shingles, passages and words of two texts that are explained | `maintenance_work_mem` | all; then an error |
//! | the rows that a function returns | `work_mem` | all, then a file |
//!
//! What is kept beside these is a few bytes for each document.

use pgrx::pg_sys;

/// The bytes that rows may take which are on their way to the entries of an index.
pub fn of_indexed_rows() -> usize {
    maintenance() / 16
}

/// The bytes that these entries may take where they are sorted.
pub fn of_entries() -> usize {
    maintenance() - of_indexed_rows()
}

/// The bytes that the keys and counts of a sample may take that is audited, and as many the part of it that is compared
/// at a time.
pub fn of_sample() -> usize {
    maintenance() / 2
}

/// The bytes that the keys in the queue of tracked clusters may take that a refresh looks at.
pub fn of_queue() -> usize {
    maintenance() / 2
}

/// The bytes that the documents of a refresh, or its events, may take where they are sorted.
pub fn of_sort() -> usize {
    work()
}

/// The bytes that the different values of scopes may take where they are kept, and not their hashes.
pub fn of_scopes() -> usize {
    maintenance() / 3
}

/// The bytes that the pairs may take which count as not similar: beside them, nothing is kept of what the
/// documents are grouped by.
pub fn of_apart() -> usize {
    maintenance() / 3
}

/// The bytes that the sample of a suggestion may take.
pub fn of_suggestion() -> usize {
    work()
}

/// The bytes of what is kept of the rows that a transaction inserts under exclusion constraints.
pub fn of_own_rows() -> usize {
    hash()
}

/// The bytes of the shingles of two texts that are compared, before they go to a file: for some MB a file would take
/// longer than the comparison.
pub fn of_comparison() -> usize {
    const LEAST: usize = 32 << 20;
    hash().max(LEAST)
}

/// The bytes that the comparison of two texts may take which shows their parts.
pub fn of_explanation() -> usize {
    maintenance()
}

/// The parts of a whole-corpus job, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct JobShares {
    /// For the documents, or for their hashes.
    pub documents: usize,
    /// For documents that are being signed, before there is anything to compare.
    pub reading: usize,
    /// For the rows of all sources that are put aside.
    pub rows: usize,
    /// For the documents that are compared at a time, and what is made of them.
    pub batch: usize,
    /// For what is made of a group whose documents stay in a file: by then nothing else is kept.
    pub group: usize,
    /// For the shingles of each origin that do not count.
    pub boilerplate: usize,
}

impl JobShares {
    /// A job that a user starts by itself, where boilerplate may be left out.
    pub fn of_corpus(without_boilerplate: bool) -> Self {
        let all = maintenance();
        let boilerplate = if without_boilerplate { all / 4 } else { 0 };
        Self { boilerplate, ..Self::of(all - boilerplate) }
    }

    fn of(all: usize) -> Self {
        let share = all / 3;
        Self { documents: share, reading: share, rows: share, batch: share, group: 2 * share, boilerplate: 0 }
    }

    /// A partition of a window function, of which a query may have many; its rows are the executor's.
    pub fn of_window() -> Self {
        let share = work() / 2;
        Self { rows: 0, group: share, ..Self::of(3 * share) }
    }
}

/// `maintenance_work_mem`, in bytes.
fn maintenance() -> usize {
    // SAFETY: reads a backend-local setting.
    bytes(unsafe { pg_sys::maintenance_work_mem })
}

/// `work_mem` times `hash_mem_multiplier`, in bytes.
fn hash() -> usize {
    // SAFETY: computed from two backend-local settings.
    unsafe { pg_sys::get_hash_memory_limit() }
}

/// `work_mem`, in bytes.
fn work() -> usize {
    // SAFETY: reads a backend-local setting.
    bytes(unsafe { pg_sys::work_mem })
}

fn bytes(kilobytes: i32) -> usize {
    usize::try_from(kilobytes).unwrap_or(0) * 1024
}
