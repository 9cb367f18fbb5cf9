//! Boilerplate: text that many documents of an origin share, which does not count for them.
//!
//! The rows of a job are read twice before any comparison. First, [`Collecting`] selects the documents by which an
//! origin is judged, and finds the text that they share. [`Boilerplates`] has the result when all documents are signed,
//! and when documents that share a bucket are brought together. From then on a document is the set of its counted
//! shingles. Texts and boilerplate that do not fit into memory are in files.

use std::sync::Arc;

use super::attributes::NO_ORIGIN;
use super::form::{Form, Terms};
use super::host::{DocumentPass, Host, Process, TakeStored};
use crate::boilerplate::{
    Boilerplate, CountedPart, Enough, Frame, Judged, LEAST, OriginSample, SharedShingles, Shingled, counted,
    distinct_part,
};
use crate::pipeline::Crew;
use crate::scheme::Scheme;
use crate::spool::{Spool, numbers};
use crate::stored::{Packing, StoredBytes, text};
use crate::{Check, Config, Error, Result, memory};

/// Size of a document up to which its buffer is kept.
const LONG: usize = 1 << 20;

/// Data about documents, collected while they are read.
pub(super) struct Collecting {
    form: Form,
    /// With a scheme that hashes to 64 bits.
    pub(super) config: Config,
    /// The origin of each document.
    origins: Vec<u32>,
    chosen: OriginSample,
    /// Bytes that the result may take.
    memory: usize,
}

/// A document by which its origin is judged.
#[derive(Clone, Copy)]
struct JudgedText {
    origin: u32,
    /// The position of its stored bytes, or of its row, and its stored size.
    at: u64,
    size: u32,
    /// The packing of its stored bytes.
    packing: Packing,
    /// True if it belongs to the sample for all origins.
    is_for_all: bool,
}

impl Collecting {
    /// No data yet; the result may take `memory` bytes.
    pub(super) fn new(terms: &Terms, memory: usize) -> Self {
        Self {
            form: terms.form,
            config: terms.config.with_scheme(Scheme::Fss),
            origins: Vec::new(),
            chosen: OriginSample::default(),
            memory,
        }
    }

    /// Adds the next document, with the number of its origin.
    pub(super) fn take(&mut self, origin: u32, fingerprint: u64) -> Result<()> {
        let document = self.origins.len() as u32;
        memory::push(&mut self.origins, origin)?;
        if origin == NO_ORIGIN {
            return Ok(());
        }
        self.chosen.offer(origin, fingerprint, document)
    }

