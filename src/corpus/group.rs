//! A group of documents that share buckets, with all that is known of them at hand: what the
//! engine works on.

use pgrx::pg_sys::panic::ErrorReport;
use sketch::corpus::{Corpus, ExactGroup, FewSets, Hashes};
use sketch::memory;

use crate::corpus::batch::Batch;
use crate::corpus::sets::{Cache, Distinct, Signatures};
use crate::error::{Result, engine};
use crate::pg::interrupts::check_interrupts;

/// Documents of one group, numbered from 0 in their order.
pub struct Group<'a> {
    batch: &'a mut Batch,
    /// Where each is in the batch.
    places: &'a [u32],
    measure: Measure<'a>,
    threshold: f64,
    memory: usize,
}

/// How two documents are compared.
pub enum Measure<'a> {
    /// By signatures.
    Estimated(&'a Signatures),
    /// By all shingles of a few documents.
    Few(&'a Distinct, &'a FewSets),
    /// By the shingles that some of many documents share.
    Many(&'a Distinct, &'a ExactGroup<'a>),
    /// By shingles, as many sets at a time as memory holds.
    OneByOne(&'a mut Cache),
}

impl<'a> Group<'a> {
    /// The documents at `places` of a batch; `memory` bytes for what is made of them.
    pub fn new(
        batch: &'a mut Batch,
        places: &'a [u32],
        measure: Measure<'a>,
        threshold: f64,
        memory: usize,
    ) -> Self {
        Self { batch, places, measure, threshold, memory }
    }

    /// The name of a document.
    pub fn name(&self, document: u32) -> u32 {
        self.batch.names[self.place(document)]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Calls `look` with what is compared of a document.
    pub fn with_bytes<T>(
        &mut self,
        document: u32,
        look: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<T> {
        self.batch.with_bytes(self.places[document as usize], look)
    }

    fn place(&self, document: u32) -> usize {
        self.places[document as usize] as usize
    }

    fn own_hashes(&self, document: u32) -> &[u64] {
        &self.batch.hashes[self.place(document) * self.batch.width..][..self.batch.width]
    }

    /// The similarity of two documents of a cluster, however low it is.
    pub fn measure(&mut self, a: u32, b: u32) -> Result<f64> {
        Ok(self.at_least(a, b, 0.0)?.unwrap_or(0.0))
    }

    fn at_least(&mut self, a: u32, b: u32, threshold: f64) -> Result<Option<f64>> {
        match &mut self.measure {
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
            Measure::OneByOne(cache) => {
                let place = |document: u32| (document, self.places[document as usize]);
                cache.at_least(self.batch, place(a), place(b), threshold)
            }
        }
    }
}

impl Hashes for Group<'_> {
    type Error = ErrorReport;

    fn refused(cause: sketch::Error) -> ErrorReport {
        engine(cause)
    }

    fn documents(&self) -> u32 {
        self.places.len() as u32
    }

    fn probes(&self) -> usize {
        self.batch.width - 1
    }

    fn sort_memory(&self) -> usize {
        self.memory
    }

    fn hashes(&mut self, column: usize, visit: &mut dyn FnMut(u32, u64)) -> Result<()> {
        for (document, &place) in (0..).zip(self.places) {
            visit(document, self.batch.hashes[place as usize * self.batch.width + column]);
        }
        Ok(())
    }

    fn check_interrupts(&mut self) -> Result<()> {
        check_interrupts();
        Ok(())
    }
}

impl Corpus for Group<'_> {
    fn bands(&mut self, document: u32) -> Result<Vec<u64>> {
        memory::copied(&self.own_hashes(document)[..self.probes()]).map_err(engine)
    }

    fn share_band(&mut self, bands: usize, a: u32, b: u32) -> Result<bool> {
        let (a, b) = (&self.own_hashes(a)[..bands], &self.own_hashes(b)[..bands]);
        Ok(a.iter().zip(b).any(|(a, b)| a == b))
    }

    fn similarity(&mut self, a: u32, b: u32) -> Result<Option<f64>> {
        let scopes = &self.batch.scopes;
        if !scopes.is_empty() && scopes[self.place(a)] != scopes[self.place(b)] {
            return Ok(None);
        }
        let mut threshold = self.threshold;
        if !self.batch.leasts.is_empty() {
            // Of two documents with thresholds of their own the greater one counts.
            let least = |document| self.batch.leasts[self.place(document)];
            threshold = threshold.max(least(a)).max(least(b));
        }
        self.at_least(a, b, threshold)
    }
}
