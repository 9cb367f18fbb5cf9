//! Worker threads of a backend: their number, and their separation from PostgreSQL.
//!
//! PostgreSQL's signal handlers, memory contexts and errors belong to one thread. So a worker thread blocks all signals
//! from its start, works on copies only, and calls no function of PostgreSQL.

use std::cell::Cell;
use std::sync::Once;

use pgrx::pg_sys;
use sketch::pipeline::Setting;

use crate::pg::open::Open;
use crate::pg::reserve::check_interrupts;

thread_local! {
    /// True in a worker thread.
    static IS_OURS: Cell<bool> = const { Cell::new(false) };
}

/// The setting for starting threads, with at most `memory` bytes of batches in flight.
pub fn setting(memory: usize) -> Setting {
    silence_panics();
    Setting { around_spawn: blocking_signals, at_start: || IS_OURS.set(true), check_interrupts, memory }
}

/// Maximum number of threads for building an index of a table: the workers that PostgreSQL would take if the table sets
/// `parallel_workers`, otherwise at most the number of other cores.
pub fn for_build(table: &Open) -> usize {
    // SAFETY: reads settings of this backend.
    let most = unsafe { pg_sys::max_parallel_maintenance_workers.min(pg_sys::max_parallel_workers) };
    allowed(most, parallel_workers(table))
}

/// Maximum number of threads for a job over all rows of a table or query.
pub fn for_job(table: Option<&Open>) -> usize {
    // SAFETY: reads settings of this backend.
    let most = unsafe { pg_sys::max_parallel_workers_per_gather.min(pg_sys::max_parallel_workers) };
    allowed(most, table.and_then(parallel_workers))
}

fn allowed(most: i32, wanted: Option<i32>) -> usize {
    // SAFETY: reads a global of this process, which is zero or more in a parallel worker.
    if most <= 0 || unsafe { pg_sys::ParallelWorkerNumber } >= 0 {
        return 0;
    }
    match wanted {
        Some(wanted) => most.min(wanted) as usize,
        None => {
            let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
            (most as usize).min(cores - 1)
        }
    }
}

/// The storage parameter `parallel_workers`, if it is set.
fn parallel_workers(table: &Open) -> Option<i32> {
    // SAFETY: tables and materialized views of all access methods have these options, if any.
    unsafe {
        let relation = &*table.raw();
        let is_table = matches!((*relation.rd_rel).relkind as u8, b'r' | b'm');
        let options = relation.rd_options.cast::<pg_sys::StdRdOptions>();
        let options = options.as_ref().filter(|_| is_table)?;
        Some(options.parallel_workers).filter(|workers| *workers >= 0)
    }
}

/// Calls `spawn` with all signals blocked. A new thread inherits the mask, so PostgreSQL's handlers run only in the
/// backend's own thread.
fn blocking_signals(spawn: &mut dyn FnMut()) {
    // SAFETY: the functions initialise both sets, and the mask of this thread is restored below. Nothing in between
    // raises an ERROR.
    unsafe {
        let mut all = std::mem::zeroed();
        let mut before = std::mem::zeroed();
        libc::sigfillset(&mut all);
        if libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before) != 0 {
            return;
        }
        spawn();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
    }
}

/// Silences panics of worker threads. The standard library's hook allocates under its own lock: without memory it would
/// wait for itself, and the backend for it. The backend processes the batch again, and reports the error.
fn silence_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !IS_OURS.get() {
                before(info);
            }
        }));
    });
}
