//! Boilerplate: what many documents of one origin share, which does not count for them.
//!
//! The rows of a job are then gone through twice before anything is compared. When they are read, [`Collecting`]
//! chooses the documents by which an origin is judged. These are read again: from their table, if rows can be had as
//! often as they are needed, or else from where their texts were put aside. [`Boilerplates`] finds out what they share,
//! and has it at hand when all documents are signed, and when those that share a bucket are brought together. From
//! there on a document is the set of the shingles that count. In memory there are of each document the number of its
//! origin, and where it is if it was chosen. Texts and boilerplate that memory does not hold are in files.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use pgrx::pg_sys::{Datum, Oid};
use sketch::boilerplate::{
    Boilerplate, LEAST, OriginSample, Sampled, Shingled, counted, shared_by_many,
};
use sketch::pipeline::Crew;
use sketch::stored::{self, Packing, StoredBytes};
use sketch::{Config, Error, Scheme, memory};

use crate::corpus::arguments::Criteria;
use crate::corpus::aside::{Again, GiveDocument};
use crate::corpus::reader::{Reader, append_bytes, append_hashes};
use crate::corpus::scopes::{Scope, Scopes};
use crate::corpus::spool::Spool;
use crate::document::kind::Kind;
use crate::error::{Result, invalid_parameter, raise};
use crate::pg::interrupts::check_interrupts;
use crate::pg::memory::Memory;

/// A document of no origin: all of it counts.
const NONE: u32 = u32::MAX;

/// Bytes of a document for which room is kept.
const LONG: usize = 1 << 20;

/// Hashes as bytes, in `room`: what it holds is replaced.
pub fn to_bytes<'a>(hashes: &[u64], room: &'a mut Vec<u8>) -> Result<&'a [u8]> {
    room.clear();
    append_bytes(hashes, room)?;
    Ok(room)
}

/// A collection of what there is to know of documents, made while they are read.
pub struct Collecting {
    reader: Reader,
    /// With a scheme that hashes to 64 bits.
    pub config: Config,
    /// The origins that were met.
    known: Scopes,
    /// The number of the origin of each document.
    origins: Vec<u32>,
    chosen: OriginSample,
}

/// The place of a document by which its origin is judged.
#[derive(Clone, Copy)]
struct Place {
    document: u32,
    origin: u32,
    /// The place at which it is, and the number of bytes that are stored there.
    at: u64,
    size: u32,
    packing: Packing,
}

/// Calls its second argument with the documents that the first one wants, in order: with the place at which each is
/// fetched again, if it is, and with what gives it.
pub type EachDocument<'a> = dyn FnMut(&dyn Fn(u32) -> bool, &mut VisitPlaced) -> Result<()> + 'a;

/// Is called with the place of a document, and with what gives it.
pub type VisitPlaced<'a> = dyn FnMut(u64, &GiveDocument) -> Result<()> + 'a;

impl Collecting {
    /// Nothing yet, of documents whose origin is the value of a column of that type and collation, or the same for all
    /// without a column.
    pub fn new(criteria: &Criteria, column: &[(Oid, Oid)]) -> Result<Self> {
        let Criteria { reader, config, .. } = criteria;
        if reader.kind == Kind::Signature {
            let message = "boilerplate cannot be left out of signatures";
            return Err(invalid_parameter(message)
                .set_hint("Use the texts that the signatures are of, or their sets of shingles."));
        }
        Ok(Self {
            reader: *reader,
            config: config.with_scheme(Scheme::Fss),
            known: Scopes::of_argument("boilerplate", column)?,
            origins: Vec::new(),
            chosen: OriginSample::default(),
        })
    }

    /// The number of the origin that a value of the column says.
    pub fn origin(&mut self, value: impl Fn(usize) -> Option<Datum>) -> Result<u32> {
        Ok(self.known.of(value)?.map_or(NONE, Scope::number))
    }

    /// Takes the next document, with the number of its origin.
    pub fn take(&mut self, origin: u32, fingerprint: u64) -> Result<()> {
        let document = self.origins.len() as u32;
        memory::push(&mut self.origins, origin)?;
        if origin == NONE {
            return Ok(());
        }
        self.chosen.offer(origin, fingerprint, document).map_err(Into::into)
    }

