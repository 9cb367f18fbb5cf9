//! Boilerplate: what many documents of one origin share, which does not count for them.
//!
//! The rows of a job are read twice before anything is compared. At first [`Collecting`] chooses the documents by which
//! an origin is judged, and finds out what their texts share. [`Boilerplates`] has that at hand when all documents are
//! signed, and when those that share a bucket are brought together. From there on a document is the set of the shingles
//! that count. Texts and boilerplate that memory does not hold are in files.

use std::sync::Arc;

use sketch::boilerplate::{Boilerplate, LEAST, OriginSample, Shingled, counted, shared_by_many};
use sketch::pipeline::Crew;
use sketch::stored::{self, Packing, StoredBytes};
use sketch::{Config, Error, Scheme};

use crate::corpus::reading::columns::{Scope, Scopes};
use crate::corpus::source::reader::{
    Criteria, Reader, TakeStored, Unread, append_bytes, append_hashes,
};
use crate::corpus::source::rows::{Again, RowSpools};
use crate::document::kind::Kind;
use crate::pg::temp_file::Spool;
use crate::prelude::*;

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

/// A document by which its origin is judged.
#[derive(Clone, Copy)]
struct JudgedText {
    origin: u32,
    /// The place at which it was put aside, or that of its row, and the number of bytes that are stored there.
    at: u64,
    size: u32,
    /// The way in which it was put aside.
    packing: Packing,
}

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
            known: Scopes::new("boilerplate", column)?,
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

    /// Finds out what does not count of the documents that are the rows of `rows`, and for which so many bytes each are
    /// put aside. A crew counts in `counting` bytes; `memory` bytes may be taken of what is found.
    pub fn finish(
        self,
        rows: &mut RowSpools,
        sizes: &[u32],
        crew: &mut Crew,
        counting: usize,
        memory: usize,
    ) -> Result<Boilerplates> {
        let Self { reader, config, origins, chosen, .. } = self;
        let (spool, context) = (Spool::new(memory / 2), Memory::scratch(c"minlsh document"));
        let (again, room) = (rows.again(), Vec::new());
        let mut texts = JudgedTexts { reader, again, spool, context, room };
        let judged = texts.judged(chosen, rows, sizes)?;
        // What is at hand has a table.
        let mut hashes = Spool::new(memory / 4);
        let last = judged.last().map_or(0, |place| place.origin as usize + 1);
        let mut found = memory::filled(Found::default(), last)?;
        // Half for texts, and half for what is counted.
        let counter =
            ShingleCounter { reader, config: &config, memory: counting / 2 / crew.size() };
        let mut take = |(origin, shared): (u32, Vec<u64>)| -> Result<()> {
            let (place, count) = (hashes.append(&shared)?, shared.len());
            found[origin as usize] = Found { place, count, at_hand: None };
            Ok(())
        };
        let is_large = |sample: &&[JudgedText]| {
            sample.iter().map(|text| text.size as usize).sum::<usize>() > counter.memory
        };
        let samples = || judged.chunk_by(|a, b| a.origin == b.origin);
        for sample in samples().filter(is_large) {
            let mut bytes = 0;
            texts.each(sample, &mut |stored| {
                bytes += stored.size();
                Ok(())
            })?;
            let mut read = |document: usize, look: &mut LookAtText| {
                let mut look = |stored: StoredBytes| look(stored).map_err(Into::into);
                let read = texts.each(&sample[document..=document], &mut look);
                read.unwrap_or_else(|report| raise(report));
                Ok(())
            };
            let shared = counter.shared(sample.len(), bytes, &mut read, &mut check_interrupts);
            take((sample[0].origin, shared?))?;
        }
        let mut others = samples().filter(|sample| !is_large(sample));
        let mut next = || {
            let Some(sample) = others.next() else { return Ok(None) };
            let sample = OriginTexts::read(sample, &mut texts)?;
            let bytes = sample.bytes.len();
            Ok(Some((sample, bytes)))
        };
        let compute = |sample: &mut OriginTexts, check: Check| {
            let mut read = |document: usize, look: &mut LookAtText| look(sample.of(document));
            let (count, bytes) = (sample.texts.len(), sample.size());
            Ok((sample.origin, counter.shared(count, bytes, &mut read, check)?))
        };
        crew.each(&mut next, &compute, &mut take)?;
        let (held, memory, bytes, unpacked) = (0, memory - memory / 4, Vec::new(), Vec::new());
        Ok(Boilerplates { reader, config, origins, found, hashes, held, memory, bytes, unpacked })
    }
}

