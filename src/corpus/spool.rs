//! Bytes that are written once, piece by piece, and read back in any order: in memory, and what that does not hold in a
//! file.

use sketch::memory;

use crate::error::Result;
use crate::pg::temp_file::TempFile;

/// Pieces of bytes, each by its place.
pub struct Spool {
    held: Vec<u8>,
    /// Bytes that `held` may have.
    limit: usize,
    /// The pieces behind those in memory.
    file: Option<TempFile>,
}

impl Spool {
    /// No bytes; of those to come memory holds `limit`.
    pub fn new(limit: usize) -> Self {
        Self { held: Vec::new(), limit, file: None }
    }

    /// Appends a piece. Returns its place.
    pub fn append(&mut self, bytes: &[u8]) -> Result<u64> {
        if self.file.is_none() && self.held.len() + bytes.len() <= self.limit {
            let place = self.held.len() as u64;
            memory::extend(&mut self.held, bytes)?;
            return Ok(place);
        }
        let file = self.file.get_or_insert_with(TempFile::create);
        let place = self.held.len() as u64 + file.len();
        file.append(bytes);
        Ok(place)
    }

    /// Reads the piece of so many bytes at a place into `out`. No piece is appended afterwards.
    pub fn read(&mut self, place: u64, size: usize, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        memory::resize(out, size, 0)?;
        let held = self.held.len() as u64;
        match &mut self.file {
            Some(file) if place >= held => file.read(place - held, out),
            _ => {
                out.copy_from_slice(&self.held[place as usize..][..size]);
                Ok(())
            }
        }
    }
}
