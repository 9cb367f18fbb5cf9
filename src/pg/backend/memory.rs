//! Memory contexts of our own, and what owns that which PostgreSQL makes for a value of Rust.
//!
//! It belongs to the transaction, or subtransaction, in progress, and not to the memory context that is current. A call
//! ends before its transaction does, so no order in which values are dropped can be wrong. Each value frees its own
//! when it is dropped, and the abort after an ERROR frees what is left.

use std::ffi::CStr;

use pgrx::memcxt::PgMemoryContexts;
use pgrx::pg_sys;

/// A memory context, deleted when this goes out of scope.
pub struct Memory(pg_sys::MemoryContext);

impl Memory {
    /// A context for the work of one call, which an ERROR frees as well.
    pub fn scratch(name: &'static CStr) -> Self {
        // SAFETY: a function is called within a transaction, whose context outlives the call; the name is static, as
        // the context keeps it.
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
        // SAFETY: the context is alive.
        unsafe { pg_sys::MemoryContextMemAllocated(self.0, true) }
    }

    /// Runs `work` with what it allocates in this context.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        // SAFETY: the context is alive; an ERROR sets the current context itself.
        unsafe { PgMemoryContexts::For(self.0).switch_to(|_| work()) }
    }

    /// Runs `work` with what it allocates in this context, and frees that again: no pointer to it
    /// may leave.
    pub fn run_and_reset<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let result = self.run(work);
        // SAFETY: the context is alive; what was allocated was the work's own.
        unsafe { pg_sys::MemoryContextReset(self.0) };
        result
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: made by `scratch`, deleted once; an ERROR deletes it with its parent.
            unsafe { pg_sys::MemoryContextDelete(self.0) };
        }
    }
}

/// Runs `make` with what it allocates in the memory of the transaction: it outlives the call, and is to be freed by
/// whoever holds it.
pub fn in_transaction<T>(make: impl FnOnce() -> T) -> T {
    // SAFETY: a function is called within a transaction; an ERROR sets the current context itself.
    unsafe { PgMemoryContexts::CurTransactionContext.switch_to(|_| make()) }
}

/// The same, for what keeps temporary files: these belong to the transaction as well, whoever owns what is opened
/// otherwise. PostgreSQL notes the owner with each file.
pub fn with_files<T>(make: impl FnOnce() -> T) -> T {
    // SAFETY: a transaction in progress has its owner, as alive as its memory; an abort sets the current one itself.
    unsafe {
        let previous = pg_sys::CurrentResourceOwner;
        pg_sys::CurrentResourceOwner = pg_sys::CurTransactionResourceOwner;
        let made = in_transaction(make);
        pg_sys::CurrentResourceOwner = previous;
        made
    }
}

/// Runs `call`, which may change the current memory context, and comes back to the caller's.
pub fn unmoved<T>(call: impl FnOnce() -> T) -> T {
    // SAFETY: the current context is alive, and stays so during a call.
    unsafe {
        let current = pg_sys::CurrentMemoryContext;
        let result = call();
        pg_sys::MemoryContextSwitchTo(current);
        result
    }
}
