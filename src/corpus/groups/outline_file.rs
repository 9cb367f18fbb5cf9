//! Outlines of documents, in a file.

use sketch::corpus::Drawing;
use sketch::{Error, memory};

use crate::error::raise;
use crate::pg::temp_file::TempFile;

/// Outlines as wide as they pay, of documents of which memory holds only narrow ones. Most comparisons without success
/// read these, half a byte for each shingle at most, and not two texts.
pub struct OutlineFile {
    /// The words of one after the other.
    file: TempFile,
    /// By the place of a document in its batch; of no words, unless it was added.
    outlines: Vec<Filed>,
}

/// An outline in the file.
#[derive(Clone, Copy, Default)]
struct Filed {
    start: u64,
    words: u32,
    /// The number of elements of the set.
    elements: u32,
}

impl OutlineFile {
    /// No outlines yet.
    pub fn new() -> Self {
        Self { file: TempFile::create(), outlines: Vec::new() }
    }

    /// Adds the outline of the document at a place. Only before the first one is read.
    pub fn push(&mut self, place: u32, outline: &Drawing) -> Result<(), Error> {
        let (words, elements) = (outline.words(), outline.elements());
        let filed = Filed { start: self.file.len(), words: words.len() as u32, elements };
        let count = self.outlines.len().max(place as usize + 1);
        memory::resize(&mut self.outlines, count, Filed::default())?;
        self.outlines[place as usize] = filed;
        self.file.append(words);
        Ok(())
    }

    /// Reads the outline of the document at a place.
    pub fn read(&mut self, place: u32) -> Result<Option<Drawing>, Error> {
        let filed = self.outlines.get(place as usize).filter(|filed| filed.words > 0);
        let Some(&Filed { start, words, elements }) = filed else { return Ok(None) };
        let mut words = memory::filled(0_u64, words as usize)?;
        // Only the backend has files.
        self.file.read(start, &mut words).unwrap_or_else(|report| raise(report));
        Ok(Some(Drawing::new(words, elements)))
    }
}
