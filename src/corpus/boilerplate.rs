//! Boilerplate: what many documents of one origin share, which does not count for them.
//!
//! The rows of a job are then gone through twice before anything is compared. When they are read, [`Collecting`] puts
//! the texts aside of those documents by which an origin is judged. [`Boilerplates`] finds out what they share, and
//! has it at hand when all documents are signed, and when those that share a bucket are brought together. From there
//! on a document is the set of the shingles that count. In memory there are of each document the number of its origin,
//! and where its text is if it was put aside. Texts and boilerplate that memory does not hold are in files.

use std::collections::HashMap;
use std::sync::Arc;

use pgrx::pg_sys::{Datum, Oid};
use sketch::boilerplate::{
    Boilerplate, LEAST, OriginSample, Sampled, Shingled, counted, shared_by_many,
};
use sketch::pipeline::{CopiedDocument, Crew};
use sketch::stored::{self, Packing, StoredBytes};
use sketch::{Config, Error, Scheme, memory};

use crate::corpus::arguments::Criteria;
use crate::corpus::reader::{Reader, append_bytes, append_hashes};
use crate::corpus::scopes::{Scope, Scopes};
use crate::corpus::spool::Spool;
use crate::document::kind::Kind;
use crate::error::{Result, invalid_parameter, raise};
use crate::pg::interrupts::check_interrupts;

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
    chosen: OriginSample<Place>,
    texts: Spool,
    room: Vec<u8>,
}

/// The place of a document among those that were put aside.
#[derive(Clone, Copy)]
struct Place {
    at: u64,
    size: u32,
    packing: Packing,
}

impl Place {
    fn size(&self) -> usize {
        self.packing.size(self.size as usize)
    }
}

impl Collecting {
    /// Nothing yet, of documents whose origin is the value of a column of that type and collation, or the same for all
    /// without a column. `memory` bytes may be taken of texts.
    pub fn new(criteria: &Criteria, column: &[(Oid, Oid)], memory: usize) -> Result<Self> {
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
            texts: Spool::new(memory),
            room: Vec::new(),
        })
    }

    /// The number of the origin that a value of the column says.
    pub fn origin(&mut self, value: impl Fn(usize) -> Option<Datum>) -> Result<u32> {
        Ok(self.known.of(value)?.map_or(NONE, Scope::number))
    }

    /// Takes the next document, with the number of its origin.
    pub fn take(&mut self, origin: u32, fingerprint: u64, document: CopiedDocument) -> Result<()> {
        memory::push(&mut self.origins, origin)?;
        if origin == NONE {
            return Ok(());
        }
        let Self { chosen, texts, room, .. } = self;
        chosen.offer(origin, fingerprint, || {
            let StoredBytes { bytes, packing } = match document {
                CopiedDocument::Text(stored) => stored,
                CopiedDocument::Elements(numbers) | CopiedDocument::Signature(numbers) => {
                    StoredBytes::plain(to_bytes(numbers, room)?)
                }
            };
            // A value has less than 1 GB.
            Ok(Place { at: texts.append(bytes)?, size: bytes.len() as u32, packing })
        })
    }

    /// Finds out what does not count. A crew counts in `counting` bytes; `memory` bytes may be taken of what is found.
    pub fn finish(self, crew: &mut Crew, counting: usize, memory: usize) -> Result<Boilerplates> {
        let Self { reader, config, origins, chosen, mut texts, .. } = self;
        // What is at hand has a table.
        let mut found = Spool::new(memory / 4);
        let mut places = memory::filled((0, 0), chosen.origins() as usize)?;
        // Half for texts, and half for what is counted.
        let counter = Counter { reader, config: &config, memory: counting / 2 / crew.size() };
        let mut bytes = Vec::new();
        let mut take = |(origin, shared): (u32, Vec<u64>)| -> Result<()> {
            let at = found.append(to_bytes(&shared, &mut bytes)?)?;
            places[origin as usize] = (at, shared.len());
            Ok(())
        };
        let size =
            |origin| chosen.of_origin(origin).map(|place| place.size as usize).sum::<usize>();
        let is_large = |origin: &u32| size(*origin) > counter.memory;
        let judged =
            || (0..chosen.origins()).filter(|origin| chosen.of_origin(*origin).len() >= LEAST);
        for origin in judged().filter(is_large) {
            let documents = memory::collect(chosen.of_origin(origin).copied())?;
            let mut read = |place: &Place, out: &mut Vec<u8>| {
                let read = texts.read(place.at, place.size as usize, out);
                read.unwrap_or_else(|report| raise(report));
                Ok(())
            };
            let shared = counter.shared(&documents, &mut read, &mut check_interrupts);
            take((origin, shared?))?;
        }
        let mut others = judged().filter(|origin| !is_large(origin));
        let mut next = || {
            let Some(origin) = others.next() else { return Ok(None) };
            let sample = Sample::read(origin, chosen.of_origin(origin), &mut texts)?;
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
        let rooms = Rooms { bytes, unpacked: Vec::new(), hashes: Vec::new() };
        Ok(Boilerplates { reader, config, origins, places, found, cache, held: 0, memory, rooms })
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
    fn read<'a>(
        origin: u32,
        documents: impl Iterator<Item = &'a Place>,
        texts: &mut Spool,
    ) -> Result<Self> {
        let mut sample = Self { origin, bytes: Vec::new(), documents: Vec::new() };
        let mut room = Vec::new();
        for place in documents {
            check_interrupts();
            texts.read(place.at, place.size as usize, &mut room)?;
            let at = sample.bytes.len() as u64;
            memory::extend(&mut sample.bytes, &room)?;
            memory::push(&mut sample.documents, Place { at, ..*place })?;
        }
        Ok(sample)
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
        let shingles = documents.iter().map(|place| self.reader.elements(place.size()));
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
    hashes: Vec<u64>,
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
        let (Rooms { bytes, hashes, .. }, size) = (&mut self.rooms, size_of::<u64>());
        self.found.read(place, count * size, bytes)?;
        hashes.clear();
        append_hashes(bytes, hashes)?;
        let read = Arc::new(Boilerplate::new(hashes)?);
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
        let Self { reader, config, rooms: Rooms { bytes, unpacked, hashes }, .. } = self;
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
            counted(boilerplate.as_deref(), content, hashes, out, &mut check_interrupts)
                .map_err(Into::into)
        };
        // SAFETY: the caller promises a value of the kind that `reader` reads.
        unsafe { reader.with_stored(document, bytes, &mut count)? };
        // One long text is no reason to keep so much room.
        unpacked.truncate(LONG);
        unpacked.shrink_to(LONG);
        hashes.truncate(LONG / size_of::<u64>());
        hashes.shrink_to(LONG / size_of::<u64>());
        Ok(())
    }
}
