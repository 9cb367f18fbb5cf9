//! The slot of shared memory in which a backend shows its progress: of an index build in PostgreSQL's
//! `pg_stat_progress_create_index`, or of a whole-corpus job.
//!
//! Each backend has one slot for VACUUM, CREATE INDEX and the like. A job reports there under a command number that
//! PostgreSQL does not use. So nothing has to be preloaded, an ERROR clears the slot, and PostgreSQL's own views ignore
//! it.

use std::cell::Cell;
use std::ffi::CStr;

use pgrx::pg_sys::{self, Oid};

use crate::pg::versions;

/// The phases of an access method's build; the first phase is PostgreSQL's own.
#[derive(Clone, Copy)]
pub enum Phase {
    Scanning = 2,
    Sorting = 3,
    Writing = 4,
}

const NAMES: [&CStr; 4] = [c"initializing", c"scanning table", c"sorting entries", c"writing pages"];

const TUPLES_AT_A_TIME: i64 = 1024;

pub fn phase_name(number: i64) -> Option<&'static CStr> {
    NAMES.get(usize::try_from(number - 1).ok()?).copied()
}

/// Reports that a phase begins.
pub fn enter(phase: Phase) {
    report(pg_sys::PROGRESS_CREATEIDX_SUBPHASE as i32, phase as i64);
}

fn report(parameter: i32, value: i64) {
    // SAFETY: sets a counter in this backend's own slot.
    unsafe { pg_sys::pgstat_progress_update_param(parameter, value) }
}

/// Counts the tuples that are done, out of a total.
pub struct Tuples(i64);

impl Tuples {
    /// Starts at zero; a `total` of 0 means that it is unknown.
    pub fn of(total: i64) -> Self {
        report(pg_sys::PROGRESS_CREATEIDX_TUPLES_TOTAL as i32, total);
        report(pg_sys::PROGRESS_CREATEIDX_TUPLES_DONE as i32, 0);
        Self(0)
    }

    /// Counts `more` tuples.
    pub fn count(&mut self, more: usize) {
        let before = self.0 / TUPLES_AT_A_TIME;
        self.0 += more as i64;
        if self.0 / TUPLES_AT_A_TIME > before {
            report(pg_sys::PROGRESS_CREATEIDX_TUPLES_DONE as i32, self.0);
        }
    }
}

/// A build that is not part of a CREATE INDEX, shown as one until it is dropped.
pub struct Build;

impl Build {
    /// Shows a build of a minlsh index on `table`, which has about `rows` rows.
    pub fn of(table: Oid, rows: f32) -> (Self, Tuples) {
        // SAFETY: fills this backend's own slot; an access method that does not exist gives an invalid OID.
        let method = unsafe {
            let command = pg_sys::ProgressCommandType::PROGRESS_COMMAND_CREATE_INDEX;
            pg_sys::pgstat_progress_start_command(command, table);
            pg_sys::get_index_am_oid(c"minlsh".as_ptr(), true)
        };
        let create = i64::from(pg_sys::PROGRESS_CREATEIDX_COMMAND_CREATE);
        report(pg_sys::PROGRESS_CREATEIDX_COMMAND as i32, create);
        let method_parameter = u32::from(pg_sys::PROGRESS_CREATEIDX_ACCESS_METHOD_OID) as i32;
        report(method_parameter, i64::from(u32::from(method)));
        let building = i64::from(pg_sys::PROGRESS_CREATEIDX_PHASE_BUILD);
        report(pg_sys::PROGRESS_CREATEIDX_PHASE as i32, building);
        enter(Phase::Scanning);
        (Self, Tuples::of(rows.max(0.0) as i64))
    }
}

impl Drop for Build {
    fn drop(&mut self) {
        end();
    }
}

/// The command number of whole-corpus jobs, which PostgreSQL does not use. Its high bytes name minlsh, its low ones are
/// the version of the layout of the counters.
const COMMAND: pg_sys::ProgressCommandType::Type = 0x6d6c_0001;

/// Positions of the counters in the slot.
#[derive(Clone, Copy)]
pub enum Counter {
    Phase,
    Read,
    Estimated,
    Candidates,
    Compared,
    Spilled,
}

/// Bytes written between two reports.
const BYTES_AT_A_TIME: u64 = 1 << 20;

thread_local! {
    /// Bytes that the running job has written to temporary files, and how many of them it has reported.
    static SPILLED: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Shows a job; `table` is its source if that is a table. False within a COPY or another job, which has the slot.
pub fn start_job(table: Option<Oid>) -> bool {
    // SAFETY: a backend has its slot from its start to its end, and fills only this one.
    unsafe {
        let is_free = pg_sys::pgstat_track_activities
            && pg_sys::MyBEEntry
                .as_ref()
                .is_some_and(|slot| slot.st_progress_command == pg_sys::ProgressCommandType::PROGRESS_COMMAND_INVALID);
        if is_free {
            pg_sys::pgstat_progress_start_command(COMMAND, table.unwrap_or(Oid::INVALID));
            SPILLED.set((0, 0));
        }
        is_free
    }
}

/// Sets a counter of the job that is shown.
pub fn set(counter: Counter, value: u64) {
    report(counter as i32, value as i64);
}

/// Clears the slot of what is shown.
pub fn end() {
    // SAFETY: clears this backend's own slot.
    unsafe { pg_sys::pgstat_progress_end_command() }
}

/// Counts `bytes` written to temporary files.
pub fn spilled(bytes: u64) {
    let (all, reported) = SPILLED.get();
    let all = all + bytes;
    if all - reported < BYTES_AT_A_TIME {
        return SPILLED.set((all, reported));
    }
    SPILLED.set((all, all));
    // SAFETY: null, or this backend's own slot.
    if unsafe { pg_sys::MyBEEntry.as_ref() }.is_some_and(|slot| slot.st_progress_command == COMMAND) {
        report(Counter::Spilled as i32, all as i64);
    }
}

/// Calls `visit` with the slot of each running job that the caller may see: with rights to the user's role, or to
/// `pg_read_all_stats`, as in PostgreSQL's own views. The slot's target is the source table, or invalid. Its parameters
/// begin with the counters, in the order of [`Counter`].
pub fn running(visit: &mut dyn FnMut(&pg_sys::PgBackendStatus)) {
    versions::each_backend(|slot| {
        if slot.st_progress_command != COMMAND {
            return;
        }
        // SAFETY: look-ups of the current role's memberships.
        let may_see = unsafe {
            let user = pg_sys::GetUserId();
            pg_sys::has_privs_of_role(user, Oid::from(pg_sys::ROLE_PG_READ_ALL_STATS))
                || pg_sys::has_privs_of_role(user, slot.st_userid)
        };
        if may_see {
            visit(slot);
        }
    });
}
