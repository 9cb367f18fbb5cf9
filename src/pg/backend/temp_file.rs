//! Temporary files. PostgreSQL's temp_tablespaces and temp_file_limit apply, and a file is gone at the end of the
//! transaction whatever happens.

use pgrx::pg_sys;
use sketch::spool::{File, NewFile};

use crate::pg::memory::{unless_raised, with_files};
use crate::pg::progress::spilled;

/// A temporary file, which is appended once and read at any offset.
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

    /// Makes files for the engine.
    pub fn new_file() -> NewFile {
        NewFile::new(|| Ok(Box::new(Self::create())))
    }
}

impl File for TempFile {
    fn append(&mut self, bytes: &[u8]) -> sketch::Result<()> {
        // SAFETY: the slice is valid during the call; an I/O error or the limit raises an ERROR.
        unsafe { pg_sys::BufFileWrite(self.file, bytes.as_ptr().cast_mut().cast(), bytes.len()) };
        self.written += bytes.len() as u64;
        spilled(bytes.len() as u64);
        Ok(())
    }

    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> sketch::Result<()> {
        // SAFETY: the slice has room for its length. `BufFileSeek` splits the offset, which counts from the start of
        // the file.
        let read = unsafe {
            if pg_sys::BufFileSeek(self.file, 0, offset as pg_sys::off_t, 0) != 0 {
                0
            } else {
                pg_sys::BufFileRead(self.file, bytes.as_mut_ptr().cast(), bytes.len())
            }
        };
        if read == bytes.len() { Ok(()) } else { Err(sketch::Error::File(std::io::ErrorKind::UnexpectedEof)) }
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // SAFETY: `create` opened it, and it is closed once.
        unless_raised(|| unsafe { pg_sys::BufFileClose(self.file) });
    }
}
