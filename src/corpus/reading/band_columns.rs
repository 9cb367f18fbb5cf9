//! The band hashes of all documents: column by column for sorting, row by row for groups.

use sketch::corpus::Hashes;

use crate::pg::temp_file::Spool;
use crate::prelude::*;

/// Documents of a block. Its part of a column is a page of the temporary file.
const BLOCK: usize = 1024;

/// Hashes by document and column, in blocks that have column after column.
pub struct BandColumns {
    width: usize,
    documents: u32,
    blocks: Spool<u64>,
    /// The block that is being filled, and at last the one that is read row by row.
    current: Vec<u64>,
    /// The number of the block that is `current`.
    at: usize,
    sort_memory: usize,
}

impl BandColumns {
    /// `width` hashes of each document; `memory` bytes for them, and `sort_memory` for sorting.
    pub fn new(width: usize, memory: usize, sort_memory: usize) -> Result<Self> {
        Ok(Self {
            width,
            documents: 0,
            blocks: Spool::new(memory),
            current: memory::filled(0, width * BLOCK)?,
            at: 0,
            sort_memory,
        })
    }

    /// Adds the hashes of the next document.
    pub fn push(&mut self, hashes: impl Iterator<Item = u64>) -> Result<()> {
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

    /// Puts the block away that is being filled, also when no more documents come.
    pub fn finish(&mut self) -> Result<()> {
        self.blocks.append(&self.current)?;
        self.at += 1;
        Ok(())
    }

    /// Appends the hashes of a document to `out`. Documents are asked for in ascending order.
    pub fn row(&mut self, document: u32, out: &mut Vec<u64>) -> Result<()> {
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
    type Error = SqlError;

    fn documents(&self) -> u32 {
        self.documents
    }

    fn probes(&self) -> usize {
        self.width - 1
    }

    fn sort_memory(&self) -> usize {
        self.sort_memory
    }

    fn hashes(&mut self, column: usize, visit: &mut dyn FnMut(u32, u64)) -> Result<()> {
        let mut hashes = [0; BLOCK];
        for first in (0..self.documents).step_by(BLOCK) {
            let place = first as usize * self.width + column * BLOCK;
            self.blocks.read(place as u64, &mut hashes)?;
            (first..self.documents)
                .zip(&hashes)
                .for_each(|(document, &hash)| visit(document, hash));
        }
        Ok(())
    }

    fn check_interrupts(&mut self) -> Result<()> {
        check_interrupts();
        Ok(())
    }
}
