//! Searches batches of texts.

use super::BatchWork;
use crate::{Check, Result, memory};

/// A text of a batch.
#[derive(Clone, Copy, Debug)]
pub struct GivenText<'a> {
    /// The reader's number for it.
    pub number: u32,
    /// A salt by which the hashes of its scope differ from others.
    pub salt: u64,
    /// The text.
    pub text: &'a str,
    /// Known hashes, each with a number.
    pub known: &'a [(u64, u32)],
}

/// A search that adds the results for a text; each thread has its own.
pub type Finder<T> = Box<dyn FnMut(GivenText, &mut T, Check) -> Result<()> + Send>;

/// Copies of texts, later with the results.
#[derive(Default)]
pub struct TextBatch<T> {
    text: String,
    known: Vec<(u64, u32)>,
    ends: Vec<End>,
    /// The results.
    pub found: T,
}

struct End {
    number: u32,
    salt: u64,
    text: usize,
    known: usize,
}

impl<T: Default> TextBatch<T> {
    /// Removes all texts and results, but keeps the memory for texts.
    pub fn clear(&mut self) {
        self.found = T::default();
        self.text.clear();
        self.known.clear();
        self.ends.clear();
    }

    /// Appends a text.
    pub fn push(&mut self, given: GivenText) -> Result<()> {
        memory::push_str(&mut self.text, given.text)?;
        memory::extend(&mut self.known, given.known)?;
        let GivenText { number, salt, .. } = given;
        let end = End { number, salt, text: self.text.len(), known: self.known.len() };
        memory::push(&mut self.ends, end)
    }

    /// True if it has no text.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Size of its texts and their known hashes.
    pub fn bytes(&self) -> usize {
        self.text.len() + size_of_val(&*self.known) + size_of_val(&*self.ends)
    }

    /// The texts, in order.
    pub fn texts(&self) -> impl Iterator<Item = GivenText<'_>> {
        let (mut text, mut known) = (0, 0);
        self.ends.iter().map(move |end| {
            let given = GivenText {
                number: end.number,
                salt: end.salt,
                text: &self.text[text..end.text],
                known: &self.known[known..end.known],
            };
            (text, known) = (end.text, end.known);
            given
        })
    }
}

impl<T: Default + Send> BatchWork for Finder<T> {
    type Batch = TextBatch<T>;

    fn work(&mut self, batch: &mut Self::Batch, check: Check) -> Result<()> {
        let mut found = std::mem::take(&mut batch.found);
        for given in batch.texts() {
            check();
            self(given, &mut found, check)?;
        }
        batch.found = found;
        Ok(())
    }
}
