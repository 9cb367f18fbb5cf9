//! Jobs over documents: their progress, and their worker threads.

use pgrx::pg_sys::{self, Oid};
use sketch::pipeline::Crew;

use crate::pg::catalog::CatalogRow;
use crate::pg::open::{Lock, Open};
pub use crate::pg::progress::Counter;
use crate::pg::progress::Job;
use crate::pg::worker_threads::{for_job, setting};

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
    job: Job,
    /// The table that it reads, whose parameter may set the number of threads.
    table: Option<Oid>,
}

impl Progress {
    /// Shows a job that begins to read; `table` is its source if that is a table.
    pub fn start(table: Option<Oid>) -> Self {
        let row = table.and_then(CatalogRow::<pg_sys::FormData_pg_class>::find);
        let job = Job::start(table);
        job.set(Counter::Estimated, row.map_or(0, |row| row.reltuples.max(0.0) as u64));
        let progress = Self { job, table };
        progress.enter(JobPhase::Reading);
        progress
    }

    pub fn threads(&self) -> usize {
        let table = self.table.and_then(|table| Open::relation(table, Lock::Held));
        for_job(table.as_ref())
    }

    pub fn enter(&self, phase: JobPhase) {
        self.job.set(Counter::Phase, phase as u64);
    }

    pub fn set(&self, counter: Counter, documents: u64) {
        self.job.set(counter, documents);
    }
}

/// A crew of `threads` workers with at most `memory` bytes in flight. With no threads it is the backend, which calls
/// `check`.
pub fn crew<'a>(memory: usize, threads: usize, check: &'a mut dyn FnMut()) -> Crew<'a> {
    match threads {
        0 => Crew::Alone(check),
        _ => Crew::With(setting(memory), threads),
    }
}
