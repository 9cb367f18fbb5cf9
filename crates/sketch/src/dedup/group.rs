//! A group of documents that share buckets, which is the engine's corpus. Documents are compared by their signatures,
//! or exactly by their sets.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::batch::{Bytes, Held};
use super::form::Terms;
use super::sets::{Cache, Distinct, Sets};
use super::shares::Shares;
use crate::corpus::{Corpus, Hashes};
use crate::hash::mix::GOLDEN;
use crate::pipeline::Crew;
use crate::{Check, Result, estimate_jaccard, memory};

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

/// The terms and limits of a job's comparisons, which threads may read.
pub(super) struct Comparing {
    pub(super) terms: Terms,
    /// True if each pair is compared.
    pub(super) is_whole: bool,
    pub(super) shares: Shares,
    pub(super) apart: ApartPairs,
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
        read: impl FnOnce(&mut [T]) -> Result<()>,
    ) -> Result<&[T]> {
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
pub(super) enum Measure<'a> {
    /// No comparison: all are equal.
    Same,
    /// By signatures with this number of slots.
    Estimated(usize),
    /// By the shingles of the distinct documents.
    Exact(&'a Distinct, Sets<'a>),
}

/// Number of documents in the lists of a portion.
const PORTION: usize = 64;

/// Makes a value of a list of documents in a group.
pub type MakeOfGroup<'a, R> = dyn Fn(&mut Group, &[u32]) -> Result<R> + Sync + 'a;

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
    pub(super) fn new(
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

    /// Number of comparisons without success that a document makes in a bucket.
    pub fn limit(&self) -> usize {
        self.comparing.terms.bucket_limit
    }

    /// Bytes of the sets of all documents, or `None` if memory does not hold them at once.
    pub(super) fn set_bytes(&self) -> Option<usize> {
        match &self.measure {
            Measure::Same | Measure::Estimated(_) => Some(0),
            Measure::Exact(_, Sets::All(sets)) => Some(sets.bytes()),
            Measure::Exact(..) => None,
        }
    }

    /// Number of documents.
    #[expect(clippy::len_without_is_empty, reason = "a group has documents")]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Calls `look` with the bytes of a document, and with a check that it must call often.
    pub fn with_bytes<T>(&mut self, document: u32, look: impl FnOnce(&[u8], Check) -> Result<T>) -> Result<T> {
        let crew = &mut *self.crew;
        look(self.bytes.unpacked(self.places[document as usize])?, &mut || crew.check())
    }

    /// Calls `make` with a group like this one for each list of documents, and `take` with the results, in order.
    /// Threads help if the documents are in memory, and there are several lists.
    pub fn each<R: Send>(
        &mut self,
        lists: &[Vec<u32>],
        make: &MakeOfGroup<R>,
        take: &mut dyn FnMut(R) -> Result<()>,
    ) -> Result<()> {
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
    fn row(&mut self, document: u32) -> Result<&[u64]> {
        let (width, place) = (self.held.width, self.place(document));
        if self.held.has_hashes() {
            return Ok(&self.held.hashes[place * width..][..width]);
        }
        self.crew.check();
        let count = self.kept(size_of::<u64>() * width);
        let bytes = &mut self.bytes;
        self.hashes.row(document, (count, width), |row| bytes.read_hashes(place as u32, row))
    }

    /// The signature of a document.
    fn signature(&mut self, document: u32, slots: usize) -> Result<&[i32]> {
        let count = self.kept(size_of::<i32>() * slots);
        let (bytes, place) = (&mut self.bytes, self.places[document as usize]);
        self.signatures.row(document, (count, slots), |row| {
            let own = bytes.unpacked(place)?.as_chunks().0.iter().map(|slot| i32::from_ne_bytes(*slot));
            row.iter_mut().zip(own).for_each(|(slot, own)| *slot = own);
            Ok(())
        })
    }

    /// Number of documents whose `bytes` bytes each are cached: they fit in a quarter of memory.
    fn kept(&self, bytes: usize) -> usize {
        (self.memory / (4 * bytes)).clamp(1, self.places.len().max(1))
    }

    /// The similarity of two documents in a cluster, however low.
    pub fn measure(&mut self, a: u32, b: u32) -> Result<f64> {
        Ok(self.at_least(a, b, 0.0)?.unwrap_or(0.0))
    }

    fn at_least(&mut self, a: u32, b: u32, threshold: f64) -> Result<Option<f64>> {
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
    fn documents(&self) -> u32 {
        self.places.len() as u32
    }

    fn probes(&self) -> usize {
        self.held.width - 1
    }

    fn sort_memory(&self) -> usize {
        self.memory
    }

    fn hashes(&mut self, column: usize, visit: &mut dyn FnMut(u32, u64)) -> Result<()> {
        let (comparing, is_whole) = (self.comparing, column == self.probes());
        for document in 0..self.documents() {
            let mut hash = self.row(document)?[column];
            if is_whole {
                // Copies that may be similar to different documents do not count as one.
                hash ^= self.bytes.agreement_hash(self.places[document as usize])?;
                if let Some(least) = self.held.leasts.get(self.place(document)) {
                    hash ^= least.to_bits().wrapping_mul(GOLDEN);
                }
                // A document in `apart` is not collapsed with its copies.
                let name = self.name(document);
                if comparing.apart.has(name) {
                    hash ^= (u64::from(name) + 1).wrapping_mul(GOLDEN);
                }
            }
            visit(document, hash);
        }
        Ok(())
    }

    fn check_interrupts(&mut self) {
        self.crew.check();
    }
}

impl Corpus for Group<'_, '_> {
    fn bands(&mut self, document: u32) -> Result<Vec<u64>> {
        let probes = self.probes();
        memory::copied(&self.row(document)?[..probes])
    }

    fn same_as(&self, document: u32) -> u32 {
        match &self.measure {
            Measure::Same | Measure::Estimated(_) => 0,
            Measure::Exact(distinct, _) => distinct.of_document(document) as u32,
        }
    }

    fn set_hash(&mut self, document: u32) -> Result<u64> {
        let Measure::Exact(distinct, sets) = &mut self.measure else { return Ok(0) };
        let own = distinct.of_document(document);
        match sets {
            Sets::All(sets) => Ok(sets.hash(own as u32).unwrap_or_default()),
            // Counts are compared in no time.
            Sets::Counted(_) => Ok(0),
            Sets::Cached(cache) => cache.set_hash(&mut self.bytes, (own as u32, distinct.places[own]), self.crew),
        }
    }

    fn share_band(&mut self, bands: usize, a: u32, b: u32) -> Result<bool> {
        let same = |a: &[u64], b: &[u64]| a[..bands].iter().zip(&b[..bands]).any(|(a, b)| a == b);
        if self.held.has_hashes() {
            let width = self.held.width;
            let row = |document| &self.held.hashes[self.place(document) * width..][..width];
            return Ok(same(row(a), row(b)));
        }
        let a = memory::copied(self.row(a)?)?;
        Ok(same(&a, self.row(b)?))
    }

    fn similarity(&mut self, a: u32, b: u32) -> Result<Option<f64>> {
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
        let mut threshold = self.comparing.terms.threshold;
        if !self.held.leasts.is_empty() {
            // The greater of two documents' own thresholds counts.
            let least = |document| self.held.leasts[self.place(document)];
            threshold = threshold.max(least(a)).max(least(b));
        }
        self.at_least(a, b, threshold)
    }
}