    /// Finds out what does not count of documents of such sizes, which `each` gives once more, and `again` if they can
    /// be had as often as they are needed. A crew counts in `counting` bytes; `memory` bytes may be taken of what is
    /// found.
    pub fn finish(
        self,
        sizes: &[u32],
        again: Option<Again>,
        each: &mut EachDocument,
        crew: &mut Crew,
        counting: usize,
        memory: usize,
    ) -> Result<Boilerplates> {
        let Self { reader, config, origins, chosen, .. } = self;
        let mut judged = judged(chosen, sizes)?;
        let mut texts = Texts::find(&mut judged, reader, again, each, memory / 2)?;
        judged.sort_unstable_by_key(|place| (place.origin, place.document));
        // What is at hand has a table.
        let mut found = Spool::new(memory / 4);
        let last = judged.last().map_or(0, |place| place.origin as usize + 1);
        let mut places = memory::filled((0, 0), last)?;
        // Half for texts, and half for what is counted.
        let counter = Counter { reader, config: &config, memory: counting / 2 / crew.size() };
        let mut bytes = Vec::new();
        let mut take = |(origin, shared): (u32, Vec<u64>)| -> Result<()> {
            let at = found.append(to_bytes(&shared, &mut bytes)?)?;
            places[origin as usize] = (at, shared.len());
            Ok(())
        };
        let is_large = |sample: &&[Place]| {
            sample.iter().map(|place| place.size as usize).sum::<usize>() > counter.memory
        };
        let samples = || judged.chunk_by(|a, b| a.origin == b.origin);
        for sample in samples().filter(is_large) {
            let mut documents = Vec::new();
            texts.each(sample, &mut |place, stored| {
                let StoredBytes { bytes, packing } = stored;
                let place = Place { size: bytes.len() as u32, packing, ..*place };
                memory::push(&mut documents, place).map_err(Into::into)
            })?;
            let mut read = |place: &Place, out: &mut Vec<u8>| {
                out.clear();
                let mut copy = |_: &Place, stored: StoredBytes| {
                    memory::extend(out, stored.bytes).map_err(Into::into)
                };
                let read = texts.each(std::slice::from_ref(place), &mut copy);
                read.unwrap_or_else(|report| raise(report));
                Ok(())
            };
            let shared = counter.shared(&documents, &mut read, &mut check_interrupts);
            take((sample[0].origin, shared?))?;
        }
        let mut others = samples().filter(|sample| !is_large(sample));
        let mut next = || {
            let Some(places) = others.next() else { return Ok(None) };
            let sample = Sample::read(places, &mut texts)?;
            let bytes = sample.bytes.len();
            Ok(Some((sample, bytes)))
        };
        let compute = |sample: &mut Sample, check: &mut dyn FnMut()| {
            let mut read = |place: &Place, out: &mut Vec<u8>| {
                out.clear();
                memory::extend(out, &sample.bytes[place.at as usize..][..place.size as usize])
            };
            Ok((sample.origin, counter.shared(&sample.documents, &mut read, check)?))
        };
        crew.each(&mut next, &compute, &mut take)?;
        let (cache, memory) = (HashMap::new(), memory - memory / 4);
        let rooms = Rooms { bytes, unpacked: Vec::new() };
        Ok(Boilerplates { reader, config, origins, places, found, cache, held: 0, memory, rooms })
    }
}

/// The documents, in order, of those origins that have enough to be judged; where they are is not known yet.
fn judged(chosen: OriginSample, sizes: &[u32]) -> Result<Vec<Place>> {
    let mut judged = Vec::new();
    for (origin, documents) in (0..).zip(chosen.into_origins()) {
        if documents.len() < LEAST {
            continue;
        }
        memory::reserve(&mut judged, documents.len())?;
        judged.extend(documents.map(|document| {
            let size = sizes[document as usize];
            Place { document, origin, at: 0, size, packing: Packing::PLAIN }
        }));
    }
    judged.sort_unstable_by_key(|place| place.document);
    Ok(judged)
}

/// The texts by which origins are judged.
struct Texts {
    reader: Reader,
    source: TextSource,
    room: Vec<u8>,
    /// Memory for one document.
    context: Memory,
}

/// The source from which the texts are read.
enum TextSource {
    InTable(Again),
    PutAside(Spool),
}

