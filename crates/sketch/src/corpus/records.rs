//! What is known of a document while a corpus is worked on: one record of fixed size.

use crate::error::Error;
use crate::memory;
use crate::signature::signature_hash;

/// What a record holds: the words of a signature, some band hashes, and a hash of the signature.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Layout {
    signature: usize,
    probes: usize,
}

/// A 64-bit hash takes two words.
const HASH: usize = 2;

impl Layout {
    /// Signatures of `signature` words, and `probes` bands.
    #[must_use]
    pub const fn new(signature: usize, probes: usize) -> Self {
        Self { signature, probes }
    }

    /// The size of a record, in words of four bytes.
    #[must_use]
    pub const fn words(self) -> usize {
        self.signature + HASH * (self.probes + 1)
    }

    /// How many bands a record holds.
    #[must_use]
    pub const fn probes(self) -> usize {
        self.probes
    }

    /// Appends the record of a document to `out`; of its `bands` the first count.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn write(self, signature: &[i32], bands: &[i64], out: &mut Vec<i32>) -> Result<(), Error> {
        memory::reserve(out, self.words())?;
        out.extend_from_slice(signature);
        let identity = signature_hash(signature);
        let hashes = bands[..self.probes].iter().map(|band| *band as u64).chain([identity]);
        out.extend(hashes.flat_map(|hash| [hash as i32, (hash >> 32) as i32]));
        Ok(())
    }

    /// Reads a record.
    #[must_use]
    pub fn read(self, words: &[i32]) -> Record<'_> {
        let (signature, hashes) = words.split_at(self.signature);
        Record { signature, hashes }
    }
}

/// A document's record.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    /// Its signature, as it is stored.
    pub signature: &'a [i32],
    hashes: &'a [i32],
}

impl Record<'_> {
    /// The hash of a band; behind the last band, that of the signature.
    #[must_use]
    pub fn hash(&self, column: usize) -> u64 {
        let words = &self.hashes[HASH * column..][..HASH];
        u64::from(words[0] as u32) | u64::from(words[1] as u32) << 32
    }

    /// Whether two documents share one of the first `bands` bands.
    #[must_use]
    pub fn shares_band(&self, bands: usize, other: &Record) -> bool {
        let (own, others) = (&self.hashes[..HASH * bands], &other.hashes[..HASH * bands]);
        own.chunks_exact(HASH).zip(others.chunks_exact(HASH)).any(|(a, b)| a == b)
    }
}

/// Records by document number, in memory.
pub struct Records {
    layout: Layout,
    words: Vec<i32>,
}

impl Records {
    /// No documents yet.
    #[must_use]
    pub const fn new(layout: Layout) -> Self {
        Self { layout, words: Vec::new() }
    }

    /// The layout of the records.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    /// Adds the next document.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn push(&mut self, signature: &[i32], bands: &[i64]) -> Result<(), Error> {
        self.layout.write(signature, bands, &mut self.words)
    }

    /// How many documents there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.len() / self.layout.words()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The bytes they take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(self.words.as_slice())
    }

    /// The record of a document.
    #[must_use]
    pub fn get(&self, document: u32) -> Record<'_> {
        let size = self.layout.words();
        self.layout.read(&self.words[document as usize * size..][..size])
    }

    /// Calls `visit(document, hash)` for each document, ascending; see [`Record::hash`].
    pub fn hashes(&self, column: usize, visit: &mut dyn FnMut(u32, u64)) {
        for (document, words) in (0..).zip(self.words.chunks_exact(self.layout.words())) {
            visit(document, self.layout.read(words).hash(column));
        }
    }
}
