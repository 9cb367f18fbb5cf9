//! Memory contexts of our own: what a row takes is gone when the next one comes.

use pgrx::pg_sys;

/// A memory context, a child of the one that was current when it was made.
pub struct Context(pg_sys::MemoryContext);

impl Context {
    /// An empty context.
    pub fn new(name: &'static std::ffi::CStr) -> Self {
        // SAFETY: the name lives for ever; the sizes are ALLOCSET_DEFAULT_SIZES.
        Self(unsafe {
            pg_sys::AllocSetContextCreateInternal(
                pg_sys::CurrentMemoryContext,
                name.as_ptr(),
                pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
                pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
                pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
            )
        })
    }

    /// Does `work` with this as the current context.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        // SAFETY: a live context; an ERROR in `work` puts back a context of its own.
        let previous = unsafe { pg_sys::MemoryContextSwitchTo(self.0) };
        let result = work();
        // SAFETY: the context that was current before.
        unsafe { pg_sys::MemoryContextSwitchTo(previous) };
        result
    }

    /// Frees all that is in it.
    ///
    /// # Safety
    /// Nothing of it is used any more.
    pub unsafe fn reset(&self) {
        // SAFETY: a live context, and the caller's promise.
        unsafe { pg_sys::MemoryContextReset(self.0) };
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: made in `new`, deleted once; the abort of a query deletes its parent.
            unsafe { pg_sys::MemoryContextDelete(self.0) };
        }
    }
}
