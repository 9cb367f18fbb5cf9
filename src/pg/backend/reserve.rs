//! A reserve of memory for the time when the system has none left: errors need some to be raised.
//!
//! What grows with the input asks for memory in a way that may be refused, and the refusal is an ERROR. But Rust ends
//! the process where a short string is refused, and pgrx copies an error into the memory context that has just been
//! refused some, fails again, and ends in a PANIC. Either ends all sessions of the server. So a part of the address
//! space is kept, and given up where memory is refused to somebody who cannot be told. Whoever looks for interrupts
//! raises an ERROR until it can be had again. An error whose texts are too long to be copied becomes one of memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use pgrx::pg_sys;
use pgrx::{PgLogLevel, PgSqlErrorCode};
use sketch::MAX_STOP_WORDS;

use crate::error::{Result, out_of_memory, raise};

/// Bytes of the reserve: a memory context asks for a block of up to 1 MB, be it for a few bytes.
const BYTES: usize = 3 << 19;

/// The reserve; null if there is none.
static RESERVE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Lets PostgreSQL cancel a long loop: raises the error if that was asked for, or if there is no memory left.
pub fn check_interrupts() {
    pgrx::check_for_interrupts!();
    if !keep() {
        raise(out_of_memory());
    }
}

/// Keeps the reserve, if it can be had; true if it is there.
fn keep() -> bool {
    if !RESERVE.load(Ordering::Relaxed).is_null() {
        return true;
    }
    let Some(pages) = pages(BYTES) else { return false };
    let before = RESERVE.swap(pages, Ordering::Relaxed);
    give_back(before, BYTES);
    true
}

/// So many bytes of memory that nobody has.
fn pages(bytes: usize) -> Option<*mut c_void> {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: asks for pages that nobody has, wherever they are.
    let pages = unsafe { libc::mmap(null_mut(), bytes, access, kind, -1, 0) };
    (pages != libc::MAP_FAILED).then_some(pages)
}

/// Gives the reserve to whoever asks for memory next; false if it is gone.
fn give_up() -> bool {
    give_back(RESERVE.swap(null_mut(), Ordering::Relaxed), BYTES)
}

/// Gives back what `pages` gave, unless it is null.
fn give_back(pages: *mut c_void, bytes: usize) -> bool {
    // SAFETY: so many bytes of pages that were asked for here, of which nobody else knows.
    !pages.is_null() && unsafe { libc::munmap(pages, bytes) } == 0
}

/// Answers a call of PostgreSQL's, or raises the error. Where memory is refused meanwhile, the error finds some.
pub fn answer<T>(work: impl FnOnce() -> Result<T>) -> T {
    if !keep() {
        raise_plainly(BYTES);
    }
    // SAFETY: the stack of this backend.
    let before = Before(unsafe { pg_sys::error_context_stack });
    let mut callback = pg_sys::ErrorContextCallback {
        // `note_error` calls the callers' before it looks at the error: each adds its text.
        previous: null_mut(),
        callback: Some(note_error),
        arg: before.0.cast(),
    };
    // SAFETY: the stack of this backend, from which the callback is taken before it is gone.
    unsafe { pg_sys::error_context_stack = &raw mut callback };
    work().unwrap_or_else(|report| raise(report))
}

/// The top of the stack of callbacks before ours was put there.
struct Before(*mut pg_sys::ErrorContextCallback);

impl Drop for Before {
    fn drop(&mut self) {
        // SAFETY: the stack of this backend, as `answer` found it.
        unsafe { pg_sys::error_context_stack = self.0 };
    }
}

/// Bytes of an error's texts for which the reserve has room, whatever their copies take.
const SHORT: usize = 64 << 10;

/// The copies that are made of an error's texts on its way to the client: PostgreSQL's, those of pgrx in UTF-8, and
/// ours.
const COPIES: usize = 8;

/// PostgreSQL calls this for each message, before it goes on to whoever catches an error. `callers` is the stack of
/// callbacks below.
unsafe extern "C-unwind" fn note_error(callers: *mut c_void) {
    let mut caller = callers.cast::<pg_sys::ErrorContextCallback>();
    // SAFETY: the stack of callbacks as `answer` found it, whose callers are still there; each is called as
    // PostgreSQL would call it.
    unsafe {
        while let Some(callback) = caller.as_ref() {
            if let Some(call) = callback.callback {
                call(callback.arg);
            }
            caller = callback.previous;
        }
    }
    // SAFETY: it is called for a message, whose code this reads; it raises no error.
    let code = unsafe { pg_sys::geterrcode() };
    // SAFETY: the context of errors is always there. It holds their texts, and nothing else that is long.
    let texts = unsafe { pg_sys::MemoryContextMemAllocated(pg_sys::ErrorContext, true) };
    if code == PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY as c_int || !is_there(BYTES + COPIES * texts) {
        give_up();
        if texts > SHORT {
            raise_plainly(COPIES * texts);
        }
    }
}

/// True if so much memory could be had.
fn is_there(bytes: usize) -> bool {
    pages(bytes).is_some_and(|pages| give_back(pages, bytes))
}

/// Raises the error that there are no such bytes, in place of a message at hand, and as FATAL if that is. It takes no
/// memory but what PostgreSQL keeps for errors.
fn raise_plainly(bytes: usize) -> ! {
    unsafe extern "C-unwind" {
        // utils/elog.h, the same since PostgreSQL 13
        fn errstart(level: c_int, domain: *const c_char) -> bool;
        fn errcode(code: c_int) -> c_int;
        fn errmsg(format: *const c_char, ...) -> c_int;
        fn errdetail(format: *const c_char, ...) -> c_int;
        fn errfinish(file: *const c_char, line: c_int, function: *const c_char);
    }
    const FILE: &CStr = c"reserve.rs";
    const DETAIL: &CStr = c"Failed on request of %zu bytes for a call or its error.";
    // SAFETY: an error amid a message at hand takes its level if that is higher, and its memory (`errstart`). Callers
    // have said what they had to: PostgreSQL puts their stack back where it catches an ERROR. No frame up to there has
    // anything to drop: they are PostgreSQL's, `note_error`, or `answer` before it does anything.
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

/// Bytes up to which a request may be one that cannot handle a refusal: twice the longest list of stop words. Larger
/// ones get null and report it.
const SMALL: usize = 2 * MAX_STOP_WORDS;

/// The allocator of the system, which gives up the reserve for a small request.
struct Reserving;

#[global_allocator]
static ALLOCATOR: Reserving = Reserving;

impl Reserving {
    /// Calls `allocate`, and once more without the reserve if a small request was refused.
    #[inline]
    fn or_reserve(size: usize, allocate: impl Fn() -> *mut u8) -> *mut u8 {
        let taken = allocate();
        if taken.is_null() && size <= SMALL && give_up() { allocate() } else { taken }
    }
}

// SAFETY: the system's allocator, asked once more; none of it unwinds.
unsafe impl GlobalAlloc for Reserving {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout.
        Self::or_reserve(layout.size(), || unsafe { System.alloc(layout) })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout.
        Self::or_reserve(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    #[inline]
    unsafe fn dealloc(&self, taken: *mut u8, layout: Layout) {
        // SAFETY: what the system gave for that layout.
        unsafe { System.dealloc(taken, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, taken: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: what the system gave for that layout, which it still has where it gives nothing.
        Self::or_reserve(size, || unsafe { System.realloc(taken, layout, size) })
    }
}
