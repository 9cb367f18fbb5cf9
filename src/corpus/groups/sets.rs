//! The documents of a group in the form in which they are compared exactly: their sets.

use std::sync::Arc;

use sketch::corpus::{NumberedSets, SetOutline};
use sketch::pipeline::Crew;
use sketch::{Config, ElementHash, Error, Scheme};

use crate::corpus::groups::batch::Bytes;
use crate::corpus::source::reader::Reader;
use crate::prelude::*;

/// Hashes of a document for which room is kept.
const LONG: usize = 1 << 16;

/// A text has so many times fewer distinct shingles than shingles, at most, as far as can be foreseen.
const REPEATED: usize = 4;

/// True if the sets of documents of so many bytes take more than `memory` bytes, as far as can be foreseen.
pub fn exceed(reader: Reader, bytes: usize, memory: usize) -> bool {
    reader.elements(bytes).saturating_mul(size_of::<u64>()) / REPEATED > memory
}

/// The documents of a group that are not stored to the byte as an earlier one.
pub struct Distinct {
    /// Their places in the batch.
    pub places: Vec<u32>,
    /// The distinct document that each document equals.
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

    /// The place of a document among the distinct ones.
    pub fn of_document(&self, document: u32) -> usize {
        self.of[document as usize] as usize
    }

    /// Their bytes.
    pub fn bytes(&self, bytes: &Bytes) -> usize {
        self.places.iter().map(|place| bytes.held.size(*place)).sum()
    }

    /// Replaces `sets` by theirs, whose hashes a crew makes. Returns false, and leaves none, if they do not all fit.
    pub fn fill(
        &self,
        bytes: &mut Bytes,
        reader: Reader,
        config: &Config,
        sets: &mut NumberedSets,
        crew: &mut Crew,
    ) -> Result<bool, Error> {
        sets.forget();
        let config = config.with_scheme(Scheme::Fss);
        let make = |_, bytes: &[u8], check: Check| {
            let mut hashes = Vec::new();
            reader.hashes(&config, bytes, &mut hashes, check)?;
            Ok(hashes)
        };
        let (mut document, mut fit) = (0, true);
        let made = bytes.each(&self.places, crew, &make, &mut |hashes| {
            fit = sets.has_room(hashes.len());
            if !fit {
                // Only to stop.
                return Err(Error::OutOfMemory { bytes: 0 });
            }
            document += 1;
            sets.add(document - 1, &hashes)
        });
        if !fit {
            sets.forget();
            return Ok(false);
        }
        made.map(|()| true)
    }

    /// Their outlines in about `memory` bytes, which a crew draws.
    pub fn outlines(
        &self,
        bytes: &mut Bytes,
        reader: Reader,
        config: &Config,
        memory: usize,
        crew: &mut Crew,
    ) -> Result<Vec<SetOutline>, Error> {
        let config = config.with_scheme(Scheme::Fss);
        let elements = self.places.iter().map(|place| reader.elements(bytes.held.size(*place)));
        let words = SetOutline::widths(&memory::collect(elements)?, memory)?;
        let make = |document: usize, bytes: &[u8], check: Check| {
            let mut hashes = Vec::new();
            reader.hashes(&config, bytes, &mut hashes, check)?;
            SetOutline::of(&mut hashes, words[document], check)
        };
        let mut outlines = memory::with_capacity(self.places.len())?;
        let mut take = |outline| memory::push(&mut outlines, outline);
        bytes.each(&self.places, crew, &make, &mut take)?;
        Ok(outlines)
    }
}

/// For each document the first one with the same stored bytes. A text that is stored in two ways is compared with
/// itself.
fn same(bytes: &mut Bytes, places: &[u32]) -> Result<Vec<u32>, Error> {
    let mut same = memory::collect(0..places.len() as u32)?;
    let sizes = (0..).zip(places).map(|(document, place)| (bytes.stored_size(*place), 0, document));
    let mut order = memory::collect(sizes)?;
    order.sort_unstable();
    // Only documents of the same size are read: most altered copies have another one.
    for alike in order.chunk_by_mut(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
        for (_, hash, document) in &mut *alike {
            let place = places[*document as usize];
            *hash = bytes.with_stored(place, |stored| Ok(ElementHash::Xxh3.hash(stored.bytes)))?;
        }
        alike.sort_unstable();
        for copies in alike.chunk_by(|a, b| a.1 == b.1) {
            for &(.., document) in copies {
                same[document as usize] = copies[0].2;
            }
        }
    }
    Ok(same)
}

