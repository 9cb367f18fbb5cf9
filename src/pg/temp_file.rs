//! A temporary file of fixed-size records, under PostgreSQL's temp_tablespaces and
//! temp_file_limit, gone at the end of the query whatever happens.

use pgrx::pg_sys;
use pgrx::prelude::*;

use crate::error::{Result, error};

/// Records of `i32`s, appended once and read at random.
pub struct TempFile {
    file: *mut pg_sys::BufFile,
    record: usize,
    written: u64,
}

impl TempFile {
    /// An empty file of records of `record` values.
    pub fn create(record: usize) -> Self {
        // SAFETY: BufFileCreateTemp needs the tablespaces to be prepared.
        let file = unsafe {
            pg_sys::PrepareTempTablespaces();
            pg_sys::BufFileCreateTemp(false)
        };
        Self { file, record, written: 0 }
    }

    /// Appends a record. Only before the first read.
    pub fn append(&mut self, values: &[i32]) {
        debug_assert_eq!(values.len(), self.record);
        // SAFETY: the bytes are valid for the call; an I/O error or the limit is an ERROR.
        unsafe {
            let bytes = std::mem::size_of_val(values);
            pg_sys::BufFileWrite(self.file, values.as_ptr().cast_mut().cast(), bytes);
        }
        self.written += 1;
    }

    /// Reads record `number` into `values`.
    pub fn read(&mut self, number: u64, values: &mut [i32]) -> Result<()> {
        let bytes = self.record * size_of::<i32>();
        let offset = number * bytes as u64;
        // SAFETY: `values` has room for one record; the offset lies within what was written.
        let read = unsafe {
            if pg_sys::BufFileSeek(self.file, 0, offset as pg_sys::off_t, 0) != 0 {
                0
            } else {
                pg_sys::BufFileRead(self.file, values.as_mut_ptr().cast(), bytes)
            }
        };
        if number >= self.written || read != bytes {
            return Err(error(
                PgSqlErrorCode::ERRCODE_IO_ERROR,
                format!("could not read record {number} of {} of a temporary file", self.written),
            ));
        }
        Ok(())
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: created in `create`, closed once.
            unsafe { pg_sys::BufFileClose(self.file) };
        }
    }
}