impl Texts {
    /// Finds out where the documents at some places are, which are in order. Of texts that must be put aside, `memory`
    /// bytes are held.
    fn find(
        places: &mut [Place],
        reader: Reader,
        again: Option<Again>,
        each: &mut EachDocument,
        memory: usize,
    ) -> Result<Self> {
        let source = match again {
            Some(again) => TextSource::InTable(again),
            None => TextSource::PutAside(Spool::new(memory)),
        };
        let context = Memory::scratch(c"minlsh document");
        let mut own = Self { reader, source, room: Vec::new(), context };
        let documents = memory::collect(places.iter().map(|place| place.document))?;
        let next = Cell::new(0);
        // It is asked once for each document, in order.
        let wanted = |document: u32| {
            let is_wanted = documents.get(next.get()) == Some(&document);
            next.set(next.get() + usize::from(is_wanted));
            is_wanted
        };
        let mut places = places.iter_mut();
        each(&wanted, &mut |at, value| {
            check_interrupts();
            let Some(place) = places.next() else { return Ok(()) };
            let Self { source, room, context, .. } = &mut own;
            match source {
                TextSource::InTable(_) => place.at = at,
                TextSource::PutAside(texts) => context.run_and_reset(|| {
                    // SAFETY: a value of the kind that `reader` reads, as the rows promise.
                    unsafe {
                        reader.with_stored(value()?, room, |StoredBytes { bytes, packing }| {
                            let (at, size) = (texts.append(bytes)?, bytes.len() as u32);
                            *place = Place { at, size, packing, ..*place };
                            Ok(())
                        })
                    }
                })?,
            }
            Ok(())
        })?;
        Ok(own)
    }

    /// Calls `take` with each of the documents at some places, in order, as it is stored.
    fn each(
        &mut self,
        places: &[Place],
        take: &mut dyn FnMut(&Place, StoredBytes) -> Result<()>,
    ) -> Result<()> {
        let Self { reader, source, room, context } = self;
        match source {
            TextSource::InTable(again) => {
                let mut all = places.iter();
                again.each(places.iter().map(|place| place.at), &mut |document| {
                    let Some(place) = all.next() else { return Ok(()) };
                    context.run_and_reset(|| {
                        // SAFETY: a value of the kind that `reader` reads, as the rows promise.
                        unsafe { reader.with_stored(document, room, |stored| take(place, stored)) }
                    })
                })
            }
            TextSource::PutAside(texts) => places.iter().try_for_each(|place| {
                check_interrupts();
                texts.read(place.at, place.size as usize, room)?;
                take(place, StoredBytes { bytes: room, packing: place.packing })
            }),
        }
    }
}

/// The documents by which an origin is judged, in memory.
struct Sample {
    origin: u32,
    /// As they are stored, one after the other.
    bytes: Vec<u8>,
    /// Their places there.
    documents: Vec<Place>,
}

impl Sample {
    /// Reads those of an origin.
    fn read(places: &[Place], texts: &mut Texts) -> Result<Self> {
        let (mut bytes, mut documents) = (Vec::new(), Vec::new());
        texts.each(places, &mut |place, stored| {
            let (at, size) = (bytes.len() as u64, stored.bytes.len() as u32);
            memory::extend(&mut bytes, stored.bytes)?;
            let place = Place { at, size, packing: stored.packing, ..*place };
            memory::push(&mut documents, place).map_err(Into::into)
        })?;
        Ok(Self { origin: places[0].origin, bytes, documents })
    }
}

/// Reads a document that was put aside, as it is stored.
type ReadPlace<'a> = dyn FnMut(&Place, &mut Vec<u8>) -> std::result::Result<(), Error> + 'a;

/// Counts in how many documents of an origin each shingle is.
struct Counter<'a> {
    reader: Reader,
    config: &'a Config,
    memory: usize,
}

