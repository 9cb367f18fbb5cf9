//! The progress of a job over documents.

use pgrx::pg_sys::Oid;

use crate::pg::catalog::ClassRow;
use crate::pg::memory::unless_raised;
use crate::pg::open::{Lock, Open};
use crate::pg::progress;
pub use crate::pg::progress::Counter;
use crate::pg::worker_threads::for_job;

/// Names of the phases, in the order of [`JobPhase`].
pub const PHASES: [&str; 7] = [
    "reading documents",
    "joining buckets",
    "fetching candidates",
    "comparing candidates",
    "counting passages",
    "finding passages",
    "finding neighbors",
];

#[derive(Clone, Copy)]
pub enum JobPhase {
    Reading = 1,
    Grouping = 2,
    Fetching = 3,
    Comparing = 4,
    Counting = 5,
    Finding = 6,
    Neighbors = 7,
}

/// A running job, shown until it is dropped.
pub struct Progress {
    is_shown: bool,
    /// The table that it reads, whose parameter may set the number of threads.
    table: Option<Oid>,
}

impl Progress {
    /// Shows a job that begins to read; `table` is its source if that is a table.
    pub fn start(table: Option<Oid>) -> Self {
        let progress = Self { is_shown: progress::start_job(table), table };
        let row = table.and_then(ClassRow::find);
        progress.set(Counter::Estimated, row.map_or(0, |row| row.reltuples.max(0.0) as u64));
        progress.enter(JobPhase::Reading);
        progress
    }

    pub fn threads(&self) -> usize {
        let table = self.table.and_then(|table| Open::relation(table, Lock::Held));
        for_job(table.as_ref())
    }

    pub fn enter(&self, phase: JobPhase) {
        self.set(Counter::Phase, phase as u64);
    }

    pub fn set(&self, counter: Counter, documents: u64) {
        if self.is_shown {
            progress::set(counter, documents);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            // An ERROR clears the slot by itself.
            unless_raised(progress::end);
        }
    }
}