    /// Finds the boilerplate of the documents of `host`, whose stored sizes are `sizes`. A crew counts with `counting`
    /// bytes.
    pub(super) fn finish<H: Host>(
        self,
        host: &mut H,
        sizes: &[u32],
        crew: &mut Crew,
        (process, counting): (&Process, usize),
    ) -> Result<Boilerplates, H::Error> {
        let Self { form, config, origins, chosen, memory } = self;
        let enough = if form == Form::Text { Enough::of(&config) } else { Enough::WORDS };
        let (new_file, check) = (process.new_file, process.check());
        let mut texts = JudgedTexts { form, spool: Spool::new(memory / 2, new_file), room: Vec::new(), check };
        let judged = texts.judged(chosen, host, sizes)?;
        let host = &*host;
        // Half for texts, and half for counters.
        let counter = ShingleCounter { form, config: &config, memory: counting / 2 / crew.size() };
        let for_all = judged.iter().filter(|text| text.is_for_all).copied();
        let mut for_all = memory::collect(for_all)?;
        for_all.sort_unstable_by_key(|text| text.at);
        let of_all = texts.judge(host, &for_all, &counter, crew, |judged, check| judged.common(check))?;
        let of_all = if of_all.is_empty() { None } else { Some(Arc::new(Boilerplate::new(&of_all)?)) };
        // The shingles in memory have a table.
        let mut hashes = Spool::new(memory / 4, new_file);
        let last = judged.last().map_or(0, |place| place.origin as usize + 1);
        let mut found = memory::filled(Found::default(), last)?;
        let mut take = |(origin, documents, shared): (u32, usize, SharedShingles)| -> Result<(), H::Error> {
            let (place, count) = (hashes.append(&shared.hashes)?, shared.hashes.len());
            let judged = Some((documents as u32, shared.level as u32));
            found[origin as usize] = Found { place, count, judged, loaded: None };
            Ok(())
        };
        let shared = |judged: Judged, check: Check| judged.shared(enough, of_all.as_deref(), check);
        let is_large =
            |sample: &&[JudgedText]| sample.iter().map(|text| text.size as usize).sum::<usize>() > counter.memory;
        let samples = || judged.chunk_by(|a, b| a.origin == b.origin);
        for sample in samples().filter(is_large) {
            let found = texts.judge(host, sample, &counter, crew, shared)?;
            take((sample[0].origin, sample.len(), found))?;
        }
        let mut others = samples().filter(|sample| !is_large(sample));
        let mut next = || {
            let Some(sample) = others.next() else { return Ok(None) };
            let sample = OriginTexts::read(host, sample, &mut texts)?;
            let bytes = sample.bytes.len();
            Ok(Some((sample, bytes)))
        };
        let compute = |sample: &mut OriginTexts, check: Check| {
            let mut read = |document: usize, look: &mut LookAtText| look(sample.of(document));
            let (count, bytes) = (sample.texts.len(), sample.size());
            let found = counter.judge(count, bytes, &mut read, shared, check)?;
            Ok((sample.origin, count, found))
        };
        crew.each(&mut next, &compute, &mut take)?;
        let memory = (memory - memory / 4).saturating_sub(of_all.as_ref().map_or(0, |all| all.size()));
        Ok(Boilerplates { form, config, enough, origins, of_all, found, hashes, held: 0, memory, unpacked: Vec::new() })
    }
}

/// The texts of the documents by which origins are judged. An origin's texts are read together, so fetching them again
/// from their host is better than reading a file whose blocks have texts of many origins.
struct JudgedTexts {
    form: Form,
    spool: Spool<u8>,
    /// Scratch buffer for one document.
    room: Vec<u8>,
    check: fn(),
}

impl JudgedTexts {
    /// The sampled documents of origins with enough documents to be judged, by origin and then in order. `sizes` has
    /// the sizes of all documents.
    fn judged<H: Host>(
        &mut self,
        chosen: OriginSample,
        host: &mut H,
        sizes: &[u32],
    ) -> Result<Vec<JudgedText>, H::Error> {
        let mut wanted = Vec::new();
        let mut for_all = chosen.of_all()?;
        for_all.sort_unstable();
        for (origin, documents) in (0..).zip(chosen.into_origins()) {
            if documents.len() >= LEAST {
                memory::reserve(&mut wanted, documents.len())?;
                wanted.extend(documents.map(|document| (document, origin)));
            }
        }
        wanted.sort_unstable();
        let mut judged = memory::with_capacity(wanted.len())?;
        let mut put = |(document, origin): (u32, u32), at, size, packing| {
            let is_for_all = for_all.binary_search(&document).is_ok();
            judged.push(JudgedText { origin, at, size, packing, is_for_all });
        };
        if host.can_fetch() {
            for text in wanted {
                put(text, text.0.into(), sizes[text.0 as usize], Packing::PLAIN);
            }
        } else {
            let mut origins = wanted.iter().map(|(_, origin)| *origin);
            let Self { form, spool, .. } = self;
            let numbers = &mut wanted.iter().map(|(document, _)| *document);
            host.each(DocumentPass::Again, numbers, &mut |document, read| {
                let origin = origins.next().unwrap_or(NO_ORIGIN);
                read(*form, &mut |StoredBytes { bytes, packing }| {
                    put((document, origin), spool.append(bytes)?, bytes.len() as u32, packing);
                    Ok(())
                })
            })?;
        }
        judged.sort_unstable_by_key(|text| (text.origin, text.at));
        Ok(judged)
    }

