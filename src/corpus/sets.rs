//! What the documents of a group are compared by: their signatures, or their sets.

use std::collections::HashMap;
use std::rc::Rc;

use sketch::corpus::{FewSets, Outlines};
use sketch::{Config, ElementHash, Error, Scheme, ShingleSet, estimate_jaccard, memory};

use crate::corpus::batch::Bytes;
use crate::corpus::reader::Reader;

/// The signatures of a group.
pub struct Signatures {
    words: Vec<i32>,
    /// Words of each.
    slots: usize,
}

impl Signatures {
    /// Those of the documents at `places`.
    pub fn of(bytes: &mut Bytes, places: &[u32], slots: usize) -> Result<Self, Error> {
        let mut words = memory::with_capacity(places.len() * slots)?;
        for &place in places {
            bytes.with(place, |bytes| {
                let own = bytes.as_chunks().0.iter().map(|slot| i32::from_ne_bytes(*slot));
                words.extend(own);
                Ok(())
            })?;
        }
        Ok(Self { words, slots })
    }

    /// The estimated similarity of two documents.
    pub fn estimate(&self, a: u32, b: u32) -> Result<f64, Error> {
        let of = |document: u32| &self.words[document as usize * self.slots..][..self.slots];
        estimate_jaccard(of(a), of(b))
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
    pub fn of(bytes: &mut Bytes, places: &[u32]) -> Result<Self, Error> {
        let mut of = same(bytes, places)?;
        let mut distinct = Vec::new();
        for document in 0..places.len() {
            let first = of[document] as usize;
            if first < document {
                of[document] = of[first];
            } else {
                of[document] = distinct.len() as u32;
                memory::push(&mut distinct, places[document])?;
            }
        }
        Ok(Self { places: distinct, of })
    }

    /// Which of the distinct ones a document is.
    pub fn of_document(&self, document: u32) -> usize {
        self.of[document as usize] as usize
    }

    /// Their bytes.
    pub fn bytes(&self, bytes: &Bytes) -> usize {
        self.places.iter().map(|place| bytes.size(*place)).sum()
    }

    /// Their sets, without sorting.
    pub fn few(
        &self,
        bytes: &mut Bytes,
        reader: Reader,
        config: &Config,
        check: &mut dyn FnMut(),
    ) -> Result<FewSets, Error> {
        let (mut hashes, mut ends) = (Vec::new(), Vec::new());
        let config = config.with_scheme(Scheme::Fss);
        for &place in &self.places {
            check();
            bytes.with(place, |bytes| reader.hashes(&config, bytes, &mut hashes, check))?;
            memory::push(&mut ends, hashes.len())?;
        }
        FewSets::new(&hashes, &ends)
    }

    /// Their sets; `None` if they take more than `memory` bytes.
    pub fn sets(
        &self,
        bytes: &mut Bytes,
        reader: Reader,
        config: &Config,
        memory: usize,
        check: &mut dyn FnMut(),
    ) -> Result<Option<Vec<ShingleSet>>, Error> {
        let mut sets = memory::with_capacity(self.places.len())?;
        let mut shingles = 0;
        for &place in &self.places {
            check();
            let set = bytes.with(place, |bytes| reader.set(config, bytes, check))?;
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
fn same(bytes: &mut Bytes, places: &[u32]) -> Result<Vec<u32>, Error> {
    let mut same = memory::collect(0..places.len() as u32)?;
    let mut order = memory::with_capacity(places.len())?;
    for (document, &place) in (0..).zip(places) {
        let hash = bytes.with(place, |bytes| Ok(ElementHash::Xxh3.hash(bytes)))?;
        order.push((hash, bytes.size(place), document));
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
    pub fn new(
        reader: Reader,
        config: Config,
        documents: usize,
        memory: usize,
    ) -> Result<Self, Error> {
        let outlines = Outlines::new(documents, memory / 2)?;
        let (young, old) = (Sets::default(), Sets::default());
        Ok(Self { reader, config, outlines, young, old, limit: memory / 4 })
    }

    /// The similarity of two documents at their places of a batch, if it is at least `threshold`.
    pub fn at_least(
        &mut self,
        bytes: &mut Bytes,
        (a, place_a): (u32, u32),
        (b, place_b): (u32, u32),
        threshold: f64,
        check: &mut dyn FnMut(),
    ) -> Result<Option<f64>, Error> {
        for (document, place) in [(a, place_a), (b, place_b)] {
            if !self.outlines.has(document as usize) {
                let set = self.set(bytes, document, place, check)?;
                self.outlines.draw(document as usize, &set);
            }
        }
        if !self.outlines.may_reach(a as usize, b as usize, threshold) {
            return Ok(None);
        }
        let (a, b) = (self.set(bytes, a, place_a, check)?, self.set(bytes, b, place_b, check)?);
        Ok(a.jaccard_at_least(&b, threshold))
    }

    fn set(
        &mut self,
        bytes: &mut Bytes,
        document: u32,
        place: u32,
        check: &mut dyn FnMut(),
    ) -> Result<Rc<ShingleSet>, Error> {
        if let Some(set) = self.young.sets.get(&document) {
            return Ok(set.clone());
        }
        let set = match self.old.sets.remove(&document) {
            Some(set) => set,
            None => {
                let made = |bytes: &[u8]| self.reader.set(&self.config, bytes, check);
                Rc::new(bytes.with(place, made)?)
            }
        };
        let size = set.len() * size_of::<u64>();
        if self.young.bytes + size > self.limit {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.bytes += size;
        memory::insert_at(&mut self.young.sets, document, set.clone())?;
        Ok(set)
    }
}
