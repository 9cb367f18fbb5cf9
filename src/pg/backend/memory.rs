//! Memory contexts, and the owner of what PostgreSQL allocates for a value of Rust.
//!
//! The owner is the transaction or subtransaction in progress, whatever memory context is current. A call ends before
//! its transaction does, so values may be dropped in any order. Each value frees its own memory when it is dropped, and
//! the abort after an ERROR frees the rest.

use std::ffi::CStr;

use pgrx::memcxt::PgMemoryContexts;
use pgrx::pg_sys;

/// A memory context, deleted when this goes out of scope.
pub struct Memory(pg_sys::MemoryContext);

impl Memory {
    /// A context for the work of one call. An ERROR frees it too.
    pub fn scratch(name: &'static CStr) -> Self {
        // SAFETY: a function runs within a transaction, whose context outlives the call. The context keeps `name`,
        // which is static.
        Self(unsafe {
            pg_sys::AllocSetContextCreateInternal(
                pg_sys::CurTransactionContext,
                name.as_ptr(),
                pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
                pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
                pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
            )
        })
    }

    pub fn bytes(&self) -> usize {
        // SAFETY: `scratch` made the context, and only `drop` deletes it.
        unsafe { pg_sys::MemoryContextMemAllocated(self.0, true) }
    }

    /// Runs `work`, which allocates in this context.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        // SAFETY: `scratch` made the context, and only `drop` deletes it. An ERROR sets the current context itself.
        unsafe { PgMemoryContexts::For(self.0).switch_to(|_| work()) }
    }

    /// Runs `work`, which allocates in this context, and frees that memory again: no pointer to it may leave.
    pub fn run_and_reset<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let result = self.run(work);
        // SAFETY: only `work` allocated in the context, which the caller lends mutably.
        unsafe { pg_sys::MemoryContextReset(self.0) };
        result
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: `scratch` made the context, and it is deleted once; an ERROR deletes it with its parent.
        unless_raised(|| unsafe { pg_sys::MemoryContextDelete(self.0) });
    }
}

/// Frees something by calling `free`, unless an ERROR is on its way: the abort of the transaction frees it then.
pub fn unless_raised(free: impl FnOnce()) {
    if !std::thread::panicking() {
        free();
    }
}

/// Runs `make`, which allocates in the memory of the transaction. The result outlives the call, and its owner must free
/// it.
pub fn in_transaction<T>(make: impl FnOnce() -> T) -> T {
    // SAFETY: a function runs within a transaction. An ERROR sets the current context itself.
    unsafe { PgMemoryContexts::CurTransactionContext.switch_to(|_| make()) }
}

/// Like [`in_transaction`], also for temporary files, which PostgreSQL closes with the current resource owner: here the
/// transaction's.
pub fn with_files<T>(make: impl FnOnce() -> T) -> T {
    // SAFETY: a function runs within a transaction, whose resource owner lives as long as its memory. An abort sets the
    // current owner itself.
    unsafe {
        let previous = pg_sys::CurrentResourceOwner;
        pg_sys::CurrentResourceOwner = pg_sys::CurTransactionResourceOwner;
        let made = in_transaction(make);
        pg_sys::CurrentResourceOwner = previous;
        made
    }
}

/// Runs `call`, which may change the current memory context, and sets the caller's context again.
pub fn unmoved<T>(call: impl FnOnce() -> T) -> T {
    // SAFETY: the caller's current context is not deleted during the call.
    unsafe {
        let current = pg_sys::CurrentMemoryContext;
        let result = call();
        pg_sys::MemoryContextSwitchTo(current);
        result
    }
}
