//! Whole-corpus functions: pairs, clusters, the documents to keep, and what two collections share, for any table, view
//! or query that the caller can read. A job is a pipeline:
//!
//! 1. [`source`] makes a SELECT of the source, which runs read only as the caller. It decides how the documents are
//!    read, signed and compared. If an index serves, it returns only rows that share a bucket there.
//! 2. [`host`] reads these rows once, and gives their documents to the engine's [`dedup`](sketch::dedup), which signs
//!    them. The rows are stored: places and keys for a plain table, otherwise whole rows.
//! 3. The engine joins documents that share a bucket, and has the host read those again: most documents share none. No
//!    result spans two groups, so as many groups are processed together as memory holds.
//! 4. [`jobs`] have groups judged, and return the results, in the order of groups. Threads of the engine help, and do
//!    not call PostgreSQL.
//!
//! Jobs of [`passages`], [`suggest`] and [`labels`] read the same sources. Each folder uses only those above it. Files
//! are read and written sequentially, and memory beyond maintenance_work_mem is a few bytes for each document.
//!
//! The view `minlsh_progress` shows the progress of all jobs that the caller may see. Each job counts its work in one
//! of PostgreSQL's slots ([`Progress`](crate::pg::job::Progress)).

pub mod host;
pub mod jobs;
mod labels;
mod passages;
pub mod source;
mod suggest;

use crate::pg::job::PHASES;
use crate::pg::progress::running;
use crate::prelude::*;

set_function!(minlsh_running_jobs, running_jobs);

/// `minlsh_running_jobs() → (pid, datid, relid, phase, documents_read, documents_estimated, candidates, compared,
/// spilled_bytes)`: the jobs that the caller may see, as in `pg_stat_progress_*`.
fn running_jobs(_call: &Call, result: &ResultRows) -> Result<()> {
    running(&mut |slot| {
        let [phase, read, estimated, candidates, compared, spilled, ..] = slot.st_progress_param;
        let phase = usize::try_from(phase - 1).ok().and_then(|phase| PHASES.get(phase));
        let oid = |oid: Oid| (oid != Oid::INVALID).then(|| Datum::from(oid));
        result.push(&[
            Some(Datum::from(slot.st_procpid)),
            oid(slot.st_databaseid),
            oid(slot.st_progress_command_target),
            phase.map(|phase| text::write(phase)),
            Some(Datum::from(read)),
            (estimated > 0).then(|| Datum::from(estimated)),
            Some(Datum::from(candidates)),
            Some(Datum::from(compared)),
            Some(Datum::from(spilled)),
        ]);
    });
    Ok(())
}
