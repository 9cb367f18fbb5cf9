//! The sets of a group: all in memory, counted in parts, or as many at a time as memory holds.

use std::sync::Arc;

use super::batch::Bytes;
use super::form::Form;
use crate::corpus::{HashParts, NumberedSets, SetOutline, SharedCounts};
use crate::pipeline::Crew;
use crate::scheme::Scheme;
use crate::spool::NewFile;
use crate::{Check, Config, ElementHash, Error, Result, memory};

/// The sets by which distinct documents are compared.
pub(super) enum Sets<'a> {
    /// All of them, in memory.
    All(&'a NumberedSets),
    /// None: the shingles of all pairs were counted.
    Counted(&'a SharedCounts),
    /// As many in memory as fit.
    Cached(&'a mut Cache),
}

/// Number of hashes of a document for which memory is kept.
const LONG: usize = 1 << 16;

/// Assumed maximum ratio of shingles to distinct shingles in a text.
const REPEATED: usize = 4;

/// Estimates the bytes that the sets of documents take, by the bytes of these documents.
pub(super) fn set_bytes(form: Form, bytes: usize) -> usize {
    form.elements(bytes).saturating_mul(size_of::<u64>()) / REPEATED
}

/// Bytes of memory for each hash of a part of the sets: in similar documents most hashes are the same.
const COUNTED: usize = 16;

/// The documents of a group without byte-wise copies of earlier ones.
pub(super) struct Distinct {
    /// Their places in the batch.
    pub(super) places: Vec<u32>,
    /// The distinct document that each document equals.
    of: Vec<u32>,
}

impl Distinct {
    /// The distinct documents among those at `places`.
    pub(super) fn of(bytes: &mut Bytes, places: &[u32], crew: &mut Crew) -> Result<Self> {
        let mut of = same(bytes, places, crew)?;
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

    /// The position of a document's distinct one.
    pub(super) fn of_document(&self, document: u32) -> usize {
        self.of[document as usize] as usize
    }

    /// The sizes of the distinct documents.
    pub(super) fn sizes(&self, bytes: &Bytes) -> impl Iterator<Item = usize> {
        self.places.iter().map(|place| bytes.held.size(*place))
    }

    /// Replaces `sets` by the sets of these documents, which a crew makes. False if there is no room for all.
    pub(super) fn fill(
        &self,
        bytes: &mut Bytes,
        (form, config): (Form, &Config),
        sets: &mut NumberedSets,
        crew: &mut Crew,
    ) -> Result<bool> {
        sets.forget();
        let config = config.with_scheme(Scheme::Fss);
        let make = |_, bytes: &[u8], check: Check| {
            let mut hashes = Vec::new();
            form.hashes(&config, bytes, &mut hashes, check)?;
            Ok(hashes)
        };
        let (mut document, mut fit) = (0, true);
        let made = bytes.each(&self.places, crew, &make, &mut |hashes| {
            fit = sets.has_room(hashes.len());
            if !fit {
                // Only stops the crew.
                return Err(Error::Stopped);
            }
            sets.add(document, &hashes)?;
            document += 1;
            Ok(())
        });
        if fit {
            return made.map(|()| true);
        }
        sets.forget();
        Ok(false)
    }

    /// Counts what all pairs share, with about `memory` bytes for a part of their sets, in `sets`. Each document is cut
    /// once. `None` if the sets are too large for any number of parts.
    pub(super) fn counts(
        &self,
        bytes: &mut Bytes,
        (form, config): (Form, &Config),
        (sets, memory): (&mut NumberedSets, usize),
        new_file: NewFile,
        crew: &mut Crew,
    ) -> Result<Option<SharedCounts>> {
        let mut parts = HashParts::new(form.elements(self.sizes(bytes).sum()), memory / COUNTED, new_file)?;
        for &place in &self.places {
            form.add_to(&mut parts, config, bytes.unpacked(place)?, &mut || crew.check())?;
        }
        SharedCounts::of_parts(&mut parts, self.places.len(), sets, &mut || crew.check())
    }

    /// Makes the distinct documents' outlines with a crew, in about `memory` bytes.
    pub(super) fn outlines(
        &self,
        bytes: &mut Bytes,
        form: Form,
        config: &Config,
        memory: usize,
        crew: &mut Crew,
    ) -> Result<Vec<SetOutline>> {
        let words = SetOutline::widths(&memory::collect(self.sizes(bytes).map(|size| form.elements(size)))?, memory)?;
        let make = |document: usize, bytes: &[u8], check: Check| form.outline(config, bytes, words[document], check);
        let mut outlines = memory::with_capacity(self.places.len())?;
        let mut take = |outline| memory::push(&mut outlines, outline);
        bytes.each(&self.places, crew, &make, &mut take)?;
        Ok(outlines)
    }
}

/// For each document the first one with the same stored bytes. A text that is stored in two ways is compared with
/// itself.
fn same(bytes: &mut Bytes, places: &[u32], crew: &mut Crew) -> Result<Vec<u32>> {
    let mut same = memory::collect(0..places.len() as u32)?;
    let sizes = (0..).zip(places).map(|(document, place)| (bytes.stored_size(*place), 0, document));
    let mut order = memory::collect(sizes)?;
    order.sort_unstable();
    // Only documents of the same size are read: most altered copies have a different size.
    for alike in order.chunk_by_mut(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
        for (_, hash, document) in &mut *alike {
            crew.check();
            let place = places[*document as usize];
            *hash = ElementHash::Xxh3.hash(bytes.stored(place)?.bytes);
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

/// A cache of sets, as many as fit into memory, with outlines of all documents.
pub(super) struct Cache {
    form: Form,
    /// With a scheme that hashes to 64 bits.
    config: Config,
    /// Shared with forks.
    outlines: Arc<Vec<SetOutline>>,
    sets: NumberedSets,
    hashes: Vec<u64>,
    memory: usize,
}

impl Cache {
    /// An empty cache of `memory` bytes for the sets of documents with these outlines.
    pub(super) fn new(form: Form, config: &Config, outlines: Arc<Vec<SetOutline>>, memory: usize) -> Self {
        let (config, sets) = (config.with_scheme(Scheme::Fss), NumberedSets::new(memory));
        Self { form, config, outlines, sets, hashes: Vec::new(), memory }
    }

    /// One of `count` empty caches with the same outlines, which share this one's memory: it must be empty, or be
    /// replaced.
    pub(super) fn fork(&self, count: usize) -> Self {
        Self::new(self.form, &self.config, Arc::clone(&self.outlines), self.memory / count)
    }

    /// The similarity of two documents, given with their places, if it is at least `threshold`. If their sets are too
    /// large to be cached, both are made each time.
    pub(super) fn at_least(
        &mut self,
        bytes: &mut Bytes,
        documents: [(u32, u32); 2],
        threshold: f64,
        crew: &mut Crew,
    ) -> Result<Option<f64>> {
        let [(a, _), (b, _)] = documents;
        let [own, other] = [a, b].map(|document| &self.outlines[document as usize]);
        if threshold > 0.0 && !own.may_reach(other, threshold) {
            return Ok(None);
        }
        // Adding the second one may have removed the first, which is then added again.
        for (document, place) in [documents[0], documents[1], documents[0]] {
            if !self.sets.has(document) && !self.add(bytes, document, place, crew)? {
                let Self { form, config, .. } = self;
                let mut set = |place| form.set(config, bytes.unpacked(place)?, &mut || crew.check());
                let [(_, a), (_, b)] = documents;
                return Ok(set(a)?.jaccard_at_least(&set(b)?, threshold));
            }
        }
        Ok(self.sets.similarity(a, b, threshold))
    }

    /// A hash of the set of a document, given with its place in the batch. It is equal for equal sets.
    pub(super) fn set_hash(
        &mut self,
        bytes: &mut Bytes,
        (document, place): (u32, u32),
        crew: &mut Crew,
    ) -> Result<u64> {
        if !self.sets.has(document) {
            self.add(bytes, document, place, crew)?;
        }
        match self.sets.hash(document) {
            Some(hash) => Ok(hash),
            None => Ok(self.form.set(&self.config, bytes.unpacked(place)?, &mut || crew.check())?.hash()),
        }
    }

    /// Adds a set, unless it is too large.
    fn add(&mut self, bytes: &mut Bytes, document: u32, place: u32, crew: &mut Crew) -> Result<bool> {
        let Self { form, config, hashes, sets, .. } = self;
        hashes.clear();
        form.hashes(config, bytes.unpacked(place)?, hashes, &mut || crew.check())?;
        let fits = sets.can_hold(hashes.len());
        if fits {
            sets.add(document, hashes)?;
        }
        // Does not keep so much memory after one long text.
        hashes.shrink_to(LONG);
        Ok(fits)
    }
}
