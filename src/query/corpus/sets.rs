//! What the documents of a group are compared by: their signatures, or their sets.

use std::collections::HashMap;
use std::rc::Rc;

use sketch::corpus::FewSets;
use sketch::{Config, ElementHash, Scheme, ShingleSet, estimate_jaccard, memory};

use crate::error::{Result, engine};
use crate::pg::interrupts::checkpoint;
use crate::query::corpus::batches::Batch;
use crate::query::corpus::kind::Kind;

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
    pub fn few(&self, batch: &mut Batch, kind: Kind, config: &Config) -> Result<FewSets> {
        let (mut hashes, mut ends) = (Vec::new(), Vec::new());
        let config = config.with_scheme(Scheme::Fss);
        for &place in &self.places {
            checkpoint();
            batch.with_bytes(place, |bytes| kind.hashes(&config, bytes, &mut hashes))?;
            memory::push(&mut ends, hashes.len()).map_err(engine)?;
        }
        FewSets::new(&hashes, &ends).map_err(engine)
    }

    /// Their sets; `None` if they take more than `memory` bytes.
    pub fn sets(
        &self,
        batch: &mut Batch,
        kind: Kind,
        config: &Config,
        memory: usize,
    ) -> Result<Option<Vec<ShingleSet>>> {
        let mut sets = memory::with_capacity(self.places.len()).map_err(engine)?;
        let mut shingles = 0;
        for &place in &self.places {
            checkpoint();
            let set = batch.with_bytes(place, |bytes| kind.set(config, bytes))?;
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

/// Sets made as they are needed, as many as memory holds.
pub struct Cache {
    kind: Kind,
    config: Config,
    sets: HashMap<u32, Rc<ShingleSet>>,
    bytes: usize,
    limit: usize,
}

impl Cache {
    /// An empty cache of `limit` bytes.
    pub fn new(kind: Kind, config: Config, limit: usize) -> Self {
        Self { kind, config, sets: HashMap::new(), bytes: 0, limit }
    }

    /// The similarity of the documents at two places of a batch, if it is at least `threshold`.
    pub fn at_least(
        &mut self,
        batch: &mut Batch,
        a: u32,
        b: u32,
        threshold: f64,
    ) -> Result<Option<f64>> {
        let (a, b) = (self.set(batch, a)?, self.set(batch, b)?);
        Ok(a.jaccard_at_least(&b, threshold))
    }

    fn set(&mut self, batch: &mut Batch, place: u32) -> Result<Rc<ShingleSet>> {
        if let Some(set) = self.sets.get(&place) {
            return Ok(set.clone());
        }
        let set = batch.with_bytes(place, |bytes| self.kind.set(&self.config, bytes))?;
        let size = set.len() * size_of::<u64>();
        if self.bytes + size > self.limit {
            self.sets.clear();
            self.bytes = 0;
        }
        self.bytes += size;
        let set = Rc::new(set);
        memory::insert_at(&mut self.sets, place, set.clone()).map_err(engine)?;
        Ok(set)
    }
}
