//! The hashes of texts with more shingles than memory holds: each text is cut once, and its hashes go to a file by
//! their upper bits, so that a part of the hashes of all texts is read at a time.

use super::set_outline::SetOutline;
use crate::scheme::Scheme;
use crate::shingle::each_chunk;
use crate::spool::{NewFile, Spool};
use crate::{Check, Config, Result, memory};

/// The most hashes in a piece.
const PIECE: usize = 1 << 13;

/// The most hashes in the current pieces of all parts: 8 MB.
const OPEN: usize = 1 << 20;

/// Number of words of an outline of a piece: four bits or more for each hash.
const FILTER: usize = 4 * PIECE / u64::BITS as usize;

/// The most parts.
const MOST: usize = 1 << 11;

/// The hashes of texts, in a power of two of parts.
pub struct HashParts {
    /// For each part, the hashes of the current text that are not stored yet, up to `piece` of them.
    open: Vec<Vec<u64>>,
    piece: usize,
    /// The number of the current text.
    text: u32,
    /// Part, text, place and length of each piece: in this order once they are read.
    pieces: Vec<(u16, u32, u64, u16)>,
    is_sorted: bool,
    stored: Spool<u64>,
    room: Vec<u64>,
}

impl HashParts {
    /// No hashes yet. `hashes` hashes will have about `each` in a part.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory).
    pub fn new(hashes: usize, each: usize, new_file: NewFile) -> Result<Self> {
        let parts = hashes.div_ceil(each.max(1)).clamp(2, MOST).next_power_of_two();
        let (open, piece) = (memory::filled(Vec::new(), parts)?, PIECE.min(OPEN / parts));
        let (stored, room) = (Spool::new(0, new_file), Vec::new());
        Ok(Self { open, piece, text: 0, pieces: Vec::new(), is_sorted: false, stored, room })
    }

    /// Adds the next text: the hashes of its shingles, once for each occurrence if it is a bag.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), or an error of the file.
    pub fn add_text(&mut self, config: &Config, text: &str, check: Check) -> Result<()> {
        let config = config.with_scheme(Scheme::Fss);
        each_chunk(&config, text, check, &mut |hashes| self.take(hashes, config.bag()))?;
        self.end()
    }

    /// Adds the next text, or set, by all its hashes, with any repeats, which do not count.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), or an error of the file.
    pub fn add_hashes(&mut self, hashes: &[u64], check: Check) -> Result<()> {
        for some in hashes.chunks(PIECE) {
            check();
            self.take(some, false)?;
        }
        self.end()
    }

    /// Number of parts.
    pub fn parts(&self) -> usize {
        self.open.len()
    }

    fn take(&mut self, hashes: &[u64], is_bag: bool) -> Result<()> {
        let shift = 64 - self.open.len().ilog2();
        for &hash in hashes {
            let part = (hash >> shift) as usize;
            let open = &mut self.open[part];
            memory::push(open, hash)?;
            if open.len() < self.piece {
                continue;
            }
            // Hashes that are repeated all over a text must not fill their part. Others stay in the order of the text,
            // in which similar texts have the same ones next to each other.
            if !is_bag && SetOutline::about(open, FILTER)?.least as usize <= self.piece / 2 {
                open.sort_unstable();
                open.dedup();
            }
            if self.open[part].len() > self.piece / 2 {
                self.store(part)?;
            }
        }
        Ok(())
    }

    /// Ends the current text.
    fn end(&mut self) -> Result<()> {
        (0..self.open.len()).try_for_each(|part| self.store(part))?;
        self.text += 1;
        Ok(())
    }

    fn store(&mut self, part: usize) -> Result<()> {
        let open = &mut self.open[part];
        if open.is_empty() {
            return Ok(());
        }
        let place = self.stored.append(open)?;
        memory::push(&mut self.pieces, (part as u16, self.text, place, open.len() as u16))?;
        open.clear();
        Ok(())
    }

    /// Calls `visit` with the number of a text and some of its hashes in a part, for all texts, in order. No text may
    /// be added afterwards.
    ///
    /// # Errors
    /// An error of `visit` or of the file.
    pub fn each(&mut self, part: usize, visit: &mut dyn FnMut(u32, &[u64]) -> Result<()>) -> Result<()> {
        if !std::mem::replace(&mut self.is_sorted, true) {
            self.pieces.sort_unstable();
        }
        let start = self.pieces.partition_point(|piece| (usize::from(piece.0)) < part);
        for &(_, text, place, count) in self.pieces[start..].iter().take_while(|piece| usize::from(piece.0) == part) {
            self.stored.copy(place, count.into(), &mut self.room)?;
            visit(text, &self.room)?;
        }
        Ok(())
    }
}
