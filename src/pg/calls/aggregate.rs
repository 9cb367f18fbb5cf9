//! The state of an aggregate: a value that PostgreSQL hands on as `internal`, in the memory that
//! belongs to the group. PostgreSQL counts that memory (a HashAggregate spills by it) and frees
//! it, also after an ERROR; so a state must have no destructor.

use std::ptr::NonNull;

use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::*;

use crate::error::{Result, error};
use crate::pg::bytes::allocatable;
use crate::pg::call::Call;

#[derive(Clone, Copy)]
pub struct Aggregate(pg_sys::MemoryContext);

impl Aggregate {
    /// The aggregate on whose behalf PostgreSQL calls.
    pub fn of(call: &Call) -> Result<Self> {
        let mut context = std::ptr::null_mut();
        // SAFETY: a valid call; the out parameter is valid.
        let kind = unsafe { pg_sys::AggCheckCallContext(call.raw(), &mut context) };
        if kind == 0 {
            return Err(error(
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                "aggregate function called in non-aggregate context",
            ));
        }
        Ok(Self(context))
    }

    /// An aggregate whose states live no longer than this call: deserialised ones.
    pub fn short_lived(self) -> Self {
        // SAFETY: reading the current memory context.
        Self(unsafe { pg_sys::CurrentMemoryContext })
    }

    /// Makes `state` the state of the group.
    pub fn put<S>(self, state: S) -> Datum {
        const {
            assert!(!std::mem::needs_drop::<S>(), "nobody would drop it");
            assert!(align_of::<S>() <= 8, "palloc's alignment");
        }
        // SAFETY: a chunk of that size, aligned for it, which is written before it is read.
        unsafe {
            let place = pg_sys::MemoryContextAlloc(self.0, size_of::<S>()).cast::<S>();
            place.write(state);
            Datum::from(place)
        }
    }
}

/// The state behind an `internal` datum.
///
/// # Safety
/// It must be a non-null datum that [`Aggregate::put`] made of an `S`: an argument that is declared
/// `internal` is one, if only aggregates of that state are declared with the function (SQL has no
/// `internal` values but NULL, and superusers alone make such aggregates). No other
/// reference to the state may be in use, and `'a` must end with the call.
pub unsafe fn state<'a, S>(datum: Datum) -> &'a mut S {
    // SAFETY: `put` has made the datum of an `S` that nobody else refers to, as # Safety asks; it lives as long as its
    // group.
    unsafe { &mut *datum.cast_mut_ptr::<S>() }
}

/// A growing array in the memory of an aggregate: a `Vec` that needs not be dropped.
pub struct Buffer<T: Copy> {
    data: NonNull<T>,
    len: usize,
    capacity: usize,
}

impl<T: Copy> Buffer<T> {
    /// An empty one, which takes no memory.
    pub const fn new() -> Self {
        const { assert!(align_of::<T>() <= 8, "palloc's alignment") }
        Self { data: NonNull::dangling(), len: 0, capacity: 0 }
    }

    pub fn as_slice(&self) -> &[T] {
        // SAFETY: the chunk holds `capacity >= len` elements, of which `len` were written; without one `len` is 0.
        unsafe { NonNull::slice_from_raw_parts(self.data, self.len).as_ref() }
    }

    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: the chunk holds `len` written elements, and is borrowed mutably; without one `len` is 0.
        unsafe { NonNull::slice_from_raw_parts(self.data, self.len).as_mut() }
    }

    /// Adds values, in memory of `aggregate`.
    pub fn extend(&mut self, values: &[T], aggregate: Aggregate) {
        let len = self.len + values.len();
        if len > self.capacity {
            self.reserve(len.next_power_of_two().max(4), aggregate);
        }
        // SAFETY: room for `len` elements; `values` is no part of this chunk, which is borrowed
        // mutably.
        unsafe {
            let end = self.data.as_ptr().add(self.len);
            std::ptr::copy_nonoverlapping(values.as_ptr(), end, values.len());
        }
        self.len = len;
    }

    /// Forgets the values, and keeps the memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    fn reserve(&mut self, capacity: usize, aggregate: Aggregate) {
        let bytes = allocatable(capacity * size_of::<T>());
        // SAFETY: a new chunk, or the old one grown where it was made; both raise an error
        // instead of returning null, and leave the buffer as it was.
        self.data = unsafe {
            let chunk = match self.capacity {
                0 => pg_sys::MemoryContextAlloc(aggregate.0, bytes),
                _ => pg_sys::repalloc(self.data.as_ptr().cast(), bytes),
            };
            NonNull::new_unchecked(chunk.cast())
        };
        self.capacity = capacity;
    }
}
