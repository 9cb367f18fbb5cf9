//! A group of documents that share buckets: the corpus that the engine works on.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use sketch::corpus::{Corpus, Hashes, NumberedSets};
use sketch::pipeline::Crew;
use sketch::{Error, estimate_jaccard};

use crate::corpus::groups::batch::{Bytes, Held};
use crate::corpus::groups::sets::{Cache, Distinct};
use crate::corpus::source::reader::Criteria;
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
    /// Pairs of documents that count as not similar, by name and either way round, in order.
    pub apart: Vec<(u32, u32)>,
}

impl Comparing {
    /// A hash by which copies of the document of that name are found. One that is apart from another document has a
    /// hash of its own, so that it is compared by itself.
    fn copy_hash(&self, name: u32, hash: u64) -> u64 {
        let from = self.apart.partition_point(|pair| pair.0 < name);
        let is_apart = self.apart.get(from).is_some_and(|pair| pair.0 == name);
        if is_apart {
            hash ^ (u64::from(name) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        } else {
            hash
        }
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
            Self::OneByOne(distinct, own) => {
                Measure::OneByOne(distinct, cache.get_or_insert_with(|| own.fork(count)))
            }
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
            let hash = self.row(document)?[column];
            let name = self.name(document);
            visit(document, if is_whole { comparing.copy_hash(name, hash) } else { hash });
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
            Measure::Exact(distinct, _) | Measure::OneByOne(distinct, _) => {
                distinct.of_document(document) as u32
            }
        }
    }

    fn set_hash(&mut self, document: u32) -> Result<u64, Error> {
        match &mut self.measure {
            Measure::Same | Measure::Estimated(_) => Ok(0),
            Measure::Exact(distinct, sets) => {
                Ok(sets.hash(distinct.of_document(document) as u32).unwrap_or_default())
            }
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
        if self.comparing.apart.binary_search(&(self.name(a), self.name(b))).is_ok() {
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
