//! Window functions: the rows of a partition, which the executor stores. windowapi.h is not among pgrx's bindings, so
//! the functions that are needed are declared here. They are the same from PostgreSQL 15 to 19.

use std::cell::Cell;
use std::ffi::{c_int, c_void};

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Datum};

use crate::error::{Result, not_supported};
use crate::pg::call::Call;
use crate::pg::typed_value::TypedValue;
use crate::pg::versions;

unsafe extern "C-unwind" {
    fn WinGetPartitionLocalMemory(window: *mut c_void, size: usize) -> *mut c_void;
    fn WinGetCurrentPosition(window: *mut c_void) -> i64;
    fn WinGetPartitionRowCount(window: *mut c_void) -> i64;
    fn WinGetFuncArgInPartition(
        window: *mut c_void,
        argument: c_int,
        position: c_int,
        seek: c_int,
        set_mark: bool,
        is_null: *mut bool,
        is_out: *mut bool,
    ) -> Datum;
    fn WinGetFuncArgCurrent(window: *mut c_void, argument: c_int, is_null: *mut bool) -> Datum;
}

/// `WINDOW_SEEK_HEAD`: positions count from the first row of the partition.
const FROM_HEAD: c_int = 1;

/// The partition of the current row of a window function, during its call.
pub struct Window<'a> {
    object: *mut c_void,
    call: &'a Call,
}

impl<'a> Window<'a> {
    /// Returns the window of a call.
    pub fn of(call: &'a Call) -> Result<Self> {
        // SAFETY: `Call::new` promises a valid call; the node's tag is checked before it is taken for a window.
        let object = unsafe {
            let context = (*call.raw()).context;
            let is_window = !context.is_null() && (*context).type_ == pg_sys::NodeTag::T_WindowObjectData;
            is_window.then_some(context)
        };
        let Some(object) = object else {
            return Err(not_supported("a window function must be called with OVER"));
        };
        let object = object.cast();
        // SAFETY: `of` found the window in this call.
        unsafe {
            pg_guard_ffi_boundary(|| versions::refuse_null_treatment(object, call.raw()));
        }
        Ok(Self { object, call })
    }

    /// Number of rows in the partition. The executor stores them all to count them.
    pub fn rows(&self) -> i64 {
        // SAFETY: `of` found the window in this call.
        unsafe { pg_guard_ffi_boundary(|| WinGetPartitionRowCount(self.object)) }
    }

    /// Position of the current row in the partition, from 0.
    pub fn position(&self) -> i64 {
        // SAFETY: `of` found the window in this call.
        unsafe { pg_guard_ffi_boundary(|| WinGetCurrentPosition(self.object)) }
    }

    /// The value of an argument for the current row.
    pub fn argument(&self, argument: usize) -> Option<Datum> {
        let mut is_null = false;
        // SAFETY: `of` found the window in this call, whose function has such an argument.
        let value =
            unsafe { pg_guard_ffi_boundary(|| WinGetFuncArgCurrent(self.object, argument as c_int, &mut is_null)) };
        (!is_null).then_some(value)
    }

    /// The value of an argument for the row at `position`. It lies in that row or in the current memory context.
    pub fn argument_at(&mut self, argument: usize, position: u32) -> Option<TypedValue<'_>> {
        let (mut is_null, mut is_out) = (false, false);
        // SAFETY: `of` found the window in this call, whose function has such an argument; no mark is set, so no row is
        // dropped. The value is of the argument's type, and is valid until another row is read, which borrows `self`.
        unsafe {
            let value = pg_guard_ffi_boundary(|| {
                WinGetFuncArgInPartition(
                    self.object,
                    argument as c_int,
                    position as c_int,
                    FROM_HEAD,
                    false,
                    &mut is_null,
                    &mut is_out,
                )
            });
            (!is_null && !is_out).then(|| TypedValue::new(value, self.call.argument_type(argument)))
        }
    }

    /// Numbers that are kept for the partition, at first 0. `count` is the same in each call.
    pub fn numbers(&self, count: usize) -> &'a [Cell<u32>] {
        let size = count * size_of::<u32>();
        // SAFETY: PostgreSQL zeroes this memory, and keeps it until the partition ends.
        unsafe {
            let memory = pg_guard_ffi_boundary(|| WinGetPartitionLocalMemory(self.object, size));
            std::slice::from_raw_parts(memory.cast(), count)
        }
    }
}
