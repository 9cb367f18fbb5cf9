//! A reserve of memory for errors, which need some to be raised when the system has none left.
//!
//! A buffer that grows with the input is allocated fallibly, and a refusal becomes an ERROR. But Rust aborts the
//! process when it cannot allocate a short string. And pgrx copies an error into the memory context that was just
//! refused memory, fails again, and ends in a PANIC. Either ends all sessions of the server. So a part of the address
//! space is kept, and released when a request is refused that cannot report the refusal. From then on
//! [`check_interrupts`] raises an ERROR until the reserve can be allocated again. An error with texts too long to be
//! copied becomes an out-of-memory error.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use pgrx::pg_sys;
use pgrx::{PgLogLevel, PgSqlErrorCode};
use sketch::MAX_STOP_WORDS;

use crate::error::{Result, out_of_memory, raise};

/// Size of the reserve. A memory context allocates blocks of up to 1 MB, even for a few bytes.
const BYTES: usize = 3 << 19;

/// The reserve; null while there is none.
static RESERVE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Lets PostgreSQL cancel a long loop. Raises an ERROR on a cancel request, or if the reserve is gone and cannot be
/// allocated again.
pub fn check_interrupts() {
    pgrx::check_for_interrupts!();
    if !keep() {
        raise(out_of_memory());
    }
}

/// Allocates the reserve unless it is there; false if that failed.
fn keep() -> bool {
    if !RESERVE.load(Ordering::Relaxed).is_null() {
        return true;
    }
    let Some(pages) = pages(BYTES) else { return false };
    let before = RESERVE.swap(pages, Ordering::Relaxed);
    give_back(before, BYTES);
    true
}

/// Maps `bytes` bytes of fresh memory.
fn pages(bytes: usize) -> Option<*mut c_void> {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping at an address that the kernel chooses overlaps no other.
    let pages = unsafe { libc::mmap(null_mut(), bytes, access, kind, -1, 0) };
    (pages != libc::MAP_FAILED).then_some(pages)
}

/// Releases the reserve for the next request; false if it was gone already.
fn give_up() -> bool {
    give_back(RESERVE.swap(null_mut(), Ordering::Relaxed), BYTES)
}

/// Unmaps what `pages` returned, unless it is null.
fn give_back(pages: *mut c_void, bytes: usize) -> bool {
    // SAFETY: `pages` mapped these bytes, and the caller has taken the only pointer to them.
    !pages.is_null() && unsafe { libc::munmap(pages, bytes) } == 0
}

/// Runs a function for PostgreSQL, or raises its error. Releases the reserve for an error that finds no memory.
pub fn answer<T>(work: impl FnOnce() -> Result<T>) -> T {
    if !keep() {
        raise_plainly(BYTES);
    }
    // SAFETY: reads the top of this backend's own stack of callbacks.
    let before = Before(unsafe { pg_sys::error_context_stack });
    let mut callback = pg_sys::ErrorContextCallback {
        // `note_error` calls the callers' callbacks before it looks at the error: each adds its text.
        previous: null_mut(),
        callback: Some(note_error),
        arg: before.0.cast(),
    };
    // SAFETY: `Before` takes the callback off this backend's stack before the callback goes out of scope.
    unsafe { pg_sys::error_context_stack = &raw mut callback };
    work().unwrap_or_else(|report| raise(report))
}

/// The top of the stack of callbacks before `answer` pushed its own.
struct Before(*mut pg_sys::ErrorContextCallback);

impl Drop for Before {
    fn drop(&mut self) {
        // SAFETY: restores the top that `answer` read.
        unsafe { pg_sys::error_context_stack = self.0 };
    }
}

/// Length of an error's texts up to which the reserve has room for all copies.
const SHORT: usize = 64 << 10;

/// Number of copies of an error's texts on their way to the client, by PostgreSQL, by pgrx in UTF-8, and by minlsh.
const COPIES: usize = 8;

