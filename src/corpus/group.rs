//! A group of documents that share buckets, with all that is known of them at hand: what the
//! engine works on.

use sketch::corpus::{Corpus, ExactGroup, FewSets, Hashes};
use sketch::{Error, memory};

use crate::corpus::batch::{Bytes, Held};
use crate::corpus::sets::{Cache, Distinct, Signatures};

/// Documents of one group, numbered from 0 in their order.
pub struct Group<'a> {
    held: &'a Held,
    bytes: Bytes<'a>,
    /// The place of each document in the batch.
    places: &'a [u32],
    measure: Measure<'a>,
    threshold: f64,
    memory: usize,
    check: &'a mut dyn FnMut(),
}

/// The measures by which two documents are compared.
pub enum Measure<'a> {
    /// Not at all: all are the same.
    Same,
    /// By signatures.
    Estimated(&'a Signatures),
    /// By all shingles of a few documents.
    Few(&'a Distinct, &'a FewSets),
    /// By the shingles that some of many documents share.
    Many(&'a Distinct, &'a ExactGroup<'a>),
    /// By shingles, as many sets at a time as memory holds.
    OneByOne(&'a Distinct, &'a mut Cache),
}

impl<'a> Group<'a> {
    /// The documents at `places` of a batch; `memory` bytes for what is made of them. `check` is called
    /// often, and may unwind.
    pub fn new(
        (held, bytes): (&'a Held, Bytes<'a>),
        places: &'a [u32],
        measure: Measure<'a>,
        threshold: f64,
        memory: usize,
        check: &'a mut dyn FnMut(),
    ) -> Self {
        Self { held, bytes, places, measure, threshold, memory, check }
    }

    /// The name of a document.
    pub fn name(&self, document: u32) -> u32 {
        self.held.names[self.place(document)]
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Calls `look` with what is compared of a document, and with what it must call often.
    pub fn with_bytes<T>(
        &mut self,
        document: u32,
        look: impl FnOnce(&[u8], &mut dyn FnMut()) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let check = &mut *self.check;
        self.bytes.with(self.places[document as usize], |bytes| look(bytes, check))
    }

    fn place(&self, document: u32) -> usize {
        self.places[document as usize] as usize
    }

    fn own_hashes(&self, document: u32) -> &[u64] {
        &self.held.hashes[self.place(document) * self.held.width..][..self.held.width]
    }

    /// The similarity of two documents of a cluster, however low it is.
    pub fn measure(&mut self, a: u32, b: u32) -> Result<f64, Error> {
        Ok(self.at_least(a, b, 0.0)?.unwrap_or(0.0))
    }

    fn at_least(&mut self, a: u32, b: u32, threshold: f64) -> Result<Option<f64>, Error> {
        match &mut self.measure {
            // They have shingles, as all documents have here.
            Measure::Same => Ok(Some(1.0)),
            Measure::Estimated(signatures) => {
                Ok(Some(signatures.estimate(a, b)?).filter(|estimate| *estimate >= threshold))
            }
            Measure::Few(distinct, sets) => {
                let (a, b) = (distinct.of_document(a), distinct.of_document(b));
                Ok(sets.similarity(a, b, threshold))
            }
            Measure::Many(distinct, sets) => {
                let (a, b) = (distinct.of_document(a), distinct.of_document(b));
                Ok(sets.similarity(a, b, threshold))
            }
            Measure::OneByOne(distinct, cache) => {
                let (a, b) = (distinct.of_document(a), distinct.of_document(b));
                if a == b {
                    return Ok(Some(1.0));
                }
                let places = [a, b].map(|own| (own as u32, distinct.places[own]));
                cache.at_least(&mut self.bytes, places, threshold, self.check)
            }
        }
    }
}

impl Hashes for Group<'_> {
    type Error = Error;

    fn refused(cause: Error) -> Error {
        cause
    }

    fn documents(&self) -> u32 {
        self.places.len() as u32
    }

    fn probes(&self) -> usize {
        self.held.width - 1
    }

    fn sort_memory(&self) -> usize {
        self.memory
    }

    fn hashes(&mut self, column: usize, visit: &mut dyn FnMut(u32, u64)) -> Result<(), Error> {
        for (document, &place) in (0..).zip(self.places) {
            visit(document, self.held.hashes[place as usize * self.held.width + column]);
        }
        Ok(())
    }

    fn check_interrupts(&mut self) -> Result<(), Error> {
        (self.check)();
        Ok(())
    }
}

impl Corpus for Group<'_> {
    fn bands(&mut self, document: u32) -> Result<Vec<u64>, Error> {
        memory::copied(&self.own_hashes(document)[..self.probes()])
    }

    fn share_band(&mut self, bands: usize, a: u32, b: u32) -> Result<bool, Error> {
        let (a, b) = (&self.own_hashes(a)[..bands], &self.own_hashes(b)[..bands]);
        Ok(a.iter().zip(b).any(|(a, b)| a == b))
    }

    fn similarity(&mut self, a: u32, b: u32) -> Result<Option<f64>, Error> {
        let scopes = &self.held.scopes;
        if !scopes.is_empty() && scopes[self.place(a)] != scopes[self.place(b)] {
            return Ok(None);
        }
        let mut threshold = self.threshold;
        if !self.held.leasts.is_empty() {
            // Of two documents with thresholds of their own the greater one counts.
            let least = |document| self.held.leasts[self.place(document)];
            threshold = threshold.max(least(a)).max(least(b));
        }
        self.at_least(a, b, threshold)
    }
}
