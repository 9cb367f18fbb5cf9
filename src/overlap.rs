//! The overlap of two texts: in memory as far as it goes, in a temporary file beyond.

use sketch::{Blocks, Config, Overlap, overlap_of_texts};

use crate::error::{Result, SqlError};
use crate::memory::of_comparison;
use crate::pg::interrupts::check_interrupts;
use crate::pg::temp_file::TempFile;

/// The numbers of shingles of two texts, and of those they share: in a temporary file where they are many.
pub fn overlap(config: &Config, a: &str, b: &str) -> Result<Overlap> {
    struct Aside(Option<TempFile>);
    impl Blocks<SqlError> for Aside {
        fn append(&mut self, block: &[u64]) -> Result<()> {
            self.0.get_or_insert_with(TempFile::create).append(block);
            Ok(())
        }

        fn read(&mut self, number: u32, block: &mut [u64]) -> Result<()> {
            let offset = u64::from(number) * size_of_val(block) as u64;
            self.0.as_mut().map_or(Ok(()), |file| file.read(offset, block))
        }
    }
    let (limit, mut aside) = (of_comparison(), Aside(None));
    overlap_of_texts(config, [a, b], limit, &mut aside, &mut check_interrupts)
}
