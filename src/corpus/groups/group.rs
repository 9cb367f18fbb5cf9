//! A group of documents that share buckets: the corpus that the engine works on. Documents are compared by their
//! signatures, or exactly by their sets.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use sketch::corpus::{Corpus, Hashes, NumberedSets, SetOutline};
use sketch::pipeline::Crew;
use sketch::{Config, ElementHash, Error, Scheme, estimate_jaccard};

use crate::corpus::groups::batch::{Bytes, Held};
use crate::corpus::source::reader::{Criteria, Reader};
use crate::prelude::*;

/// Documents of one group, numbered from 0 in their order.
pub struct Group<'a, 'c> {
    held: &'a Held,
    bytes: Bytes<'a>,
    /// The place of each document in the batch.
    places: &'a [u32],
    measure: Measure<'a>,
    comparing: &'a Comparing,
    /// Bytes for what is made of the documents.
    memory: usize,
    /// Hashes of documents that are in a file.
    hashes: DocumentRows<u64>,
    signatures: DocumentRows<i32>,
    crew: &'a mut Crew<'c>,
}

/// The terms on which the documents of a job are compared; threads may look at them.
pub struct Comparing {
    pub criteria: Criteria,
    /// `minlsh.bucket_limit`
    pub limit: usize,
    /// Bytes for the documents of a batch, and as many again for what is made of them.
    pub memory: usize,
    /// Bytes for what is made of a group whose documents stay in a file.
    pub group: usize,
    pub apart: ApartPairs,
}

/// Pairs of documents that count as not similar.
#[derive(Default)]
pub struct ApartPairs {
    /// By name and either way round, in order.
    pub pairs: Vec<(u32, u32)>,
    /// Documents that are listed beside a key that is not at hand, by name, in order.
    pub others: Vec<u32>,
}

impl ApartPairs {
    /// True if a document is listed, by its name.
    fn has(&self, name: u32) -> bool {
        let from = self.pairs.partition_point(|pair| pair.0 < name);
        self.pairs.get(from).is_some_and(|pair| pair.0 == name) || self.others.binary_search(&name).is_ok()
    }
}

impl Comparing {
    /// A hash by which copies of the document of that name are found. One that is listed in `apart` has a hash of its
    /// own, so that it is compared by itself.
    fn copy_hash(&self, name: u32, hash: u64) -> u64 {
        if self.apart.has(name) { hash ^ (u64::from(name) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) } else { hash }
    }
}

/// Values of as many documents as memory holds: each document has one place for its own.
#[derive(Default)]
struct DocumentRows<T> {
    values: Vec<T>,
    /// The document whose values are at each place.
    of: Vec<Option<u32>>,
}

impl<T: Copy + Default> DocumentRows<T> {
    /// The `width` values of a document, which `read` reads unless they are at one of `count` places.
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

/// The measures by which two documents are compared.
pub enum Measure<'a> {
    /// Not at all: all are the same.
    Same,
    /// By signatures of so many slots.
    Estimated(usize),
    /// By shingles, with the sets of all documents at hand.
    Exact(&'a Distinct, &'a NumberedSets),
    /// By shingles, as many sets at a time as memory holds.
    OneByOne(&'a Distinct, &'a mut Cache),
}

/// Documents of the lists that are looked at together.
const PORTION: usize = 64;

/// Makes something of a list of documents of a group.
pub type MakeOfGroup<'a, R> = dyn Fn(&mut Group, &[u32]) -> Result<R, Error> + Sync + 'a;

impl Measure<'_> {
    /// The same for one of `count` who compare, which uses a fork of the cache, if there is one.
    fn beside<'b>(&'b self, cache: &'b mut Option<Cache>, count: usize) -> Measure<'b> {
        match self {
            Self::Same => Measure::Same,
            Self::Estimated(slots) => Measure::Estimated(*slots),
            Self::Exact(distinct, sets) => Measure::Exact(distinct, sets),
            Self::OneByOne(distinct, own) => Measure::OneByOne(distinct, cache.get_or_insert_with(|| own.fork(count))),
        }
    }
}

