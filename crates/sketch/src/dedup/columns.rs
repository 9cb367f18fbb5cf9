//! Hashes by document and column, in blocks that are stored by column.

use super::host::Process;
use crate::corpus::Hashes;
use crate::spool::Spool;
use crate::{Result, memory};

/// Number of documents in a block. A block's part of a column is a page of the temporary file.
const BLOCK: usize = 1024;

/// Hashes by document and column.
pub(super) struct BandColumns {
    width: usize,
    documents: u32,
    blocks: Spool<u64>,
    /// The block that is being filled, and later the block that is read by row.
    current: Vec<u64>,
    /// Number of the block in `current`.
    at: usize,
    memory: usize,
    check: fn(),
}

impl BandColumns {
    /// For `width` hashes of each document, with `memory` bytes for them, and as many for sorting.
    pub(super) fn new(width: usize, memory: usize, process: &Process) -> Result<Self> {
        Ok(Self {
            width,
            documents: 0,
            blocks: Spool::new(memory, process.new_file),
            current: memory::filled(0, width * BLOCK)?,
            at: 0,
            memory,
            check: process.check(),
        })
    }

    /// Appends the hashes of the next document.
    pub(super) fn push(&mut self, hashes: impl Iterator<Item = u64>) -> Result<()> {
        let place = self.documents as usize % BLOCK;
        if place == 0 && self.documents > 0 {
            self.finish()?;
        }
        for (column, hash) in hashes.take(self.width).enumerate() {
            self.current[column * BLOCK + place] = hash;
        }
        self.documents += 1;
        Ok(())
    }

    /// Gives all documents, which fit into a block, the same hash of their first band: every two of them share it.
    pub(super) fn join(&mut self) {
        self.current[..self.documents as usize].fill(0);
    }

    /// Stores the current block, also at the end of documents.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.blocks.append(&self.current)?;
        self.at += 1;
        Ok(())
    }

    /// Appends the hashes of a document to `out`. Documents must be read in ascending order.
    pub(super) fn row(&mut self, document: u32, out: &mut Vec<u64>) -> Result<()> {
        let (block, place) = (document as usize / BLOCK, document as usize % BLOCK);
        if block != self.at {
            self.blocks.read((block * self.current.len()) as u64, &mut self.current)?;
            self.at = block;
        }
        memory::reserve(out, self.width)?;
        out.extend((0..self.width).map(|column| self.current[column * BLOCK + place]));
        Ok(())
    }
}

impl Hashes for BandColumns {
    fn documents(&self) -> u32 {
        self.documents
    }

    fn probes(&self) -> usize {
        self.width - 1
    }

    fn sort_memory(&self) -> usize {
        self.memory
    }

    fn hashes(&mut self, column: usize, visit: &mut dyn FnMut(u32, u64)) -> Result<()> {
        let mut hashes = [0; BLOCK];
        for first in (0..self.documents).step_by(BLOCK) {
            let place = first as usize * self.width + column * BLOCK;
            self.blocks.read(place as u64, &mut hashes)?;
            (first..self.documents).zip(&hashes).for_each(|(document, &hash)| visit(document, hash));
        }
        Ok(())
    }

    fn check_interrupts(&mut self) {
        (self.check)();
    }
}