/// The texts of the documents by which origins are judged. Those of one origin are read together, so they are rather
/// fetched from their table once more than from a file, whose blocks have texts of many origins.
struct JudgedTexts {
    reader: Reader,
    again: Option<Again>,
    spool: Spool<u8>,
    /// Memory and room for one document.
    context: Memory,
    room: Vec<u8>,
}

impl JudgedTexts {
    /// The documents of those origins that have enough to be judged, by origin, and then in order. `sizes` are those of
    /// all documents.
    fn judged(
        &mut self,
        chosen: OriginSample,
        rows: &mut RowSpools,
        sizes: &[u32],
    ) -> Result<Vec<JudgedText>> {
        let mut wanted = Vec::new();
        for (origin, documents) in (0..).zip(chosen.into_origins()) {
            if documents.len() >= LEAST {
                memory::reserve(&mut wanted, documents.len())?;
                wanted.extend(documents.map(|document| (document, origin)));
            }
        }
        wanted.sort_unstable();
        let mut judged = memory::with_capacity(wanted.len())?;
        let mut origins = wanted.iter().map(|(_, origin)| *origin);
        let Self { reader, again, spool, context, room } = self;
        rows.each(&mut wanted.iter().map(|(document, _)| *document), &mut |_, row| {
            check_interrupts();
            let origin = origins.next().unwrap_or(NONE);
            let mut put = |at, size, packing| {
                judged.push(JudgedText { origin, at, size, packing });
                Ok(())
            };
            if again.is_some() {
                return put(row.place, sizes[row.number as usize], Packing::PLAIN);
            }
            // SAFETY: a value that was taken in before, by the same reader.
            let document = unsafe { reader.document(row.document()?) };
            context.run_and_reset(|| {
                document.with_stored(room, |StoredBytes { bytes, packing }| {
                    put(spool.append(bytes)?, bytes.len() as u32, packing)
                })
            })
        })?;
        rows.rewind();
        judged.sort_unstable_by_key(|text| (text.origin, text.at));
        Ok(judged)
    }

    /// Calls `take` with each of some texts, as it is stored.
    fn each(&mut self, texts: &[JudgedText], take: &mut TakeStored) -> Result<()> {
        let Self { reader, again, spool, context, room } = self;
        let Some(again) = again else {
            return texts.iter().try_for_each(|text| {
                check_interrupts();
                spool.copy(text.at, text.size as usize, room)?;
                take(StoredBytes { bytes: room, packing: text.packing })
            });
        };
        again.each(texts.iter().map(|text| text.at), &mut |document| {
            // SAFETY: a value that was taken in before, by the same reader.
            let document = unsafe { reader.document(document) };
            context.run_and_reset(|| document.with_stored(room, &mut *take))
        })
    }
}

/// The documents by which an origin is judged, in memory.
struct OriginTexts {
    origin: u32,
    /// As they are stored, one after the other.
    bytes: Vec<u8>,
    /// For each its end there, and how it is stored.
    texts: Vec<(usize, Packing)>,
}

impl OriginTexts {
    /// Reads those of an origin.
    fn read(sample: &[JudgedText], stored: &mut JudgedTexts) -> Result<Self> {
        let (mut bytes, mut texts) = (Vec::new(), memory::with_capacity(sample.len())?);
        memory::reserve(&mut bytes, sample.iter().map(|text| text.size as usize).sum())?;
        stored.each(sample, &mut |stored| {
            memory::extend(&mut bytes, stored.bytes)?;
            texts.push((bytes.len(), stored.packing));
            Ok(())
        })?;
        Ok(Self { origin: sample[0].origin, bytes, texts })
    }

    /// The text of a document.
    fn of(&self, document: usize) -> StoredBytes<'_> {
        let start = if document == 0 { 0 } else { self.texts[document - 1].0 };
        let (end, packing) = self.texts[document];
        StoredBytes { bytes: &self.bytes[start..end], packing }
    }

    /// The number of bytes of all, once they are unpacked.
    fn size(&self) -> usize {
        (0..self.texts.len()).map(|document| self.of(document).size()).sum()
    }
}

/// Takes a text as it is stored.
type LookAtText<'a> = dyn FnMut(StoredBytes) -> Result<(), Error> + 'a;

