//! The truth about a sample of documents: their exact similarities with all others.

use sketch::{ExactSample, estimate_jaccard, memory};

use crate::error::Result;
use crate::lookup::operand::Measured;

/// The documents of a sample, numbered from 0 in the order in which they were added.
#[derive(Default)]
pub struct Truth {
    sets: ExactSample,
    /// The number of each set.
    numbers: Vec<u32>,
    signatures: Vec<(u32, Vec<i32>)>,
    slots: usize,
}

impl Truth {
    /// Adds a document.
    pub fn push(&mut self, document: Measured) -> Result<()> {
        let number = (self.numbers.len() + self.signatures.len()) as u32;
        match document {
            Measured::Set(set) => {
                memory::push(&mut self.numbers, number)?;
                self.sets.push(set).map_err(Into::into)
            }
            Measured::Signature(slots) => {
                self.slots += slots.len();
                let slots = memory::copied(&slots)?;
                memory::push(&mut self.signatures, (number, slots)).map_err(Into::into)
            }
        }
    }

    /// About how many bytes they take.
    pub fn bytes(&self) -> usize {
        self.sets.bytes() + self.slots * size_of::<i32>()
    }

    /// Calls `visit` with each document of the sample that is at least `threshold` similar to
    /// another one, and how similar: by the sets, or by the signatures where these are all there is.
    pub fn similar_to(
        &mut self,
        other: &Measured,
        threshold: f64,
        visit: &mut dyn FnMut(u32, f64),
    ) {
        match other {
            Measured::Set(set) => self.sets.similar_to(set, threshold, |place, similarity| {
                visit(self.numbers[place as usize], similarity);
            }),
            Measured::Signature(slots) => {
                for (number, own) in &self.signatures {
                    // Signatures of other lengths have no similarity.
                    let similarity = estimate_jaccard(own, slots).unwrap_or(0.0);
                    if similarity >= threshold {
                        visit(*number, similarity);
                    }
                }
            }
        }
    }
}