    /// Returns the result of `judge` for some texts, which are not copied to memory.
    fn judge<H: Host, T>(
        &mut self,
        host: &H,
        texts: &[JudgedText],
        counter: &ShingleCounter,
        crew: &mut Crew,
        judge: impl FnOnce(Judged, Check) -> Result<T>,
    ) -> Result<T, H::Error> {
        let mut bytes = 0;
        self.each(host, texts, &mut |stored| {
            bytes += stored.size();
            Ok(())
        })?;
        let mut outcome = Ok(());
        let mut read = |document: usize, look: &mut LookAtText| {
            let mut looked = Ok(());
            let mut look = |stored: StoredBytes| {
                looked = look(stored);
                Ok(())
            };
            outcome = self.each(host, &texts[document..=document], &mut look);
            // Only stops the judgement: `outcome` is the error that is reported.
            if outcome.is_err() { Err(Error::Stopped) } else { looked }
        };
        let found = counter.judge(texts.len(), bytes, &mut read, judge, &mut || crew.check());
        outcome?;
        Ok(found?)
    }

    /// Calls `take` with each of some texts, as it is stored.
    fn each<H: Host>(
        &mut self,
        host: &H,
        texts: &[JudgedText],
        take: &mut TakeStored<H::Error>,
    ) -> Result<(), H::Error> {
        let Self { form, spool, room, check } = self;
        if host.can_fetch() {
            let numbers = &mut texts.iter().map(|text| text.at as u32);
            return host.fetch(numbers, &mut |_, read| read(*form, take));
        }
        texts.iter().try_for_each(|text| {
            check();
            spool.copy(text.at, text.size as usize, room)?;
            take(StoredBytes { bytes: room, packing: text.packing })
        })
    }
}

/// The documents by which an origin is judged, in memory.
struct OriginTexts {
    origin: u32,
    /// As they are stored, one after another.
    bytes: Vec<u8>,
    /// For each its end and its packing.
    texts: Vec<(usize, Packing)>,
}

impl OriginTexts {
    /// Reads the texts of an origin.
    fn read<H: Host>(host: &H, sample: &[JudgedText], stored: &mut JudgedTexts) -> Result<Self, H::Error> {
        let (mut bytes, mut texts) = (Vec::new(), memory::with_capacity(sample.len())?);
        memory::reserve(&mut bytes, sample.iter().map(|text| text.size as usize).sum())?;
        stored.each(host, sample, &mut |stored| {
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

    /// Total size after decompression.
    fn size(&self) -> usize {
        (0..self.texts.len()).map(|document| self.of(document).size()).sum()
    }
}

/// Takes a text as it is stored.
type LookAtText<'a> = dyn FnMut(StoredBytes) -> Result<()> + 'a;

/// Reads a text by its number, and passes it on.
type ReadText<'a> = dyn FnMut(usize, &mut LookAtText) -> Result<()> + 'a;

/// Counts the documents of an origin with each shingle.
struct ShingleCounter<'a> {
    form: Form,
    config: &'a Config,
    memory: usize,
}

impl ShingleCounter<'_> {
    /// Returns the result of `judge` for `documents` texts with `bytes` bytes after decompression.
    fn judge<T>(
        &self,
        documents: usize,
        bytes: usize,
        read: &mut ReadText,
        judge: impl FnOnce(Judged, Check) -> Result<T>,
        check: Check,
    ) -> Result<T> {
        let (shingles, memory, mut room) = (self.form.elements(bytes), self.memory, Vec::new());
        let hashes = &mut |document: usize, out: &mut Vec<u64>, check: Check| {
            read(document, &mut |stored: StoredBytes| {
                self.form.hashes(self.config, stored.unpacked(&mut room)?, out, check)
            })
        };
        judge(Judged { documents, shingles, memory, hashes }, check)
    }
}

/// The shingles that do not count for documents of each origin.
pub struct Boilerplates {
    /// The form of the documents.
    pub(super) form: Form,
    /// With a scheme that hashes to 64 bits.
    config: Config,
    pub(super) enough: Enough,
    /// The origin of each document.
    origins: Vec<u32>,
    /// The shingles that are common to documents of all origins.
    of_all: Option<Arc<Boilerplate>>,
    /// By origin.
    found: Vec<Found>,
    /// The hashes of all origins.
    hashes: Spool<u64>,
    /// Size of the shingles in memory.
    held: usize,
    memory: usize,
    /// Scratch buffer: a decompressed document.
    unpacked: Vec<u8>,
}

/// The shingles of an origin that do not count.
#[derive(Clone, Default)]
struct Found {
    /// Position and number of their hashes.
    place: u64,
    count: usize,
    /// Number of documents by which it was judged, and its level in percent; `None` for an origin with too few
    /// documents.
    judged: Option<(u32, u32)>,
    loaded: Option<Arc<Boilerplate>>,
}

impl Boilerplates {
    /// The number of a document's origin.
    pub fn origin(&self, document: u32) -> u32 {
        self.origins[document as usize]
    }

