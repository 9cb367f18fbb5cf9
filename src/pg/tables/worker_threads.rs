//! Threads beside the backend's own: how many, and what keeps PostgreSQL away from them.
//!
//! PostgreSQL is not a place for threads: its signal handlers, its memory contexts and its errors belong to
//! one. So a thread of ours blocks all signals from its first moment on, gets copies only, computes, and calls
//! nothing of PostgreSQL.

use std::cell::Cell;
use std::sync::Once;

use pgrx::pg_sys;
use sketch::pipeline::Setting;

use crate::pg::open::Open;
use crate::pg::reserve::check_interrupts;

thread_local! {
    /// True if this thread is one of ours.
    static IS_OURS: Cell<bool> = const { Cell::new(false) };
}

/// The setting under which threads are started. `memory` bytes of batches may be out at a time.
pub fn setting(memory: usize) -> Setting {
    silence_panics();
    Setting { around_spawn: blocking_signals, at_start: || IS_OURS.set(true), check_interrupts, memory }
}

/// The number of threads that may help to build an index of a table: as many workers as PostgreSQL would
/// take if the table has the parameter `parallel_workers`, and no more than there are other cores if not.
pub fn for_build(table: &Open) -> usize {
    // SAFETY: settings of this backend.
    let most = unsafe { pg_sys::max_parallel_maintenance_workers.min(pg_sys::max_parallel_workers) };
    allowed(most, parallel_workers(table))
}

/// The number of threads that may help to answer a question about all rows of a table, or of a query.
pub fn for_job(table: Option<&Open>) -> usize {
    // SAFETY: settings of this backend.
    let most = unsafe { pg_sys::max_parallel_workers_per_gather.min(pg_sys::max_parallel_workers) };
    allowed(most, table.and_then(parallel_workers))
}

fn allowed(most: i32, wanted: Option<i32>) -> usize {
    // SAFETY: a variable of this process: zero or more in a parallel worker.
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

/// The storage parameter of that name, if it was set.
fn parallel_workers(table: &Open) -> Option<i32> {
    // SAFETY: an open relation; tables and materialized views, of all access methods, have these options.
    unsafe {
        let relation = &*table.raw();
        let is_table = matches!((*relation.rd_rel).relkind as u8, b'r' | b'm');
        let options = relation.rd_options.cast::<pg_sys::StdRdOptions>();
        let options = options.as_ref().filter(|_| is_table)?;
        Some(options.parallel_workers).filter(|workers| *workers >= 0)
    }
}

/// Calls `spawn` with all signals blocked: a thread that starts meanwhile has them blocked for ever, so that
/// PostgreSQL's handlers run in the backend's own.
fn blocking_signals(spawn: &mut dyn FnMut()) {
    // SAFETY: both sets are initialised by the functions that are given them; the mask of this thread is
    // restored below. Nothing between them raises an error of PostgreSQL's.
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

/// Lets our threads panic without a word. The hook of the standard library allocates, under a lock of its
/// own: in want of memory it would wait for itself, and the backend for it. The reader does the batch again, and
/// reports what it finds.
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