/// Sets made as they are needed, as many as memory holds, and outlines of all.
pub struct Cache {
    reader: Reader,
    /// With a scheme that hashes to 64 bits.
    config: Config,
    /// Shared by forks.
    outlines: Arc<Vec<SetOutline>>,
    sets: NumberedSets,
    hashes: Vec<u64>,
    memory: usize,
    /// The last two documents whose sets were too large, and their similarity. It takes long, and is asked for several
    /// times where these are all of a cluster.
    large: Option<([u32; 2], f64)>,
}

impl Cache {
    /// An empty cache of `memory` bytes for sets of documents that have these outlines.
    pub fn new(
        reader: Reader,
        config: &Config,
        outlines: Arc<Vec<SetOutline>>,
        memory: usize,
    ) -> Self {
        let (config, sets) = (config.with_scheme(Scheme::Fss), NumberedSets::new(memory));
        Self { reader, config, outlines, sets, hashes: Vec::new(), memory, large: None }
    }

    /// One of `count` caches with the same outlines and without sets, which share the memory that this one has for its
    /// own: it must be empty, or be replaced.
    pub fn fork(&self, count: usize) -> Self {
        let (outlines, memory) = (Arc::clone(&self.outlines), self.memory / count);
        Self { large: self.large, ..Self::new(self.reader, &self.config, outlines, memory) }
    }

    /// The similarity of two documents, given with their places, if it is at least `threshold`. If their sets are too
    /// large to be kept, a crew makes both at a time.
    pub fn at_least(
        &mut self,
        bytes: &mut Bytes,
        documents: [(u32, u32); 2],
        threshold: f64,
        crew: &mut Crew,
    ) -> Result<Option<f64>, Error> {
        let [(a, _), (b, _)] = documents;
        let pair = [a.min(b), a.max(b)];
        let [own, other] = [a, b].map(|document| &self.outlines[document as usize]);
        if threshold > 0.0 && !own.may_reach(other, threshold) {
            return Ok(None);
        }
        let of_two = |similarity: f64| Some(similarity).filter(|similar| *similar >= threshold);
        if let Some((_, similarity)) = self.large.filter(|(large, _)| *large == pair) {
            return Ok(of_two(similarity));
        }
        // Adding the second one may have removed the first, which is then added again.
        for (document, place) in [documents[0], documents[1], documents[0]] {
            if !self.sets.has(document) && !self.add(bytes, document, place, crew)? {
                let Self { reader, config, .. } = self;
                let make = |_, bytes: &[u8], check: Check| reader.set(config, bytes, check);
                let mut sets = memory::with_capacity(2)?;
                let mut take = |set| memory::push(&mut sets, set);
                bytes.each(&documents.map(|(_, place)| place), crew, &make, &mut take)?;
                let similarity = sets[0].jaccard_at_least(&sets[1], 0.0).unwrap_or(0.0);
                self.large = Some((pair, similarity));
                return Ok(of_two(similarity));
            }
        }
        Ok(self.sets.similarity(a, b, threshold))
    }

    /// A hash of the set of a document at its place of a batch: equal sets have the same one.
    pub fn set_hash(
        &mut self,
        bytes: &mut Bytes,
        (document, place): (u32, u32),
        crew: &mut Crew,
    ) -> Result<u64, Error> {
        if !self.sets.has(document) {
            self.add(bytes, document, place, crew)?;
        }
        match self.sets.hash(document) {
            Some(hash) => Ok(hash),
            None => bytes.with(place, |bytes| {
                Ok(self.reader.set(&self.config, bytes, &mut || crew.check())?.hash())
            }),
        }
    }

    /// Adds a set, unless it is too large.
    fn add(
        &mut self,
        bytes: &mut Bytes,
        document: u32,
        place: u32,
        crew: &mut Crew,
    ) -> Result<bool, Error> {
        let Self { reader, config, hashes, sets, .. } = self;
        hashes.clear();
        bytes.with(place, |bytes| reader.hashes(config, bytes, hashes, &mut || crew.check()))?;
        let fits = sets.can_hold(hashes.len());
        if fits {
            sets.add(document, hashes)?;
        }
        // One long text is no reason to keep so much room.
        hashes.shrink_to(LONG);
        Ok(fits)
    }
}
