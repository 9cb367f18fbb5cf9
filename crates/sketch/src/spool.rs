//! Numbers that are appended piece by piece and read back in any order. They stay in memory up to a limit, and go to a
//! temporary file beyond it.

use std::marker::PhantomData;

use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::{Result, memory};

/// A temporary file. It is written once, from its start, and then read.
pub trait File {
    /// Appends `bytes`.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File).
    fn append(&mut self, bytes: &[u8]) -> Result<()>;

    /// Fills `bytes` with those at `offset`.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File).
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<()>;
}

/// In memory.
impl File for Vec<u8> {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        memory::extend(self, bytes)
    }

    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        bytes.copy_from_slice(&self[offset as usize..][..bytes.len()]);
        Ok(())
    }
}

/// Makes empty temporary files, in its own thread: it cannot be passed to another one, as files may belong to the
/// thread of a database.
#[derive(Clone, Copy)]
pub struct NewFile(fn() -> Result<Box<dyn File>>, PhantomData<*const ()>);

impl NewFile {
    /// Makes files by `make`.
    pub fn new(make: fn() -> Result<Box<dyn File>>) -> Self {
        Self(make, PhantomData)
    }

    /// Makes files in memory.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::new(|| Ok(Box::new(Vec::new())))
    }
}

/// Numbers that a file has as they lie in memory.
pub trait Number: Copy + Default + FromBytes + IntoBytes + Immutable {}

impl<T: Copy + Default + FromBytes + IntoBytes + Immutable> Number for T {}

/// The numbers in `bytes`, which are copied to `room` unless they are aligned.
pub(crate) fn numbers<'a, T: Number>(bytes: &'a [u8], room: &'a mut Vec<T>) -> Result<&'a [T]> {
    if let Ok(numbers) = <[T]>::ref_from_bytes(bytes) {
        return Ok(numbers);
    }
    let count = bytes.len() / size_of::<T>();
    memory::resize(room, count, T::default())?;
    room.as_mut_bytes().copy_from_slice(&bytes[..count * size_of::<T>()]);
    Ok(room)
}

/// Pieces of numbers, found by their offsets.
pub struct Spool<T> {
    held: Vec<T>,
    /// Maximum length of `held`.
    limit: usize,
    new_file: NewFile,
    /// The pieces after `held`, once it is full.
    file: Option<Box<dyn File>>,
    /// Number of numbers in the file.
    filed: u64,
}

impl<T: Number> Spool<T> {
    /// An empty spool that keeps up to `bytes` bytes in memory.
    pub fn new(bytes: usize, new_file: NewFile) -> Self {
        Self { held: Vec::new(), limit: bytes / size_of::<T>(), new_file, file: None, filed: 0 }
    }

    /// Number of numbers appended.
    pub(crate) fn len(&self) -> u64 {
        self.held.len() as u64 + self.filed
    }

    /// Size of the numbers appended.
    pub(crate) fn bytes(&self) -> u64 {
        self.len() * size_of::<T>() as u64
    }

    /// Appends a piece. Returns its offset.
    ///
    /// # Errors
    /// An error of the file.
    pub fn append(&mut self, piece: &[T]) -> Result<u64> {
        let place = self.len();
        if self.file.is_none() && self.held.len() + piece.len() <= self.limit {
            memory::extend(&mut self.held, piece)?;
            return Ok(place);
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert((self.new_file.0)()?),
        };
        file.append(piece.as_bytes())?;
        self.filed += piece.len() as u64;
        Ok(place)
    }

    /// Replaces `out` by the `count` numbers at `place`, which must lie in one piece.
    ///
    /// # Errors
    /// An error of the file.
    pub fn copy(&mut self, place: u64, count: usize, out: &mut Vec<T>) -> Result<()> {
        out.clear();
        memory::resize(out, count, T::default())?;
        self.read(place, out)
    }

    /// Reads the numbers at `place` into `out`, which must lie in one piece. No piece may be appended afterwards.
    ///
    /// # Errors
    /// An error of the file.
    pub fn read(&mut self, place: u64, out: &mut [T]) -> Result<()> {
        let held = self.held.len() as u64;
        match &mut self.file {
            Some(file) if place >= held => file.read((place - held) * size_of::<T>() as u64, out.as_mut_bytes()),
            _ => {
                out.copy_from_slice(&self.held[place as usize..][..out.len()]);
                Ok(())
            }
        }
    }
}
