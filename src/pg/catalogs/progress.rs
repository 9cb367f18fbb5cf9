//! The progress of a build, as `pg_stat_progress_create_index` shows it.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Oid};

use crate::pg::catalog::CatalogRow;

/// The phases of an access method's build; the first phase is PostgreSQL's own.
#[derive(Clone, Copy)]
pub enum Phase {
    Scanning = 2,
    Sorting = 3,
    Writing = 4,
}

const NAMES: [&CStr; 4] =
    [c"initializing", c"scanning table", c"sorting entries", c"writing pages"];

/// Tuples between two reports.
const STRIDE: i64 = 1024;

/// The name of a phase by its number.
pub fn phase_name(number: i64) -> Option<&'static CStr> {
    NAMES.get(usize::try_from(number - 1).ok()?).copied()
}

/// Reports that a phase begins.
pub fn enter(phase: Phase) {
    report(pg_sys::PROGRESS_CREATEIDX_SUBPHASE as i32, phase as i64);
}

fn report(parameter: i32, value: i64) {
    // SAFETY: sets a counter of this backend.
    unsafe { pg_sys::pgstat_progress_update_param(parameter, value) }
}

/// Counts tuples that are done, of how many there are.
pub struct Tuples(i64);

impl Tuples {
    /// None is done yet; a `total` of zero is shown where it is unknown.
    pub fn of(total: i64) -> Self {
        report(pg_sys::PROGRESS_CREATEIDX_TUPLES_TOTAL as i32, total);
        report(pg_sys::PROGRESS_CREATEIDX_TUPLES_DONE as i32, 0);
        Self(0)
    }

    /// So many more are done.
    pub fn count(&mut self, more: usize) {
        let before = self.0 / STRIDE;
        self.0 += more as i64;
        if self.0 / STRIDE > before {
            report(pg_sys::PROGRESS_CREATEIDX_TUPLES_DONE as i32, self.0);
        }
    }
}

/// A build that is not a CREATE INDEX of PostgreSQL's, shown as one until it is dropped.
pub struct Build;

impl Build {
    /// Shows that rows of a table are read for an index of type minlsh.
    pub fn of(table: Oid) -> (Self, Tuples) {
        // SAFETY: fills this backend's own report; the name of an access method is looked up.
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
        let row = CatalogRow::<pg_sys::FormData_pg_class>::find(table);
        let expected = row.map_or(0, |row| row.reltuples.max(0.0) as i64);
        (Self, Tuples::of(expected))
    }
}

impl Drop for Build {
    fn drop(&mut self) {
        // SAFETY: clears this backend's own report.
        unsafe { pg_sys::pgstat_progress_end_command() }
    }
}
