//! The slot of shared memory in which a backend shows how far its work is, taken for whole-corpus jobs.
//!
//! Each backend has one for VACUUM, CREATE INDEX and the like. A job reports there under a command of its
//! own: so nothing has to be preloaded, an ERROR clears the slot, and PostgreSQL's own views pass it by.

use std::cell::Cell;

use pgrx::pg_sys::{self, Oid};

use crate::pg::versions;

/// The command of our jobs: a number that PostgreSQL does not use. Both bytes and version: what the
/// counters mean belongs to it.
const COMMAND: pg_sys::ProgressCommandType::Type = 0x6d6c_0001;

/// The places of the counters.
#[derive(Clone, Copy)]
pub enum Counter {
    Phase,
    Read,
    Estimated,
    Candidates,
    Compared,
    Spilled,
}

const COUNTERS: usize = 6;

/// Bytes between two reports of what is written.
const STRIDE: u64 = 1 << 20;

thread_local! {
    /// Bytes that the running job has written to temporary files, and how many of them are reported.
    static SPILLED: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// A running job, shown until it is dropped.
pub struct Job {
    /// True if this one has the slot: a job within a COPY, or within another job, is not shown.
    is_shown: bool,
}

impl Job {
    /// A job begins; of that table, if it is one.
    pub fn start(table: Option<Oid>) -> Self {
        // SAFETY: this backend's own slot, which it has from its start to its end.
        let is_shown = unsafe {
            pg_sys::pgstat_track_activities
                && pg_sys::MyBEEntry.as_ref().is_some_and(|slot| {
                    slot.st_progress_command
                        == pg_sys::ProgressCommandType::PROGRESS_COMMAND_INVALID
                })
        };
        if is_shown {
            // SAFETY: fills this backend's own slot.
            unsafe {
                pg_sys::pgstat_progress_start_command(COMMAND, table.unwrap_or(Oid::INVALID));
            }
            SPILLED.set((0, 0));
        }
        Self { is_shown }
    }

    /// Sets a counter.
    pub fn set(&self, counter: Counter, value: u64) {
        if self.is_shown {
            // SAFETY: sets a counter of this backend's own slot.
            unsafe { pg_sys::pgstat_progress_update_param(counter as i32, value as i64) }
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if self.is_shown && !std::thread::panicking() {
            // SAFETY: clears this backend's own slot; an ERROR clears it by itself.
            unsafe { pg_sys::pgstat_progress_end_command() }
        }
    }
}

/// So many more bytes went to temporary files.
pub fn spilled(bytes: u64) {
    let (all, reported) = SPILLED.get();
    let all = all + bytes;
    if all - reported < STRIDE {
        return SPILLED.set((all, reported));
    }
    SPILLED.set((all, all));
    // SAFETY: this backend's own slot.
    unsafe {
        if pg_sys::MyBEEntry.as_ref().is_some_and(|slot| slot.st_progress_command == COMMAND) {
            pg_sys::pgstat_progress_update_param(Counter::Spilled as i32, all as i64);
        }
    }
}

/// A job of some session.
pub struct Running {
    pub pid: i32,
    pub database: Oid,
    /// Invalid if it is not of one table.
    pub table: Oid,
    /// In the order of [`Counter`].
    pub counters: [i64; COUNTERS],
}

/// Calls `visit` with each running job that the caller may see: with rights to the user's role, or to
/// `pg_read_all_stats`, as in PostgreSQL's own views.
pub fn running(visit: &mut dyn FnMut(&Running)) {
    versions::each_backend(|slot| {
        if slot.st_progress_command != COMMAND {
            return;
        }
        // SAFETY: lookups of the caller's memberships.
        let may_see = unsafe {
            let user = pg_sys::GetUserId();
            pg_sys::has_privs_of_role(user, Oid::from(pg_sys::ROLE_PG_READ_ALL_STATS))
                || pg_sys::has_privs_of_role(user, slot.st_userid)
        };
        if may_see {
            visit(&Running {
                pid: slot.st_procpid,
                database: slot.st_databaseid,
                table: slot.st_progress_command_target,
                counters: std::array::from_fn(|place| slot.st_progress_param[place]),
            });
        }
    });
}
