//! Signals and threads.

/// Runs `spawn` with all signals blocked. Threads inherit that: PostgreSQL's signal handlers run
/// in the thread they were made for, and in no other.
pub fn spawn_without_signals(spawn: &mut dyn FnMut()) {
    // SAFETY: plain sets of signals, and the mask of this thread, which is put back right after.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        spawn();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
    }
}
