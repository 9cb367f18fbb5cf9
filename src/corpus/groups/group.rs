//! A group of documents that share buckets, which is the engine's corpus. Documents are compared by their signatures,
//! or exactly by their sets.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use sketch::corpus::{Corpus, Hashes, NumberedSets, SetOutline, SharedCounts};
use sketch::pipeline::Crew;
use sketch::{Config, ElementHash, Error, HashPart, Scheme, estimate_jaccard};

use crate::corpus::groups::batch::{Bytes, Held};
use crate::corpus::source::reader::{Criteria, Reader};
use crate::prelude::*;

/// The documents of a group, numbered from 0 in order.
pub struct Group<'a, 'c> {
    held: &'a Held,
    bytes: Bytes<'a>,
    /// The place of each document in its batch.
    places: &'a [u32],
    measure: Measure<'a>,
    comparing: &'a Comparing,
    /// Bytes for values made of the documents.
    memory: usize,
    /// Hashes of documents in a file.
    hashes: DocumentRows<u64>,
    signatures: DocumentRows<i32>,
    crew: &'a mut Crew<'c>,
}

/// The criteria of a job's comparisons, which threads may read.
pub struct Comparing {
    pub criteria: Criteria,
    /// `minlsh.bucket_limit`
    pub limit: usize,
    /// Bytes for the documents of a batch, and as many again for values made of them.
    pub memory: usize,
    /// Bytes for values made of a group whose documents stay in a file.
    pub group: usize,
    pub apart: ApartPairs,
}

/// Pairs of documents that do not count as similar.
#[derive(Default)]
pub struct ApartPairs {
    /// By name and in both directions, in order.
    pub pairs: Vec<(u32, u32)>,
    /// Documents that are listed with a key that is not in the job, by name, in order.
    pub others: Vec<u32>,
}

impl ApartPairs {
    /// True if the document with this name is listed.
    fn has(&self, name: u32) -> bool {
        let from = self.pairs.partition_point(|pair| pair.0 < name);
        self.pairs.get(from).is_some_and(|pair| pair.0 == name) || self.others.binary_search(&name).is_ok()
    }
}

impl Comparing {
    /// Hash that is equal for copies. A document in `apart` gets a unique one.
    fn copy_hash(&self, name: u32, hash: u64) -> u64 {
        if self.apart.has(name) { hash ^ (u64::from(name) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) } else { hash }
    }
}

/// Values of as many documents as memory holds; each document has one possible slot.
#[derive(Default)]
struct DocumentRows<T> {
    values: Vec<T>,
    /// The document whose values are in each slot.
    of: Vec<Option<u32>>,
}

impl<T: Copy + Default> DocumentRows<T> {
    /// The `width` values of a document, which `read` reads unless they are in one of `count` slots.
    fn row(
        &mut self,
        document: u32,
        (count, width): (usize, usize),
        read: impl FnOnce(&mut [T]) -> Result<(), Error>,
    ) -> Result<&[T], Error> {
        memory::resize(&mut self.of, count, None)?;
        memory::resize(&mut self.values, count * width, T::default())?;
        let at = document as usize % count;
        let row = &mut self.values[at * width..][..width];
        if self.of[at] != Some(document) {
            self.of[at] = None;
            read(row)?;
            self.of[at] = Some(document);
        }
        Ok(row)
    }
}

/// The ways to compare two documents.
pub enum Measure<'a> {
    /// No comparison: all are equal.
    Same,
    /// By signatures with this number of slots.
    Estimated(usize),
    /// By the shingles of the distinct documents.
    Exact(&'a Distinct, Sets<'a>),
}