    /// The place of an origin's boilerplate in the file, and the number of its shingles. `None` without boilerplate, or
    /// if it is in memory.
    fn to_read(&self, origin: u32) -> Option<(u64, usize)> {
        let found = self.found.get(origin as usize)?;
        (found.count > 0 && found.loaded.is_none()).then_some((found.place, found.count))
    }

    /// True if [`Self::frame`] will drop the shingles in memory, which is freed when no document uses them.
    pub(super) fn is_full_for(&self, origin: u32) -> bool {
        let more = self.to_read(origin).map_or(0, |(_, count)| Boilerplate::bytes(count));
        self.held > 0 && self.held + more > self.memory
    }

    /// Returns the shingles that do not count for documents of an origin.
    pub(super) fn frame(&mut self, origin: u32) -> Result<Frame> {
        if origin == NO_ORIGIN {
            return Ok(Frame::default());
        }
        if let Some((place, count)) = self.to_read(origin) {
            if self.is_full_for(origin) {
                self.found.iter_mut().for_each(|found| found.loaded = None);
                self.held = 0;
            }
            let mut hashes = Vec::new();
            self.hashes.copy(place, count, &mut hashes)?;
            self.found[origin as usize].loaded = Some(Arc::new(Boilerplate::new(&hashes)?));
            self.held += Boilerplate::bytes(count);
        }
        let of_origin = self.found.get(origin as usize).and_then(|found| found.loaded.clone());
        Ok(Frame { of_origin, of_all: self.of_all.clone() })
    }

    /// Number of documents by which an origin was judged, and its level in percent, if it was judged.
    pub fn judged(&self, origin: u32) -> Option<(u32, u32)> {
        self.found.get(origin as usize)?.judged
    }

    /// Replaces `out` by the hashes of the counted part of a document with this origin.
    pub(super) fn counted(&mut self, stored: StoredBytes, origin: u32, out: &mut Vec<u64>, check: Check) -> Result<()> {
        self.look(stored, origin, |frame, enough, content| counted(frame, enough, content, out, check).map(|_| ()))
    }

    /// Counts the distinct shingles of a document with this origin, and the counted ones.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or an error of the file.
    pub fn part(&mut self, stored: StoredBytes, origin: u32, check: Check) -> Result<CountedPart> {
        self.look(stored, origin, |frame, enough, content| distinct_part(frame, enough, content, check))
    }

    /// Calls `look` with the shingles that do not count for a document with this origin, and with its content.
    fn look<T>(
        &mut self,
        stored: StoredBytes,
        origin: u32,
        look: impl FnOnce(&Frame, Enough, Shingled) -> Result<T>,
    ) -> Result<T> {
        let frame = self.frame(origin)?;
        let Self { form, config, enough, unpacked, .. } = self;
        let bytes = stored.unpacked(unpacked)?;
        let found = if *form == Form::Text {
            look(&frame, *enough, Shingled::Text(config, &text(bytes)?))
        } else {
            look(&frame, *enough, Shingled::Elements(numbers(bytes, &mut Vec::new())?))
        };
        // Does not keep so much memory after one long text.
        unpacked.truncate(LONG);
        unpacked.shrink_to(LONG);
        found
    }
}
