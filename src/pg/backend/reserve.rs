//! A reserve of memory for the time when the system has none left: errors need some to be raised.
//!
//! What grows with the input asks for memory in a way that may be refused, and the refusal is an ERROR. But Rust ends
//! the process where a short string is refused, and pgrx copies an error into the memory context that has just been
//! refused some, fails again, and ends in a PANIC. Either ends all sessions of the server. So a part of the address
//! space is kept, and given up where memory is refused to somebody who cannot be told. Whoever looks for interrupts
//! raises an ERROR until it can be had again.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use pgrx::PgSqlErrorCode;
use pgrx::pg_sys;

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
    let (access, kind) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: asks for pages that nobody has, wherever they are.
    let pages = unsafe { libc::mmap(null_mut(), BYTES, access, kind, -1, 0) };
    if pages == libc::MAP_FAILED {
        return false;
    }
    let before = RESERVE.swap(pages, Ordering::Relaxed);
    give_back(before);
    true
}

/// Gives the reserve to whoever asks for memory next; false if it is gone.
fn give_up() -> bool {
    give_back(RESERVE.swap(null_mut(), Ordering::Relaxed))
}

fn give_back(pages: *mut c_void) -> bool {
    // SAFETY: pages that `keep` asked for, of which nobody else knows.
    !pages.is_null() && unsafe { libc::munmap(pages, BYTES) } == 0
}

/// Answers a call of PostgreSQL's, or raises the error. Where memory is refused meanwhile, the error finds some.
pub fn answer<T>(work: impl FnOnce() -> Result<T>) -> T {
    keep();
    let mut callback = pg_sys::ErrorContextCallback {
        previous: null_mut(),
        callback: Some(note_error),
        arg: null_mut(),
    };
    // SAFETY: the stack of this backend, from which the callback is taken before it is gone.
    let _before = unsafe {
        callback.previous = pg_sys::error_context_stack;
        pg_sys::error_context_stack = &raw mut callback;
        Before(callback.previous)
    };
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

/// PostgreSQL calls this for each message, before it goes on to whoever catches an error.
unsafe extern "C-unwind" fn note_error(_argument: *mut c_void) {
    unsafe extern "C-unwind" {
        // utils/elog.h, the same since PostgreSQL 8
        fn geterrcode() -> c_int;
    }
    // SAFETY: it is called for a message, whose code this reads; it raises no error.
    if unsafe { geterrcode() } == PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY as c_int {
        give_up();
    }
}

/// Bytes up to which a request cannot handle a refusal. Larger ones get null and report it.
const SMALL: usize = 64 << 10;

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
