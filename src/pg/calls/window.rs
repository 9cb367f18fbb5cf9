//! Window functions: the rows of a partition, as the executor has them. windowapi.h is not among
//! pgrx's bindings; the few functions needed are declared here, the same from PostgreSQL 15 to 19.

use std::cell::Cell;
use std::ffi::{c_int, c_void};

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Datum};

use crate::error::{Result, not_supported};
use crate::pg::call::Call;
use crate::pg::versions;

mod raw {
    use super::{Datum, c_int, c_void};

    unsafe extern "C-unwind" {
        pub fn WinGetPartitionLocalMemory(window: *mut c_void, size: usize) -> *mut c_void;
        pub fn WinGetCurrentPosition(window: *mut c_void) -> i64;
        pub fn WinGetPartitionRowCount(window: *mut c_void) -> i64;
        pub fn WinGetFuncArgInPartition(
            window: *mut c_void,
            argument: c_int,
            position: c_int,
            seek: c_int,
            set_mark: bool,
            is_null: *mut bool,
            is_out: *mut bool,
        ) -> Datum;
        pub fn WinGetFuncArgCurrent(window: *mut c_void, argument: c_int, is_null: *mut bool) -> Datum;
    }
}

/// `WINDOW_SEEK_HEAD`: positions count from the first row of the partition.
const FROM_HEAD: c_int = 1;

/// The partition of the row for which a window function is called.
pub struct Window {
    object: *mut c_void,
}

impl Window {
    /// The window of a call.
    pub fn of(call: &Call) -> Result<Self> {
        // SAFETY: a valid call; what a window function is called with is a node of that type.
        let object = unsafe {
            let context = (*call.raw()).context;
            let is_window = !context.is_null() && (*context).type_ == pg_sys::NodeTag::T_WindowObjectData;
            is_window.then_some(context)
        };
        let Some(object) = object else {
            return Err(not_supported("a window function must be called with OVER"));
        };
        let object = object.cast();
        // SAFETY: the window of this call.
        unsafe {
            pg_guard_ffi_boundary(|| versions::refuse_null_treatment(object, call.raw()));
        }
        Ok(Self { object })
    }

    /// The number of rows of the partition. They are all put aside by the executor.
    pub fn rows(&self) -> i64 {
        // SAFETY: the window of this call.
        unsafe { pg_guard_ffi_boundary(|| raw::WinGetPartitionRowCount(self.object)) }
    }

    /// The place of the current row in the partition, from 0.
    pub fn position(&self) -> i64 {
        // SAFETY: the window of this call.
        unsafe { pg_guard_ffi_boundary(|| raw::WinGetCurrentPosition(self.object)) }
    }

    /// An argument as the current row has it.
    pub fn argument(&self, argument: usize) -> Option<Datum> {
        let mut is_null = false;
        // SAFETY: the window of this call, which has such an argument.
        let value = unsafe {
            pg_guard_ffi_boundary(|| raw::WinGetFuncArgCurrent(self.object, argument as c_int, &mut is_null))
        };
        (!is_null).then_some(value)
    }

    /// An argument as the row at `position` has it, made in the current memory context, or in that row: it is there
    /// until another row is asked for.
    pub fn argument_at(&self, argument: usize, position: u32) -> Option<Datum> {
        let (mut is_null, mut is_out) = (false, false);
        // SAFETY: the window of this call, which has such an argument; no row is given up.
        let value = unsafe {
            pg_guard_ffi_boundary(|| {
                raw::WinGetFuncArgInPartition(
                    self.object,
                    argument as c_int,
                    position as c_int,
                    FROM_HEAD,
                    false,
                    &mut is_null,
                    &mut is_out,
                )
            })
        };
        (!is_null && !is_out).then_some(value)
    }

    /// Numbers that are kept for the partition, at first 0; `count` is the same in each call.
    pub fn numbers(&self, count: usize) -> &[Cell<u32>] {
        let size = count * size_of::<u32>();
        // SAFETY: memory that PostgreSQL keeps, zeroed at first, until the partition ends.
        unsafe {
            let memory = pg_guard_ffi_boundary(|| raw::WinGetPartitionLocalMemory(self.object, size));
            std::slice::from_raw_parts(memory.cast(), count)
        }
    }
}
