//! The overlap of two texts: in memory as far as it goes, in a temporary file beyond.

use sketch::{Blocks, Config, Overlap, overlap_of_texts};

use crate::error::{Result, SqlError};
use crate::memory::of_comparison;
use crate::pg::interrupts::check_interrupts;
use crate::spool::Spool;

/// Blocks of one size, all of them in a file.
impl Blocks<SqlError> for Spool<u64> {
    fn append(&mut self, block: &[u64]) -> Result<()> {
        Self::append(self, block).map(|_| ())
    }

    fn read(&mut self, number: u32, block: &mut [u64]) -> Result<()> {
        Self::read(self, u64::from(number) * block.len() as u64, block)
    }
}

/// The numbers of shingles of two texts, and of those they share: in a temporary file where they are many.
pub fn overlap(config: &Config, a: &str, b: &str) -> Result<Overlap> {
    let (limit, mut aside) = (of_comparison(), Spool::new(0));
    overlap_of_texts(config, [a, b], limit, &mut aside, &mut check_interrupts)
}