/// Callback that PostgreSQL calls for each message, before the message reaches a handler. `callers` is the stack of
/// callbacks below.
unsafe extern "C-unwind" fn note_error(callers: *mut c_void) {
    let mut caller = callers.cast::<pg_sys::ErrorContextCallback>();
    // SAFETY: `answer` found these callbacks on the stack, and their frames are still below it; each is called as
    // PostgreSQL would call it.
    unsafe {
        while let Some(callback) = caller.as_ref() {
            if let Some(call) = callback.callback {
                call(callback.arg);
            }
            caller = callback.previous;
        }
    }
    // SAFETY: PostgreSQL calls this for a message in progress, whose code is read; it raises no error.
    let code = unsafe { pg_sys::geterrcode() };
    // SAFETY: the context of errors lives as long as the backend. It holds their texts, and nothing else that is long.
    let texts = unsafe { pg_sys::MemoryContextMemAllocated(pg_sys::ErrorContext, true) };
    if code == PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY as c_int || !is_there(BYTES + COPIES * texts) {
        give_up();
        // Messages of the classes 00 and 01 (utils/errcodes.h) are not copied, and threads may be at work.
        let is_error = !matches!(code & 0xFFF, 0 | 0x40);
        if is_error && texts > SHORT {
            raise_plainly(COPIES * texts);
        }
    }
}

/// True if `bytes` bytes can be allocated now.
fn is_there(bytes: usize) -> bool {
    pages(bytes).is_some_and(|pages| give_back(pages, bytes))
}

/// Raises an out-of-memory error for `bytes` bytes in place of the current message, as FATAL if that is. It needs only
/// the memory that PostgreSQL keeps for errors.
fn raise_plainly(bytes: usize) -> ! {
    unsafe extern "C-unwind" {
        // From utils/elog.h, the same since PostgreSQL 13.
        fn errstart(level: c_int, domain: *const c_char) -> bool;
        fn errcode(code: c_int) -> c_int;
        fn errmsg(format: *const c_char, ...) -> c_int;
        fn errdetail(format: *const c_char, ...) -> c_int;
        fn errfinish(file: *const c_char, line: c_int, function: *const c_char);
    }
    const FILE: &CStr = c"reserve.rs";
    const DETAIL: &CStr = c"Failed on request of %zu bytes for a call or its error.";
    // SAFETY: an error raised during a message takes that message's level if it is higher, and its memory (`errstart`).
    // The callers' callbacks have run, and PostgreSQL restores their stack where it catches an ERROR. No frame up to
    // there has anything to drop: they are PostgreSQL's, `note_error`, or `answer` before it does anything.
    unsafe {
        pg_sys::error_context_stack = null_mut();
        errstart(PgLogLevel::ERROR as c_int, std::ptr::null());
        errcode(PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY as c_int);
        errmsg(c"out of memory".as_ptr());
        errdetail(DETAIL.as_ptr(), bytes);
        errfinish(FILE.as_ptr(), line!() as c_int, c"minlsh".as_ptr());
    }
    unreachable!("an ERROR does not return")
}

/// Size up to which a request may come from code that cannot handle a refusal: twice the longest list of stop words.
/// Larger requests get null and report it.
const SMALL: usize = 2 * MAX_STOP_WORDS;

/// The system's allocator, which releases the reserve for a small request that fails.
struct Reserving;

#[global_allocator]
static ALLOCATOR: Reserving = Reserving;

impl Reserving {
    /// Calls `allocate`, and again without the reserve if a small request failed.
    #[inline]
    fn or_reserve(size: usize, allocate: impl Fn() -> *mut u8) -> *mut u8 {
        let taken = allocate();
        if taken.is_null() && size <= SMALL && give_up() { allocate() } else { taken }
    }
}

// SAFETY: forwards to the system's allocator, at most twice, and does not unwind.
unsafe impl GlobalAlloc for Reserving {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises a valid layout.
        Self::or_reserve(layout.size(), || unsafe { System.alloc(layout) })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises a valid layout.
        Self::or_reserve(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    #[inline]
    unsafe fn dealloc(&self, taken: *mut u8, layout: Layout) {
        // SAFETY: the caller promises that this allocator, so the system's, made `taken` with this layout.
        unsafe { System.dealloc(taken, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, taken: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that this allocator made `taken` with this layout; a failed call leaves it as it
        // was.
        Self::or_reserve(size, || unsafe { System.realloc(taken, layout, size) })
    }
}
