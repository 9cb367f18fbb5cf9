//! Numbers that are appended piece by piece and read back in any order. They stay in memory up to a limit, and go to a
//! temporary file beyond it. PostgreSQL's temp_tablespaces and temp_file_limit apply, and the file is gone at the end
//! of the transaction whatever happens.

use pgrx::pg_sys;
use pgrx::prelude::*;
use sketch::memory;

use crate::error::{Result, error};
use crate::pg::memory::{unless_raised, with_files};
use crate::pg::progress::spilled;

/// Numbers that a file may store as they lie in memory.
pub trait PlainNumbers: Copy {}

impl PlainNumbers for u8 {}
impl PlainNumbers for u32 {}
impl PlainNumbers for u64 {}
impl PlainNumbers for u128 {}

/// A temporary file of numbers, appended once and read at any offset.
pub struct TempFile {
    file: *mut pg_sys::BufFile,
    written: u64,
}

impl TempFile {
    pub fn create() -> Self {
        // SAFETY: `BufFileCreateTemp` needs `PrepareTempTablespaces`, which is called before. The file and its resource
        // owner belong to the transaction, which outlives the value.
        let file = with_files(|| unsafe {
            pg_sys::PrepareTempTablespaces();
            pg_sys::BufFileCreateTemp(false)
        });
        Self { file, written: 0 }
    }

    pub fn len(&self) -> u64 {
        self.written
    }

    /// Appends `values`. Only valid before the first read.
    pub fn append<T: PlainNumbers>(&mut self, values: &[T]) {
        let bytes = std::mem::size_of_val(values);
        // SAFETY: the slice is valid during the call; an I/O error or the limit raises an ERROR.
        unsafe { pg_sys::BufFileWrite(self.file, values.as_ptr().cast_mut().cast(), bytes) };
        self.written += bytes as u64;
        spilled(bytes as u64);
    }

    /// Reads the numbers at byte `offset` into `values`.
    pub fn read<T: PlainNumbers>(&mut self, offset: u64, values: &mut [T]) -> Result<()> {
        let bytes = std::mem::size_of_val(values);
        // SAFETY: `values` has room for `bytes` bytes, and any bytes are valid numbers. `BufFileSeek` splits the
        // offset, which counts from the start of the file.
        let read = unsafe {
            if pg_sys::BufFileSeek(self.file, 0, offset as pg_sys::off_t, 0) != 0 {
                0
            } else {
                pg_sys::BufFileRead(self.file, values.as_mut_ptr().cast(), bytes)
            }
        };
        if read != bytes {
            return Err(error(
                PgSqlErrorCode::ERRCODE_IO_ERROR,
                format!("could not read {bytes} bytes at {offset} of a temporary file"),
            ));
        }
        Ok(())
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // SAFETY: `create` opened it, and it is closed once.
        unless_raised(|| unsafe { pg_sys::BufFileClose(self.file) });
    }
}

/// Pieces of numbers, found by their offsets.
pub struct Spool<T> {
    held: Vec<T>,
    /// Maximum length of `held`.
    limit: usize,
    /// The pieces after `held`, once it is full.
    file: Option<TempFile>,
}

impl<T: PlainNumbers + Default> Spool<T> {
    /// An empty spool that keeps up to `bytes` bytes in memory.
    pub fn new(bytes: usize) -> Self {
        Self { held: Vec::new(), limit: bytes / size_of::<T>(), file: None }
    }

    /// Number of numbers appended.
    pub fn len(&self) -> u64 {
        let filed = self.file.as_ref().map_or(0, TempFile::len);
        self.held.len() as u64 + filed / size_of::<T>() as u64
    }

    /// Appends a piece. Returns its offset.
    pub fn append(&mut self, piece: &[T]) -> Result<u64> {
        let place = self.len();
        if self.file.is_none() && self.held.len() + piece.len() <= self.limit {
            memory::extend(&mut self.held, piece)?;
        } else {
            self.file.get_or_insert_with(TempFile::create).append(piece);
        }
        Ok(place)
    }

    /// Replaces `out` by the `count` numbers at `place`, which must lie in one piece.
    pub fn copy(&mut self, place: u64, count: usize, out: &mut Vec<T>) -> Result<()> {
        out.clear();
        memory::resize(out, count, T::default())?;
        self.read(place, out)
    }

    /// Reads the numbers at `place` into `out`, which must lie in one piece. No piece may be appended afterwards.
    pub fn read(&mut self, place: u64, out: &mut [T]) -> Result<()> {
        let held = self.held.len() as u64;
        match &mut self.file {
            Some(file) if place >= held => file.read((place - held) * size_of::<T>() as u64, out),
            _ => {
                out.copy_from_slice(&self.held[place as usize..][..out.len()]);
                Ok(())
            }
        }
    }
}