impl<'a, 'c> Group<'a, 'c> {
    /// The documents at `places` of a batch; what is made of them takes `memory` bytes. The crew looks for interrupts,
    /// and may help.
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

    /// The number of documents.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Calls `look` with the bytes of a document, and with what it must call often.
    pub fn with_bytes<T>(
        &mut self,
        document: u32,
        look: impl FnOnce(&[u8], Check) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let crew = &mut *self.crew;
        self.bytes.with(self.places[document as usize], |bytes| look(bytes, &mut || crew.check()))
    }

    /// Calls `make` with a group like this one for each list of documents, and `take` with the results, in order.
    /// Threads help where they can see the documents, and there are several lists.
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
        if let Measure::OneByOne(_, cache) = measure {
            // Without its sets.
            **cache = cache.fork(1);
        }
        let measure = &*measure;
        // Caches that nobody uses at the moment.
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
            // What is made of a document is its similarity with another one, mostly.
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

    /// The number of documents of which so many bytes are kept: a quarter of memory holds them.
    fn kept(&self, bytes: usize) -> usize {
        (self.memory / (4 * bytes)).clamp(1, self.places.len().max(1))
    }

    /// The similarity of two documents of a cluster, however low it is.
    pub fn measure(&mut self, a: u32, b: u32) -> Result<f64, Error> {
        Ok(self.at_least(a, b, 0.0)?.unwrap_or(0.0))
    }

    fn at_least(&mut self, a: u32, b: u32, threshold: f64) -> Result<Option<f64>, Error> {
        match &mut self.measure {
            // They have shingles, as all documents have here.
            Measure::Same => Ok(Some(1.0)),
            Measure::Estimated(slots) => {
                let slots = *slots;
                let own = memory::copied(self.signature(a, slots)?)?;
                let estimate = estimate_jaccard(&own, self.signature(b, slots)?)?;
                Ok(Some(estimate).filter(|estimate| *estimate >= threshold))
            }
            Measure::Exact(distinct, sets) => {
                let (a, b) = (distinct.of_document(a), distinct.of_document(b));
                Ok(sets.similarity(a as u32, b as u32, threshold))
            }
            Measure::OneByOne(distinct, cache) => {
                let (a, b) = (distinct.of_document(a), distinct.of_document(b));
                if a == b {
                    return Ok(Some(1.0));
                }
                let places = [a, b].map(|own| (own as u32, distinct.places[own]));
                cache.at_least(&mut self.bytes, places, threshold, self.crew)
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
                // Copies that may be similar to different documents are not one.
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
            Measure::Exact(distinct, _) | Measure::OneByOne(distinct, _) => distinct.of_document(document) as u32,
        }
    }

    fn set_hash(&mut self, document: u32) -> Result<u64, Error> {
        match &mut self.measure {
            Measure::Same | Measure::Estimated(_) => Ok(0),
            Measure::Exact(distinct, sets) => Ok(sets.hash(distinct.of_document(document) as u32).unwrap_or_default()),
            Measure::OneByOne(distinct, cache) => {
                let own = distinct.of_document(document);
                cache.set_hash(&mut self.bytes, (own as u32, distinct.places[own]), self.crew)
            }
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
            // Of two documents with thresholds of their own the greater one counts.
            let least = |document| self.held.leasts[self.place(document)];
            threshold = threshold.max(least(a)).max(least(b));
        }
        self.at_least(a, b, threshold)
    }
}

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
    pub fn new(reader: Reader, config: &Config, outlines: Arc<Vec<SetOutline>>, memory: usize) -> Self {
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
        // One long text is no reason to keep so much room.
        hashes.shrink_to(LONG);
        Ok(fits)
    }
}
