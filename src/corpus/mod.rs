//! Whole-corpus questions: pairs, clusters, what to keep, and what two collections share, of any table, view or query
//! that the caller can read. A job is a pipe:
//!
//! 1. [`source`] makes one SELECT of what was asked about, which runs as the caller and reads only. It decides how the
//!    documents are read, signed and compared. Where an index serves, it gives only rows that share a bucket there.
//! 2. [`reading`] reads these rows once. Threads help to sign the documents. Their band hashes go into columns, and the
//!    rows are put aside: of a plain table places and keys, else rows as they are. Where boilerplate does not count,
//!    documents are signed when it is known.
//! 3. [`groups`] has the engine join what shares a bucket. Most documents share none and are never looked at again. No
//!    answer reaches across two groups, so as many are brought together at a time as memory holds. A group, with the
//!    texts or signatures of its documents, is the engine's corpus.
//! 4. [`jobs`] have groups judged: pairs verified, and clusters made. Threads help with small groups, and call nothing
//!    of PostgreSQL. The backend gives out what was found, in the order of groups.
//!
//! Jobs of [`passages`], [`suggest`] and [`labels`] read the same sources. Each folder knows only those above it. Files
//! are read and written from one end to the other, and memory beyond maintenance_work_mem is a few bytes for each
//! document.
//!
//! The view `minlsh_progress` has the progress of the jobs of all sessions that the caller may see: each counts what it
//! has done in a slot of PostgreSQL's ([`Progress`](crate::pg::job::Progress)).

pub mod groups;
pub mod jobs;
mod labels;
mod passages;
pub mod reading;
pub mod source;
mod suggest;

use crate::pg::job::PHASES;
use crate::pg::progress::running;
use crate::prelude::*;

sql_function!(minlsh_running_jobs, running_jobs);

/// `minlsh_running_jobs() → (pid, datid, relid, phase, documents_read, documents_estimated, candidates,
/// compared, spilled_bytes)`: those that the caller may see, as in `pg_stat_progress_*`.
fn running_jobs(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call);
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
    Ok(None)
}
