//! What the documents of a group are compared by: their signatures, or their sets.

use std::collections::HashMap;
use std::rc::Rc;

use sketch::corpus::{FewSets, Outlines};
use sketch::{Config, ElementHash, Scheme, ShingleSet, estimate_jaccard, memory};

use crate::corpus::batch::Batch;
use crate::corpus::reader::Reader;
use crate::error::{Result, engine};
use crate::pg::interrupts::check_interrupts;

/// The signatures of a group.
pub struct Signatures {
    words: Vec<i32>,
    /// Words of each.
    slots: usize,
}

impl Signatures {
    /// Those of the documents at `places`.
    pub fn of(batch: &mut Batch, places: &[u32], slots: usize) -> Result<Self> {
        let mut words = memory::with_capacity(places.len() * slots).map_err(engine)?;
        for &place in places {
            batch.with_bytes(place, |bytes| {
                let own = bytes.as_chunks().0.iter().map(|slot| i32::from_ne_bytes(*slot));
                words.extend(own);
                Ok(())
            })?;
        }
        Ok(Self { words, slots })
    }

    /// The estimated similarity of two documents.
    pub fn estimate(&self, a: u32, b: u32) -> Result<f64> {
        let of = |document: u32| &self.words[document as usize * self.slots..][..self.slots];
        estimate_jaccard(of(a), of(b)).map_err(engine)
    }
}

/// The documents of a group that are not the same to the byte as an earlier one.
pub struct Distinct {
    /// Their places in the batch.
    pub places: Vec<u32>,
    /// Which of them each document is the same as.
    of: Vec<u32>,
}

impl Distinct {
    /// Those at `places`.
    pub fn of(batch: &mut Batch, places: &[u32]) -> Result<Self> {
        let mut of = same(batch, places)?;
        let mut distinct = Vec::new();
        for document in 0..places.len() {
            let first = of[document] as usize;
            if first < document {
                of[document] = of[first];
            } else {
                of[document] = distinct.len() as u32;
                memory::push(&mut distinct, places[document]).map_err(engine)?;
            }
        }
        Ok(Self { places: distinct, of })
    }

    /// Which of the distinct ones a document is.
    pub fn of_document(&self, document: u32) -> usize {
        self.of[document as usize] as usize
    }

    /// Their bytes.
    pub fn bytes(&self, batch: &Batch) -> usize {
        self.places.iter().map(|place| batch.size(*place)).sum()
    }

    /// Their sets, without sorting.
    pub fn few(&self, batch: &mut Batch, reader: Reader, config: &Config) -> Result<FewSets> {
        let (mut hashes, mut ends) = (Vec::new(), Vec::new());
        let config = config.with_scheme(Scheme::Fss);
        for &place in &self.places {
            check_interrupts();
            batch.with_bytes(place, |bytes| reader.hashes(&config, bytes, &mut hashes))?;
            memory::push(&mut ends, hashes.len()).map_err(engine)?;
        }
        FewSets::new(&hashes, &ends).map_err(engine)
    }

    /// Their sets; `None` if they take more than `memory` bytes.
    pub fn sets(
        &self,
        batch: &mut Batch,
        reader: Reader,
        config: &Config,
        memory: usize,
    ) -> Result<Option<Vec<ShingleSet>>> {
        let mut sets = memory::with_capacity(self.places.len()).map_err(engine)?;
        let mut shingles = 0;
        for &place in &self.places {
            check_interrupts();
            let set = batch.with_bytes(place, |bytes| reader.set(config, bytes))?;
            shingles += set.len();
            if shingles * size_of::<u64>() > memory {
                return Ok(None);
            }
            sets.push(set);
        }
        Ok(Some(sets))
    }
}

/// For each document the first one of the same bytes.
fn same(batch: &mut Batch, places: &[u32]) -> Result<Vec<u32>> {
    let mut same = memory::collect(0..places.len() as u32).map_err(engine)?;
    let mut order = memory::with_capacity(places.len()).map_err(engine)?;
    for (document, &place) in (0..).zip(places) {
        let hash = batch.with_bytes(place, |bytes| Ok(ElementHash::Xxh3.hash(bytes)))?;
        order.push((hash, batch.size(place), document));
    }
    order.sort_unstable();
    for copies in order.chunk_by(|a: &(u64, usize, u32), b| (a.0, a.1) == (b.0, b.1)) {
        for &(_, _, document) in copies {
            same[document as usize] = copies[0].2;
        }
    }
    Ok(same)
}

/// Sets made as they are needed, as many as memory holds, and outlines of all that were.
pub struct Cache {
    reader: Reader,
    config: Config,
    outlines: Outlines,
    /// Those that were used of late, and those that were used before.
    young: Sets,
    old: Sets,
    /// Bytes that each of the two may have.
    limit: usize,
}

/// Sets by document.
#[derive(Default)]
struct Sets {
    sets: HashMap<u32, Rc<ShingleSet>>,
    bytes: usize,
}

impl Cache {
    /// An empty cache for so many documents, of `memory` bytes.
    pub fn new(reader: Reader, config: Config, documents: usize, memory: usize) -> Result<Self> {
        let outlines = Outlines::new(documents, memory / 2).map_err(engine)?;
        let (young, old) = (Sets::default(), Sets::default());
        Ok(Self { reader, config, outlines, young, old, limit: memory / 4 })
    }

    /// The similarity of two documents at their places of a batch, if it is at least `threshold`.
    pub fn at_least(
        &mut self,
        batch: &mut Batch,
        (a, place_a): (u32, u32),
        (b, place_b): (u32, u32),
        threshold: f64,
    ) -> Result<Option<f64>> {
        for (document, place) in [(a, place_a), (b, place_b)] {
            if !self.outlines.has(document as usize) {
                let set = self.set(batch, document, place)?;
                self.outlines.draw(document as usize, &set);
            }
        }
        if !self.outlines.may_reach(a as usize, b as usize, threshold) {
            return Ok(None);
        }
        let (a, b) = (self.set(batch, a, place_a)?, self.set(batch, b, place_b)?);
        Ok(a.jaccard_at_least(&b, threshold))
    }

    fn set(&mut self, batch: &mut Batch, document: u32, place: u32) -> Result<Rc<ShingleSet>> {
        if let Some(set) = self.young.sets.get(&document) {
            return Ok(set.clone());
        }
        let set = match self.old.sets.remove(&document) {
            Some(set) => set,
            None => Rc::new(batch.with_bytes(place, |bytes| self.reader.set(&self.config, bytes))?),
        };
        let size = set.len() * size_of::<u64>();
        if self.young.bytes + size > self.limit {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.bytes += size;
        memory::insert_at(&mut self.young.sets, document, set.clone()).map_err(engine)?;
        Ok(set)
    }
}
