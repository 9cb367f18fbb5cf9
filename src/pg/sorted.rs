//! Values of one type, sorted by PostgreSQL: in memory as far as it goes, in temporary files beyond.

use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::Result;
use crate::pg::interrupts::check_interrupts;
use crate::pg::memory::{Memory, with_files};
use crate::pg::order::Order;
use crate::pg::versions;

/// Values that are sorted.
pub struct Sorted {
    state: *mut pg_sys::Tuplesortstate,
    order: Order,
    /// Of the value at hand, and of the next one.
    memory: [Memory; 2],
}

impl Sorted {
    /// No values yet, of that type and collation; `memory` bytes for them.
    pub fn new(type_oid: Oid, collation: Oid, memory: usize) -> Result<Self> {
        let order = Order::of(type_oid, collation)?;
        let kilobytes = i32::try_from(memory / 1024).unwrap_or(i32::MAX).max(64);
        // SAFETY: a type with a default order has that operator; the sort, which lives in the transaction's memory, is
        // ended by `Drop`, or by an abort.
        let state = with_files(|| unsafe {
            let flags = pg_sys::TYPECACHE_LT_OPR as i32;
            let less = (*pg_sys::lookup_type_cache(type_oid, flags)).lt_opr;
            let (coordinate, options) = (std::ptr::null_mut(), 0);
            pg_sys::tuplesort_begin_datum(
                type_oid, less, collation, false, kilobytes, coordinate, options,
            )
        });
        let memory = [Memory::scratch(c"minlsh value"), Memory::scratch(c"minlsh next value")];
        Ok(Self { state, order, memory })
    }

    /// Adds a copy of a value.
    ///
    /// # Safety
    /// It is a non-null value of the type.
    pub unsafe fn push(&mut self, value: Datum) {
        // SAFETY: a sort that has not begun, and the caller's promise. A tape may be begun here.
        with_files(|| unsafe { pg_sys::tuplesort_putdatum(self.state, value, false) });
    }

    /// Calls `visit` with each value, in their order; with equal ones once.
    pub fn each_distinct(mut self, visit: &mut dyn FnMut(Datum) -> Result<()>) -> Result<()> {
        // SAFETY: all values are there. Tapes may be begun here.
        with_files(|| unsafe { pg_sys::tuplesort_performsort(self.state) });
        let mut before = None;
        let (mut kept, mut free) = (0, 1);
        loop {
            check_interrupts();
            let Some(value) = self.memory[free].run(|| next(self.state)) else { return Ok(()) };
            // SAFETY: values of the type whose order this is.
            if before.is_some_and(|before| unsafe { self.order.compare(before, value).is_eq() }) {
                self.memory[free].run_and_reset(|| ());
                continue;
            }
            visit(value)?;
            before = Some(value);
            std::mem::swap(&mut kept, &mut free);
            self.memory[free].run_and_reset(|| ());
        }
    }
}

/// The next value of a sort, copied to the current memory context.
fn next(state: *mut pg_sys::Tuplesortstate) -> Option<Datum> {
    let (mut value, mut is_null) = (Datum::from(0), false);
    // SAFETY: the values are sorted, and none is NULL.
    let found = unsafe { versions::tuplesort_getdatum(state, &mut value, &mut is_null) };
    (found && !is_null).then_some(value)
}

impl Drop for Sorted {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: begun by `new`, ended once.
            unsafe { pg_sys::tuplesort_end(self.state) };
        }
    }
}
