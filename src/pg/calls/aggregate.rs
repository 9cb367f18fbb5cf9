//! The state of an aggregate: a value that PostgreSQL passes on as `internal`, in the memory of the group. PostgreSQL
//! counts that memory (a HashAggregate spills by it) and frees it, also after an ERROR. So a state must not have a
//! destructor.

use std::ptr::NonNull;

use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::*;

use crate::error::{Result, error};
use crate::pg::bytes::allocatable;
use crate::pg::call::Call;

#[derive(Clone, Copy)]
pub struct Aggregate(pg_sys::MemoryContext);

impl Aggregate {
    /// Returns the aggregate that `call` belongs to.
    pub fn of(call: &Call) -> Result<Self> {
        let mut context = std::ptr::null_mut();
        // SAFETY: `Call::new` promises a valid call; `context` is a local variable.
        let kind = unsafe { pg_sys::AggCheckCallContext(call.raw(), &mut context) };
        if kind == 0 {
            return Err(error(
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                "aggregate function called in non-aggregate context",
            ));
        }
        Ok(Self(context))
    }

    /// An aggregate whose states live no longer than this call, as deserialised ones do.
    pub fn short_lived(self) -> Self {
        // SAFETY: reads a global of this backend.
        Self(unsafe { pg_sys::CurrentMemoryContext })
    }

    /// Makes `state` the state of the group.
    pub fn put<S>(self, state: S) -> Datum {
        const {
            assert!(!std::mem::needs_drop::<S>(), "nobody would drop it");
            assert!(align_of::<S>() <= 8, "palloc's alignment");
        }
        // SAFETY: `palloc` returns a chunk of this size, aligned for `S`, which is written before it is read.
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
/// `datum` is a non-null datum that [`Aggregate::put`] made of an `S`. An argument that is declared `internal` is one
/// if the function is declared only for aggregates with that state: SQL has no `internal` values but NULL, and only
/// superusers create such aggregates. No other reference to the state is in use, and `'a` ends with the call.
pub unsafe fn state<'a, S>(datum: Datum) -> &'a mut S {
    // SAFETY: `put` made the datum of an `S` with no other reference, as # Safety asks; it lives as long as its group.
    unsafe { &mut *datum.cast_mut_ptr::<S>() }
}

/// A growing array in the memory of an aggregate: a `Vec` without a destructor.
pub struct Buffer<T: Copy> {
    data: NonNull<T>,
    len: usize,
    capacity: usize,
}

impl<T: Copy> Buffer<T> {
    /// An empty buffer, which takes no memory.
    pub const fn new() -> Self {
        const { assert!(align_of::<T>() <= 8, "palloc's alignment") }
        Self { data: NonNull::dangling(), len: 0, capacity: 0 }
    }

    pub fn as_slice(&self) -> &[T] {
        // SAFETY: the chunk holds `capacity >= len` elements, and `len` of them are written; without a chunk `len` is
        // 0.
        unsafe { NonNull::slice_from_raw_parts(self.data, self.len).as_ref() }
    }

    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: the chunk holds `len` written elements and is borrowed mutably; without a chunk `len` is 0.
        unsafe { NonNull::slice_from_raw_parts(self.data, self.len).as_mut() }
    }

    /// Appends `values`, in the memory of `aggregate`.
    pub fn extend(&mut self, values: &[T], aggregate: Aggregate) {
        let len = self.len + values.len();
        if len > self.capacity {
            self.reserve(len.next_power_of_two().max(4), aggregate);
        }
        // SAFETY: `reserve` made room for `values`, which cannot lie in this chunk, since it is borrowed mutably.
        unsafe {
            let end = self.data.as_ptr().add(self.len);
            std::ptr::copy_nonoverlapping(values.as_ptr(), end, values.len());
        }
        self.len = len;
    }

    /// Removes the values, and keeps the memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    fn reserve(&mut self, capacity: usize, aggregate: Aggregate) {
        let bytes = allocatable(capacity * size_of::<T>());
        // SAFETY: a new chunk, or the old one grown in its own context. Both raise an ERROR instead of returning null,
        // and then leave the buffer as it was.
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