/// Reads a text, by its number, and passes it on.
type ReadText<'a> = dyn FnMut(usize, &mut LookAtText) -> Result<(), Error> + 'a;

/// Counts in how many documents of an origin each shingle is.
struct ShingleCounter<'a> {
    reader: Reader,
    config: &'a Config,
    memory: usize,
}

impl ShingleCounter<'_> {
    /// The hashes of the shingles that many of some documents share, which have so many bytes once they are unpacked.
    fn shared(
        &self,
        documents: usize,
        bytes: usize,
        read: &mut ReadText,
        check: Check,
    ) -> Result<Vec<u64>, Error> {
        let (shingles, mut room) = (self.reader.elements(bytes), Vec::new());
        let mut hashes = |document: usize, out: &mut Vec<u64>, check: Check| {
            read(document, &mut |stored: StoredBytes| {
                self.reader.hashes(self.config, stored.unpacked(&mut room)?, out, check)
            })
        };
        shared_by_many(documents, shingles, self.memory, &mut hashes, check)
    }
}

/// The shingles that do not count of the documents of each origin.
pub struct Boilerplates {
    /// The reader of the documents.
    pub reader: Reader,
    /// With a scheme that hashes to 64 bits.
    config: Config,
    /// The number of the origin of each document.
    origins: Vec<u32>,
    /// By origin.
    found: Vec<Found>,
    /// Those of all origins.
    hashes: Spool<u64>,
    /// The bytes of those that are at hand.
    held: usize,
    memory: usize,
    /// Room for a document, as it is stored and unpacked.
    bytes: Vec<u8>,
    unpacked: Vec<u8>,
}

/// The shingles of an origin that do not count.
#[derive(Clone, Default)]
struct Found {
    /// The place of their hashes, and their number.
    place: u64,
    count: usize,
    at_hand: Option<Arc<Boilerplate>>,
}

impl Boilerplates {
    /// The number of the origin of a document.
    pub fn origin(&self, document: u32) -> u32 {
        self.origins[document as usize]
    }

    /// The shingles of an origin that do not count, if there are any that are not at hand.
    fn to_read(&self, origin: u32) -> Option<(u64, usize)> {
        let found = self.found.get(origin as usize)?;
        (found.count > 0 && found.at_hand.is_none()).then_some((found.place, found.count))
    }

    /// True if [`Self::of_origin`] will forget what is at hand, whose memory stays with those who still use it.
    pub fn is_full_for(&self, origin: u32) -> bool {
        let more = self.to_read(origin).map_or(0, |(_, count)| Boilerplate::bytes(count));
        self.held > 0 && self.held + more > self.memory
    }

    /// The boilerplate of the documents of an origin; `None` if all counts.
    pub fn of_origin(&mut self, origin: u32) -> Result<Option<Arc<Boilerplate>>> {
        if let Some((place, count)) = self.to_read(origin) {
            if self.is_full_for(origin) {
                self.found.iter_mut().for_each(|found| found.at_hand = None);
                self.held = 0;
            }
            let mut hashes = Vec::new();
            self.hashes.copy(place, count, &mut hashes)?;
            self.found[origin as usize].at_hand = Some(Arc::new(Boilerplate::new(&hashes)?));
            self.held += Boilerplate::bytes(count);
        }
        Ok(self.found.get(origin as usize).and_then(|found| found.at_hand.clone()))
    }

    /// Replaces `out` by the hashes of what counts of a document of an origin.
    pub fn counted(&mut self, document: Unread, origin: u32, out: &mut Vec<u64>) -> Result<()> {
        let boilerplate = self.of_origin(origin)?;
        let Self { reader, config, bytes, unpacked, .. } = self;
        let mut count = |stored: StoredBytes| {
            let bytes = stored.unpacked(unpacked)?;
            let (text, mut elements);
            let content = if reader.kind == Kind::Text {
                text = stored::text(bytes)?;
                Shingled::Text(config, &text)
            } else {
                elements = Vec::new();
                append_hashes(bytes, &mut elements)?;
                Shingled::Elements(&elements)
            };
            counted(boilerplate.as_deref(), content, out, &mut check_interrupts).map_err(Into::into)
        };
        document.with_stored(bytes, &mut count)?;
        // One long text is no reason to keep so much room.
        unpacked.truncate(LONG);
        unpacked.shrink_to(LONG);
        Ok(())
    }
}