/// The sets by which distinct documents are compared.
pub enum Sets<'a> {
    /// All of them, in memory.
    All(&'a NumberedSets),
    /// None: the shingles of all pairs were counted.
    Counted(&'a SharedCounts),
    /// As many in memory as fit.
    Cached(&'a mut Cache),
}

/// Number of documents in the lists of a portion.
const PORTION: usize = 64;

/// Makes a value of a list of documents in a group.
pub type MakeOfGroup<'a, R> = dyn Fn(&mut Group, &[u32]) -> Result<R, Error> + Sync + 'a;

impl Measure<'_> {
    /// The same measure for one of `count` workers. It uses a fork of the cache, if there is one.
    fn beside<'b>(&'b self, cache: &'b mut Option<Cache>, count: usize) -> Measure<'b> {
        match self {
            Self::Same => Measure::Same,
            Self::Estimated(slots) => Measure::Estimated(*slots),
            Self::Exact(distinct, sets) => {
                let sets = match sets {
                    Sets::All(sets) => Sets::All(sets),
                    Sets::Counted(counts) => Sets::Counted(counts),
                    Sets::Cached(own) => Sets::Cached(cache.get_or_insert_with(|| own.fork(count))),
                };
                Measure::Exact(distinct, sets)
            }
        }
    }
}

impl<'a, 'c> Group<'a, 'c> {
    /// The documents at `places` of a batch, with `memory` bytes for values made of them. The crew checks for
    /// interrupts, and may help.
    pub fn new(
        bytes: Bytes<'a>,
        places: &'a [u32],
        measure: Measure<'a>,
        (comparing, memory): (&'a Comparing, usize),
        crew: &'a mut Crew<'c>,
    ) -> Self {
        let (held, (hashes, signatures)) = (bytes.held, Default::default());
        Self { held, bytes, places, measure, comparing, memory, hashes, signatures, crew }
    }

    /// The name of a document.
    pub fn name(&self, document: u32) -> u32 {
        self.held.names[self.place(document)]
    }

    /// `minlsh.bucket_limit`
    pub fn limit(&self) -> usize {
        self.comparing.limit
    }

    /// True if memory does not hold the sets of all documents at once.
    pub fn is_beyond_memory(&self) -> bool {
        matches!(self.measure, Measure::Exact(_, Sets::Counted(_) | Sets::Cached(_)))
    }

    /// Number of documents.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Calls `look` with the bytes of a document, and with a check that it must call often.
    pub fn with_bytes<T>(
        &mut self,
        document: u32,
        look: impl FnOnce(&[u8], Check) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let crew = &mut *self.crew;
        self.bytes.with(self.places[document as usize], |bytes| look(bytes, &mut || crew.check()))
    }

    /// Calls `make` with a group like this one for each list of documents, and `take` with the results, in order.
    /// Threads help if the documents are in memory, and there are several lists.
    pub fn each<R: Send>(
        &mut self,
        lists: &[Vec<u32>],
        make: &MakeOfGroup<R>,
        take: &mut dyn FnMut(R) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.crew.size() == 1 || lists.len() == 1 || !self.bytes.is_held() {
            return lists.iter().try_for_each(|list| take(make(self, list)?));
        }
        let Self { held, places, ref mut measure, comparing, memory, ref mut crew, .. } = *self;
        let size = crew.size();
        if let Measure::Exact(_, Sets::Cached(cache)) = measure {
            // Without its sets.
            **cache = cache.fork(1);
        }
        let measure = &*measure;
        // Caches that are not in use.
        let spare = Mutex::new(memory::with_capacity::<Cache>(size)?);
        let spare = || spare.lock().unwrap_or_else(PoisonError::into_inner);
        let compute = |range: &mut Range<usize>, check: Check| {
            let mut made = memory::with_capacity(range.len())?;
            let mut cache = spare().pop();
            let mut alone = Crew::Alone(check);
            let (bytes, terms) = (Bytes::held(held), (comparing, memory / size));
            let measure = measure.beside(&mut cache, size);
            let mut group = Group::new(bytes, places, measure, terms, &mut alone);
            let outcome = lists[range.clone()].iter().try_for_each(|list| {
                made.push(make(&mut group, list)?);
                Ok(())
            });
            spare().extend(cache);
            outcome.map(|()| made)
        };
        let mut start = 0;
        let mut next = || {
            let (mut end, mut documents) = (start, 0);
            while end < lists.len() && documents < PORTION {
                documents += lists[end].len();
                end += 1;
            }
            let range = std::mem::replace(&mut start, end)..end;
            // A value made of a document is usually its similarity to another one.
            let bytes = documents * size_of::<(u32, f64)>();
            Ok((!range.is_empty()).then_some((range, bytes)))
        };
        crew.each(&mut next, &compute, &mut |made| made.into_iter().try_for_each(&mut *take))
    }

    fn place(&self, document: u32) -> usize {
        self.places[document as usize] as usize
    }

    /// The hashes of a document.
    fn row(&mut self, document: u32) -> Result<&[u64], Error> {
        let (width, place) = (self.held.width, self.place(document));
        if self.held.has_hashes() {
            return Ok(&self.held.hashes[place * width..][..width]);
        }
        let count = self.kept(size_of::<u64>() * width);
        let bytes = &mut self.bytes;
        self.hashes.row(document, (count, width), |row| {
            bytes.read_hashes(place as u32, row);
            Ok(())
        })
    }

    /// The signature of a document.
    fn signature(&mut self, document: u32, slots: usize) -> Result<&[i32], Error> {
        let count = self.kept(size_of::<i32>() * slots);
        let (bytes, place) = (&mut self.bytes, self.places[document as usize]);
        self.signatures.row(document, (count, slots), |row| {
            bytes.with(place, |bytes| {
                let own = bytes.as_chunks().0.iter().map(|slot| i32::from_ne_bytes(*slot));
                row.iter_mut().zip(own).for_each(|(slot, own)| *slot = own);
                Ok(())
            })
        })
    }

    /// Number of documents whose `bytes` bytes each are cached: they fit in a quarter of memory.
    fn kept(&self, bytes: usize) -> usize {
        (self.memory / (4 * bytes)).clamp(1, self.places.len().max(1))
    }

    /// The similarity of two documents in a cluster, however low.
    pub fn measure(&mut self, a: u32, b: u32) -> Result<f64, Error> {
        Ok(self.at_least(a, b, 0.0)?.unwrap_or(0.0))
    }

    fn at_least(&mut self, a: u32, b: u32, threshold: f64) -> Result<Option<f64>, Error> {
        match &mut self.measure {
            // All documents here have shingles.
            Measure::Same => Ok(Some(1.0)),
            Measure::Estimated(slots) => {
                let slots = *slots;
                let own = memory::copied(self.signature(a, slots)?)?;
                let estimate = estimate_jaccard(&own, self.signature(b, slots)?)?;
                Ok(Some(estimate).filter(|estimate| *estimate >= threshold))
            }
            Measure::Exact(distinct, sets) => {
                let [a, b] = [a, b].map(|document| distinct.of_document(document) as u32);
                match sets {
                    Sets::All(sets) => Ok(sets.similarity(a, b, threshold)),
                    Sets::Counted(counts) => Ok(counts.similarity(a, b, threshold)),
                    Sets::Cached(_) if a == b => Ok(Some(1.0)),
                    Sets::Cached(cache) => {
                        let places = [a, b].map(|own| (own, distinct.places[own as usize]));
                        cache.at_least(&mut self.bytes, places, threshold, self.crew)
                    }
                }
            }
        }
    }
}

impl Hashes for Group<'_, '_> {
    type Error = Error;

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
        let (comparing, is_whole) = (self.comparing, column == self.probes());
        for document in 0..self.documents() {
            let mut hash = self.row(document)?[column];
            if is_whole {
                // Copies that may be similar to different documents do not count as one.
                hash ^= self.bytes.agreement_hash(self.places[document as usize])?;
                hash = comparing.copy_hash(self.name(document), hash);
            }
            visit(document, hash);
        }
        Ok(())
    }

    fn check_interrupts(&mut self) -> Result<(), Error> {
        self.crew.check();
        Ok(())
    }
}

impl Corpus for Group<'_, '_> {
    fn bands(&mut self, document: u32) -> Result<Vec<u64>, Error> {
        let probes = self.probes();
        memory::copied(&self.row(document)?[..probes])
    }

    fn same_as(&self, document: u32) -> u32 {
        match &self.measure {
            Measure::Same | Measure::Estimated(_) => 0,
            Measure::Exact(distinct, _) => distinct.of_document(document) as u32,
        }
    }

    fn set_hash(&mut self, document: u32) -> Result<u64, Error> {
        let Measure::Exact(distinct, sets) = &mut self.measure else { return Ok(0) };
        let own = distinct.of_document(document);
        match sets {
            Sets::All(sets) => Ok(sets.hash(own as u32).unwrap_or_default()),
            // Counts are compared in no time.
            Sets::Counted(_) => Ok(0),
            Sets::Cached(cache) => cache.set_hash(&mut self.bytes, (own as u32, distinct.places[own]), self.crew),
        }
    }

    fn share_band(&mut self, bands: usize, a: u32, b: u32) -> Result<bool, Error> {
        let same = |a: &[u64], b: &[u64]| a[..bands].iter().zip(&b[..bands]).any(|(a, b)| a == b);
        if self.held.has_hashes() {
            let width = self.held.width;
            let row = |document| &self.held.hashes[self.place(document) * width..][..width];
            return Ok(same(row(a), row(b)));
        }
        let a = memory::copied(self.row(a)?)?;
        Ok(same(&a, self.row(b)?))
    }

    fn similarity(&mut self, a: u32, b: u32) -> Result<Option<f64>, Error> {
        let scopes = &self.held.scopes;
        if !scopes.is_empty() && scopes[self.place(a)] != scopes[self.place(b)] {
            return Ok(None);
        }
        if self.comparing.apart.pairs.binary_search(&(self.name(a), self.name(b))).is_ok() {
            return Ok(None);
        }
        if !self.bytes.agree(self.places[a as usize], self.places[b as usize])? {
            return Ok(None);
        }
        let mut threshold = self.comparing.criteria.threshold.get();
        if !self.held.leasts.is_empty() {
            // The greater of two documents' own thresholds counts.
            let least = |document| self.held.leasts[self.place(document)];
            threshold = threshold.max(least(a)).max(least(b));
        }
        self.at_least(a, b, threshold)
    }
}

/// Number of hashes of a document for which memory is kept.
const LONG: usize = 1 << 16;

/// Assumed maximum ratio of shingles to distinct shingles in a text.
const REPEATED: usize = 4;

/// True if the sets of documents with `bytes` bytes are expected to exceed `memory` bytes.
pub fn exceed(reader: Reader, bytes: usize, memory: usize) -> bool {
    set_bytes(reader, bytes) > memory
}

/// Estimates the bytes that the sets of documents take, by the bytes of these documents.
pub fn set_bytes(reader: Reader, bytes: usize) -> usize {
    reader.elements(bytes).saturating_mul(size_of::<u64>()) / REPEATED
}

/// The most bits of a hash by which sets are counted in parts.
const MOST_BITS: u32 = 12;

/// The documents of a group without byte-wise copies of earlier ones.
pub struct Distinct {
    /// Their places in the batch.
    pub places: Vec<u32>,
    /// The distinct document that each document equals.
    of: Vec<u32>,
}

impl Distinct {
    /// The distinct documents among those at `places`.
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

    /// The position of a document's distinct one.
    pub fn of_document(&self, document: u32) -> usize {
        self.of[document as usize] as usize
    }

    /// Total size of the distinct documents.
    pub fn bytes(&self, bytes: &Bytes) -> usize {
        self.places.iter().map(|place| bytes.held.size(*place)).sum()
    }

    /// Replaces `sets` by the parts `part` of the sets of these documents, which a crew makes, as far as there is room.
    /// Returns their number.
    pub fn fill(
        &self,
        bytes: &mut Bytes,
        (reader, config): (Reader, &Config),
        part: HashPart,
        sets: &mut NumberedSets,
        crew: &mut Crew,
    ) -> Result<usize, Error> {
        sets.forget();
        let config = config.with_scheme(Scheme::Fss);
        let make = |_, bytes: &[u8], check: Check| {
            let mut hashes = Vec::new();
            reader.hashes_in(&config, bytes, part, &mut hashes, check)?;
            Ok(hashes)
        };
        let (mut document, mut fit) = (0, true);
        let made = bytes.each(&self.places, crew, &make, &mut |hashes| {
            fit = sets.has_room(hashes.len());
            if !fit {
                // Only stops the crew.
                return Err(Error::OutOfMemory { bytes: 0 });
            }
            sets.add(document as u32, &hashes)?;
            document += 1;
            Ok(())
        });
        if !fit {
            sets.forget();
            return Ok(document);
        }
        made.map(|()| document)
    }

    /// Counts what all pairs share, in as many parts as it takes for `sets` to have room for a part of all sets. `None`
    /// if a set is too large for any number of parts.
    pub fn counts(
        &self,
        bytes: &mut Bytes,
        source: (Reader, &Config),
        sets: &mut NumberedSets,
        crew: &mut Crew,
    ) -> Result<Option<SharedCounts>, Error> {
        let count = self.places.len();
        // Too few parts are given up with the first set for which there is no room.
        'bits: for bits in 1..=MOST_BITS {
            let mut counts = SharedCounts::new(count)?;
            for part in 0..1 << bits {
                if self.fill(bytes, source, HashPart { bits, part }, sets, crew)? < count {
                    continue 'bits;
                }
                counts.add(sets, &mut || crew.check());
            }
            sets.forget();
            return Ok(Some(counts));
        }
        Ok(None)
    }

    /// Makes the distinct documents' outlines with a crew, in about `memory` bytes.
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
    // Only documents of the same size are read: most altered copies have a different size.
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

/// A cache of sets, as many as fit into memory, with outlines of all documents.
pub struct Cache {
    reader: Reader,
    /// With a scheme that hashes to 64 bits.
    config: Config,
    /// Shared with forks.
    outlines: Arc<Vec<SetOutline>>,
    sets: NumberedSets,
    hashes: Vec<u64>,
    memory: usize,
    /// The last two documents with too large sets, and their similarity. It takes long to compute, and is needed
    /// several times if a cluster has only these.
    large: Option<([u32; 2], f64)>,
}

impl Cache {
    /// An empty cache of `memory` bytes for the sets of documents with these outlines.
    pub fn new(reader: Reader, config: &Config, outlines: Arc<Vec<SetOutline>>, memory: usize) -> Self {
        let (config, sets) = (config.with_scheme(Scheme::Fss), NumberedSets::new(memory));
        Self { reader, config, outlines, sets, hashes: Vec::new(), memory, large: None }
    }

    /// One of `count` empty caches with the same outlines, which share this one's memory: it must be empty, or be
    /// replaced.
    pub fn fork(&self, count: usize) -> Self {
        let (outlines, memory) = (Arc::clone(&self.outlines), self.memory / count);
        Self { large: self.large, ..Self::new(self.reader, &self.config, outlines, memory) }
    }

    /// The similarity of two documents, given with their places, if it is at least `threshold`. If their sets are too
    /// large to be cached, a crew makes both each time.
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

    /// A hash of the set of a document, given with its place in the batch. It is equal for equal sets.
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
            None => bytes.with(place, |bytes| Ok(self.reader.set(&self.config, bytes, &mut || crew.check())?.hash())),
        }
    }

    /// Adds a set, unless it is too large.
    fn add(&mut self, bytes: &mut Bytes, document: u32, place: u32, crew: &mut Crew) -> Result<bool, Error> {
        let Self { reader, config, hashes, sets, .. } = self;
        hashes.clear();
        bytes.with(place, |bytes| reader.hashes(config, bytes, hashes, &mut || crew.check()))?;
        let fits = sets.can_hold(hashes.len());
        if fits {
            sets.add(document, hashes)?;
        }
        // Does not keep so much memory after one long text.
        hashes.shrink_to(LONG);
        Ok(fits)
    }
}
