//! A group of documents that share buckets, with all that is known of them at hand: what the
//! engine works on.

use std::collections::HashMap;
use std::rc::Rc;

use pgrx::pg_sys::panic::ErrorReport;
use sketch::corpus::{Corpus, Hashes};
use sketch::{Config, ElementHash, ShingleSet, estimate_jaccard, memory};

use crate::error::{Result, engine};
use crate::functions::checkpoint;
use crate::query::corpus::arguments::{Plan, Verify};
use crate::query::corpus::batches::Batch;
use crate::query::corpus::kind::Kind;

/// Documents of one group, numbered from 0 in their order.
pub struct Group<'a> {
    batch: &'a mut Batch,
    /// Where each is in the batch.
    places: Vec<u32>,
    measure: Measure,
    threshold: f64,
    memory: usize,
}

/// How two documents are compared.
enum Measure {
    /// By signatures.
    Estimate(Vec<i32>, usize),
    /// By shingles.
    Exact(Sets),
}

/// The shingles of documents, as many as memory holds.
struct Sets {
    kind: Kind,
    config: Config,
    /// The first document of the same text as each.
    same: Vec<u32>,
    sets: HashMap<u32, Rc<ShingleSet>>,
    bytes: usize,
}

impl<'a> Group<'a> {
    /// The documents at `places` of a batch.
    pub fn new(
        batch: &'a mut Batch,
        places: Vec<u32>,
        plan: &Plan,
        memory: usize,
    ) -> Result<Self> {
        let measure = match plan.verify {
            Verify::Signature => {
                let slots = plan.config.num_perm();
                let mut signatures = memory::with_capacity(places.len() * slots).map_err(engine)?;
                for &place in &places {
                    batch.with_bytes(place, |bytes| {
                        let slots = bytes.chunks_exact(size_of::<i32>());
                        signatures.extend(slots.map(|b| i32::from_ne_bytes([b[0], b[1], b[2], b[3]])));
                        Ok(())
                    })?;
                }
                Measure::Estimate(signatures, slots)
            }
            Verify::Exact => {
                let same = same(batch, &places)?;
                let (kind, config) = (plan.kind, plan.config.clone());
                Measure::Exact(Sets { kind, config, same, sets: HashMap::new(), bytes: 0 })
            }
        };
        Ok(Self { batch, places, measure, threshold: plan.threshold, memory })
    }

    /// The name of a document.
    pub fn name(&self, document: u32) -> u32 {
        self.batch.names[self.place(document)]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    fn place(&self, document: u32) -> usize {
        self.places[document as usize] as usize
    }

    fn own_hashes(&self, document: u32) -> &[u64] {
        &self.batch.hashes[self.place(document) * self.batch.width..][..self.batch.width]
    }

    /// The similarity of two documents of a cluster, however low it is.
    pub fn measure(&mut self, a: u32, b: u32) -> Result<f64> {
        match &mut self.measure {
            Measure::Estimate(signatures, slots) => estimate(signatures, *slots, a, b),
            Measure::Exact(sets) => {
                let (a, b) = (sets.same[a as usize], sets.same[b as usize]);
                if a == b {
                    return Ok(1.0);
                }
                let (a, b) = (self.set(a)?, self.set(b)?);
                Ok(a.jaccard(&b).unwrap_or(0.0))
            }
        }
    }

    fn set(&mut self, document: u32) -> Result<Rc<ShingleSet>> {
        let Measure::Exact(sets) = &mut self.measure else {
            return Ok(Rc::default());
        };
        if let Some(set) = sets.sets.get(&document) {
            return Ok(set.clone());
        }
        let place = self.places[document as usize];
        let set = Rc::new(self.batch.with_bytes(place, |bytes| sets.kind.set(&sets.config, bytes))?);
        sets.bytes += set.len() * size_of::<u64>();
        if sets.bytes > self.memory {
            sets.sets.clear();
            sets.bytes = set.len() * size_of::<u64>();
        }
        memory::insert_at(&mut sets.sets, document, set.clone()).map_err(engine)?;
        Ok(set)
    }
}

fn estimate(signatures: &[i32], slots: usize, a: u32, b: u32) -> Result<f64> {
    let of = |document: u32| &signatures[document as usize * slots..][..slots];
    estimate_jaccard(of(a), of(b)).map_err(engine)
}

/// For each document the first one of the same text.
fn same(batch: &mut Batch, places: &[u32]) -> Result<Vec<u32>> {
    let mut same = memory::collect(0..places.len() as u32).map_err(engine)?;
    let mut order = memory::with_capacity(places.len()).map_err(engine)?;
    for (document, &place) in (0..).zip(places) {
        let hash = batch.with_bytes(place, |bytes| Ok(ElementHash::Xxh3.hash(bytes)))?;
        order.push((hash, batch.size(place), document));
    }
    order.sort_unstable();
    for copies in order.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        for &(_, _, document) in copies {
            same[document as usize] = copies[0].2;
        }
    }
    Ok(same)
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
        for (document, &place) in (0..).zip(&self.places) {
            visit(document, self.batch.hashes[place as usize * self.batch.width + column]);
        }
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<()> {
        checkpoint();
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
        let threshold = self.threshold;
        let similarity = match &mut self.measure {
            Measure::Estimate(signatures, slots) => estimate(signatures, *slots, a, b)?,
            Measure::Exact(sets) => {
                let (a, b) = (sets.same[a as usize], sets.same[b as usize]);
                if a == b {
                    return Ok(Some(1.0));
                }
                let (a, b) = (self.set(a)?, self.set(b)?);
                return Ok(a.jaccard_at_least(&b, threshold));
            }
        };
        Ok(Some(similarity).filter(|similarity| *similarity >= threshold))
    }
}
