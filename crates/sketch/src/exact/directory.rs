//! A directory of sorted hashes, by which a search among them is short.

use std::ops::Range;

use crate::{Result, memory};

/// The places at which hashes with the same leading bits begin: one entry for two to four hashes, so that a search
/// begins near its end.
#[derive(Debug, Default)]
pub struct Directory {
    starts: Vec<u32>,
    shift: u32,
}

impl Directory {
    /// Of less than 2^32 hashes, ascending.
    pub fn of(hashes: impl ExactSizeIterator<Item = u64>) -> Result<Self> {
        let bits = (hashes.len() / 2).max(2).ilog2();
        let shift = u64::BITS - bits;
        let mut starts = memory::with_capacity((1 << bits) + 1)?;
        let mut at = 0;
        for hash in hashes {
            while starts.len() as u64 <= hash >> shift {
                starts.push(at);
            }
            at += 1;
        }
        // The last entry is the number of hashes.
        starts.resize((1 << bits) + 1, at);
        Ok(Self { starts, shift })
    }

    /// The places where a hash is, if it is there.
    pub fn range(&self, hash: u64) -> Range<usize> {
        let leading = (hash >> self.shift) as usize;
        self.starts[leading] as usize..self.starts[leading + 1] as usize
    }
}
