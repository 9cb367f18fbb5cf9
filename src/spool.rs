//! Numbers that are written once, piece by piece, and read back in any order: in memory, and beyond it in a file.

use sketch::memory;

use crate::error::Result;
use crate::pg::temp_file::{PlainNumbers, TempFile};

/// Pieces of numbers, each by its place.
pub struct Spool<T> {
    held: Vec<T>,
    /// Numbers that `held` may have.
    limit: usize,
    /// The pieces behind those in memory.
    file: Option<TempFile>,
}

impl<T: PlainNumbers + Default> Spool<T> {
    /// Nothing yet; memory holds what fits into so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self { held: Vec::new(), limit: bytes / size_of::<T>(), file: None }
    }

    /// The number of all numbers.
    fn len(&self) -> u64 {
        let filed = self.file.as_ref().map_or(0, TempFile::len);
        self.held.len() as u64 + filed / size_of::<T>() as u64
    }

    /// Appends a piece. Returns its place.
    pub fn append(&mut self, piece: &[T]) -> Result<u64> {
        let place = self.len();
        if self.file.is_none() && self.held.len() + piece.len() <= self.limit {
            memory::extend(&mut self.held, piece)?;
        } else {
            self.file.get_or_insert_with(TempFile::create).append(piece);
        }
        Ok(place)
    }

    /// Replaces `out` by so many numbers from a place on, which are one piece or part of one.
    pub fn copy(&mut self, place: u64, count: usize, out: &mut Vec<T>) -> Result<()> {
        out.clear();
        memory::resize(out, count, T::default())?;
        self.read(place, out)
    }

    /// Reads a piece, or a part of one, from a place on. No piece is appended afterwards.
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