impl Counter<'_> {
    /// The hashes of the shingles that many of some documents share. `read` reads one as it is stored.
    fn shared(
        &self,
        documents: &[Place],
        read: &mut ReadPlace,
        check: &mut dyn FnMut(),
    ) -> std::result::Result<Vec<u64>, Error> {
        let size = |place: &Place| place.packing.size(place.size as usize);
        let shingles = documents.iter().map(|place| self.reader.elements(size(place)));
        let sampled = Sampled { documents: documents.len(), shingles: shingles.sum() };
        let (mut bytes, mut room) = (Vec::new(), Vec::new());
        let mut hashes = |document: usize, out: &mut Vec<u64>, check: &mut dyn FnMut()| {
            let place = &documents[document];
            read(place, &mut bytes)?;
            let stored = StoredBytes { bytes: &bytes, packing: place.packing };
            self.reader.hashes(self.config, stored.unpacked(&mut room)?, out, check)
        };
        shared_by_many(&sampled, self.memory, &mut hashes, check)
    }
}

/// The shingles that do not count of the documents of each origin.
pub struct Boilerplates {
    reader: Reader,
    /// With a scheme that hashes to 64 bits.
    config: Config,
    /// The number of the origin of each document.
    origins: Vec<u32>,
    /// For each origin the place of its shingles, and how many they are.
    places: Vec<(u64, usize)>,
    found: Spool,
    /// As many as memory holds, and their bytes.
    cache: HashMap<u32, Arc<Boilerplate>>,
    held: usize,
    memory: usize,
    rooms: Rooms,
}

/// Room for a document.
struct Rooms {
    bytes: Vec<u8>,
    unpacked: Vec<u8>,
}

impl Boilerplates {
    /// The number of the origin of a document.
    pub fn origin(&self, document: u32) -> u32 {
        self.origins[document as usize]
    }

    /// The place and the number of the shingles of an origin that do not count, if there are any and they are not at
    /// hand.
    fn to_read(&self, origin: u32) -> Option<(u64, usize)> {
        let place = self.places.get(origin as usize).filter(|(_, count)| *count > 0);
        place.filter(|_| !self.cache.contains_key(&origin)).copied()
    }

    /// True if what is at hand must be forgotten before [`Self::of_origin`] has what it gives: whoever else has it
    /// keeps the memory.
    pub fn is_full_for(&self, origin: u32) -> bool {
        let more = self.to_read(origin).map_or(0, |(_, count)| Boilerplate::bytes(count));
        self.held > 0 && self.held + more > self.memory
    }

    /// The boilerplate of the documents of an origin; `None` if all counts.
    pub fn of_origin(&mut self, origin: u32) -> Result<Option<Arc<Boilerplate>>> {
        let Some((place, count)) = self.to_read(origin) else {
            return Ok(self.cache.get(&origin).cloned());
        };
        if self.is_full_for(origin) {
            self.cache.clear();
            self.held = 0;
        }
        let bytes = &mut self.rooms.bytes;
        self.found.read(place, count * size_of::<u64>(), bytes)?;
        let mut hashes = Vec::new();
        append_hashes(bytes, &mut hashes)?;
        let read = Arc::new(Boilerplate::new(&hashes)?);
        self.held += Boilerplate::bytes(count);
        memory::insert_at(&mut self.cache, origin, read.clone())?;
        Ok(Some(read))
    }

    /// Replaces `out` by the hashes of what counts of a document of an origin.
    ///
    /// # Safety
    /// `document` is a non-null value of the kind that the job reads.
    pub unsafe fn counted(
        &mut self,
        document: Datum,
        origin: u32,
        out: &mut Vec<u64>,
    ) -> Result<()> {
        let boilerplate = self.of_origin(origin)?;
        let Self { reader, config, rooms: Rooms { bytes, unpacked }, .. } = self;
        let mut count = |stored: StoredBytes| {
            let bytes = stored.unpacked(unpacked)?;
            let (text, mut elements);
            let content = if reader.is_of_texts() {
                text = stored::text(bytes)?;
                Shingled::Text(config, &text)
            } else {
                elements = Vec::new();
                append_hashes(bytes, &mut elements)?;
                Shingled::Elements(&elements)
            };
            counted(boilerplate.as_deref(), content, out, &mut check_interrupts).map_err(Into::into)
        };
        // SAFETY: the caller promises a value of the kind that `reader` reads.
        unsafe { reader.with_stored(document, bytes, &mut count)? };
        // One long text is no reason to keep so much room.
        unpacked.truncate(LONG);
        unpacked.shrink_to(LONG);
        Ok(())
    }
}
