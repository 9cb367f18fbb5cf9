//! Boilerplate: text that many documents of an origin share, which does not count for them.
//!
//! The rows of a job are read twice before any comparison. First, [`Collecting`] selects the documents by which an
//! origin is judged, and finds the text that they share. [`Boilerplates`] has the result when all documents are signed,
//! and when documents that share a bucket are brought together. From then on a document is the set of its counted
//! shingles. Texts and boilerplate that do not fit into memory are in files.

use std::sync::Arc;

use sketch::boilerplate::{
    self, Boilerplate, CountedPart, Enough, Frame, Judged, LEAST, OriginSample, SharedShingles, Shingled, distinct_part,
};
use sketch::pipeline::Crew;
use sketch::stored::{self, Packing, StoredBytes};
use sketch::{Config, Error, Scheme, counted};

use crate::corpus::reading::columns::{Scope, Scopes};
use crate::corpus::source::reader::{Criteria, Reader, TakeStored, Unread, append_bytes, append_hashes};
use crate::corpus::source::rows::{Again, RowSpools};
use crate::document::kind::Kind;
use crate::pg::temp_file::Spool;
use crate::pg::value_type::Output;
use crate::prelude::*;

/// A document without an origin: all of it counts.
const NONE: u32 = u32::MAX;

/// Size of a document up to which its buffer is kept.
const LONG: usize = 1 << 20;

/// Converts hashes to bytes, in `room`, whose content is replaced.
pub fn to_bytes<'a>(hashes: &[u64], room: &'a mut Vec<u8>) -> Result<&'a [u8]> {
    room.clear();
    append_bytes(hashes, room)?;
    Ok(room)
}

/// The numbers of documents with little counted text.
#[derive(Default)]
pub struct Little {
    by_equality: usize,
    small: usize,
}

impl Little {
    /// Adds a document with its counted part.
    pub fn add(&mut self, part: CountedPart) {
        self.by_equality += usize::from(part.by_equality);
        self.small += usize::from(part.is_small());
    }

    /// Reports the numbers in a NOTICE, if there are such documents.
    pub fn report(&self) {
        let Self { by_equality, small } = *self;
        let documents = |count: usize, how: &str| {
            let verb = if count == 1 { "is" } else { "are" };
            (count > 0).then(|| format!("{} {verb} compared {how}", counted(count, "document")))
        };
        let parts =
            [documents(by_equality, "for equality only"), documents(small, "by less than a third of their text")];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            notice(parts.join(", "))
                .set_detail("The rest of their text is boilerplate, which does not count.")
                .set_hint("Use near_duplicate_boilerplate() to see how much of each document counts.")
                .report(PgLogLevel::NOTICE);
        }
    }
}

/// Data about documents, collected while they are read.
pub struct Collecting {
    reader: Reader,
    /// With a scheme that hashes to 64 bits.
    pub config: Config,
    /// The origins seen so far.
    known: Scopes,
    /// Each origin as text, by number, with the output function of their type, if they are shown.
    shown: Vec<String>,
    output: Option<Output>,
    context: Memory,
    /// The origin of each document.
    origins: Vec<u32>,
    chosen: OriginSample,
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
    /// No data yet. A document's origin is the value of a column of this type and collation; without a column it is the
    /// same for all.
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
            shown: Vec::new(),
            output: None,
            context: Memory::scratch(c"minlsh origin"),
            origins: Vec::new(),
            chosen: OriginSample::default(),
        })
    }

    /// Keeps origins as text: values of a column of this type.
    pub fn show(&mut self, column: &[(Oid, Oid)]) {
        self.output = column.first().map(|(type_oid, _)| Output::of(*type_oid));
    }

    /// The number of the origin in a value of the column.
    pub fn origin(&mut self, value: impl Fn(usize) -> Option<Datum>) -> Result<u32> {
        let Some(number) = self.known.of(&value)?.map(Scope::number) else { return Ok(NONE) };
        if number as usize == self.shown.len()
            && let Some((output, value)) = self.output.as_ref().zip(value(0))
        {
            // SAFETY: a value of the column, for whose type `show` made the output function.
            let shown = self.context.run_and_reset(|| unsafe { output.shown(value) });
            memory::push(&mut self.shown, shown)?;
        }
        Ok(number)
    }

    /// Adds the next document, with the number of its origin.
    pub fn take(&mut self, origin: u32, fingerprint: u64) -> Result<()> {
        let document = self.origins.len() as u32;
        memory::push(&mut self.origins, origin)?;
        if origin == NONE {
            return Ok(());
        }
        self.chosen.offer(origin, fingerprint, document).map_err(Into::into)
    }

    /// The numbers of shingles that are enough for a document.
    pub fn enough(&self) -> Enough {
        if self.reader.kind == Kind::Text { Enough::of(&self.config) } else { Enough::WORDS }
    }

    /// Finds the boilerplate of the documents in `rows`, whose stored sizes are `sizes`. A crew counts with `counting`
    /// bytes; the result may take `memory` bytes.
    pub fn finish(
        self,
        rows: &mut RowSpools,
        sizes: &[u32],
        crew: &mut Crew,
        counting: usize,
        memory: usize,
    ) -> Result<Boilerplates> {
        let enough = self.enough();
        let Self { reader, config, shown, origins, chosen, .. } = self;
        let (spool, context) = (Spool::new(memory / 2), Memory::scratch(c"minlsh document"));
        let (again, room) = (rows.again(), Vec::new());
        let mut texts = JudgedTexts { reader, again, spool, context, room };
        let judged = texts.judged(chosen, rows, sizes)?;
        // Half for texts, and half for counters.
        let counter = ShingleCounter { reader, config: &config, memory: counting / 2 / crew.size() };
        let for_all = judged.iter().filter(|text| text.is_for_all).copied();
        let mut for_all = memory::collect(for_all)?;
        for_all.sort_unstable_by_key(|text| text.at);
        let of_all = texts.judge(&for_all, &counter, |judged, check| judged.common(check))?;
        let of_all = if of_all.is_empty() { None } else { Some(Arc::new(Boilerplate::new(&of_all)?)) };
        // The shingles in memory have a table.
        let mut hashes = Spool::new(memory / 4);
        let last = judged.last().map_or(0, |place| place.origin as usize + 1);
        let mut found = memory::filled(Found::default(), last)?;
        let mut take = |(origin, documents, shared): (u32, usize, SharedShingles)| -> Result<()> {
            let (place, count) = (hashes.append(&shared.hashes)?, shared.hashes.len());
            let judged = Some((documents as u32, shared.level as u32));
            found[origin as usize] = Found { place, count, judged, at_hand: None };
            Ok(())
        };
        let shared = |judged: Judged, check: Check| judged.shared(enough, of_all.as_deref(), check);
        let is_large =
            |sample: &&[JudgedText]| sample.iter().map(|text| text.size as usize).sum::<usize>() > counter.memory;
        let samples = || judged.chunk_by(|a, b| a.origin == b.origin);
        for sample in samples().filter(is_large) {
            let found = texts.judge(sample, &counter, shared)?;
            take((sample[0].origin, sample.len(), found))?;
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
            let found = counter.judge(count, bytes, &mut read, shared, check)?;
            Ok((sample.origin, count, found))
        };
        crew.each(&mut next, &compute, &mut take)?;
        let memory = (memory - memory / 4).saturating_sub(of_all.as_ref().map_or(0, |all| all.size()));
        Ok(Boilerplates {
            reader,
            config,
            enough,
            shown,
            origins,
            of_all,
            found,
            hashes,
            held: 0,
            memory,
            bytes: Vec::new(),
            unpacked: Vec::new(),
        })
    }
}

/// The texts of the documents by which origins are judged. An origin's texts are read together, so fetching them again
/// from their table is better than reading a file whose blocks have texts of many origins.
struct JudgedTexts {
    reader: Reader,
    again: Option<Again>,
    spool: Spool<u8>,
    /// Memory and buffer for one document.
    context: Memory,
    room: Vec<u8>,
}

impl JudgedTexts {
    /// The sampled documents of origins with enough documents to be judged, by origin and then in order. `sizes` has
    /// the sizes of all documents.
    fn judged(&mut self, chosen: OriginSample, rows: &mut RowSpools, sizes: &[u32]) -> Result<Vec<JudgedText>> {
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
        let mut origins = wanted.iter().map(|(_, origin)| *origin);
        let Self { reader, again, spool, context, room } = self;
        rows.each(&mut wanted.iter().map(|(document, _)| *document), &mut |_, row| {
            check_interrupts();
            let origin = origins.next().unwrap_or(NONE);
            let is_for_all = for_all.binary_search(&row.number).is_ok();
            let mut put = |at, size, packing| {
                judged.push(JudgedText { origin, at, size, packing, is_for_all });
                Ok(())
            };
            if again.is_some() {
                return put(row.place, sizes[row.number as usize], Packing::PLAIN);
            }
            // SAFETY: a value that the same reader has read before.
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

    /// Returns the result of `judge` for some texts, which are not copied to memory.
    fn judge<T>(
        &mut self,
        texts: &[JudgedText],
        counter: &ShingleCounter,
        judge: impl FnOnce(Judged, Check) -> Result<T, Error>,
    ) -> Result<T> {
        let mut bytes = 0;
        self.each(texts, &mut |stored| {
            bytes += stored.size();
            Ok(())
        })?;
        let mut read = |document: usize, look: &mut LookAtText| {
            let mut look = |stored: StoredBytes| look(stored).map_err(Into::into);
            let read = self.each(&texts[document..=document], &mut look);
            read.unwrap_or_else(|report| raise(report));
            Ok(())
        };
        let found = counter.judge(texts.len(), bytes, &mut read, judge, &mut check_interrupts);
        found.map_err(Into::into)
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
            // SAFETY: a value that the same reader has read before.
            let document = unsafe { reader.document(document) };
            context.run_and_reset(|| document.with_stored(room, &mut *take))
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

    /// Total size after decompression.
    fn size(&self) -> usize {
        (0..self.texts.len()).map(|document| self.of(document).size()).sum()
    }
}

/// Takes a text as it is stored.
type LookAtText<'a> = dyn FnMut(StoredBytes) -> Result<(), Error> + 'a;

/// Reads a text by its number, and passes it on.
type ReadText<'a> = dyn FnMut(usize, &mut LookAtText) -> Result<(), Error> + 'a;

/// Counts the documents of an origin with each shingle.
struct ShingleCounter<'a> {
    reader: Reader,
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
        judge: impl FnOnce(Judged, Check) -> Result<T, Error>,
        check: Check,
    ) -> Result<T, Error> {
        let (shingles, memory, mut room) = (self.reader.elements(bytes), self.memory, Vec::new());
        let hashes = &mut |document: usize, out: &mut Vec<u64>, check: Check| {
            read(document, &mut |stored: StoredBytes| {
                self.reader.hashes(self.config, stored.unpacked(&mut room)?, out, check)
            })
        };
        judge(Judged { documents, shingles, memory, hashes }, check)
    }
}

/// The shingles that do not count for documents of each origin.
pub struct Boilerplates {
    /// The reader of the documents.
    pub reader: Reader,
    /// With a scheme that hashes to 64 bits.
    pub config: Config,
    pub enough: Enough,
    /// Each origin as text, by number.
    shown: Vec<String>,
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
    /// Scratch buffers: a document as stored, and decompressed.
    bytes: Vec<u8>,
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
    at_hand: Option<Arc<Boilerplate>>,
}

impl Boilerplates {
    /// The number of a document's origin.
    pub fn origin(&self, document: u32) -> u32 {
        self.origins[document as usize]
    }

    /// The range of an origin's shingles that do not count, unless there are none or they are in memory.
    fn to_read(&self, origin: u32) -> Option<(u64, usize)> {
        let found = self.found.get(origin as usize)?;
        (found.count > 0 && found.at_hand.is_none()).then_some((found.place, found.count))
    }

    /// True if [`Self::frame`] will drop the shingles in memory, which is freed when no document uses them.
    pub fn is_full_for(&self, origin: u32) -> bool {
        let more = self.to_read(origin).map_or(0, |(_, count)| Boilerplate::bytes(count));
        self.held > 0 && self.held + more > self.memory
    }

    /// Returns the shingles that do not count for documents of an origin.
    pub fn frame(&mut self, origin: u32) -> Result<Frame> {
        if origin == NONE {
            return Ok(Frame::default());
        }
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
        let of_origin = self.found.get(origin as usize).and_then(|found| found.at_hand.clone());
        Ok(Frame { of_origin, of_all: self.of_all.clone() })
    }

    /// An origin as text, shortened if it is long.
    pub fn shown(&self, origin: u32) -> Option<&str> {
        self.shown.get(origin as usize).map(String::as_str)
    }

    /// Number of documents by which an origin was judged, and its level in percent, if it was judged.
    pub fn judged(&self, origin: u32) -> Option<(u32, u32)> {
        self.found.get(origin as usize)?.judged
    }

    /// Replaces `out` by the hashes of the counted part of a document with this origin.
    pub fn counted(&mut self, document: Unread, origin: u32, out: &mut Vec<u64>) -> Result<()> {
        self.look(document, origin, |frame, enough, content| {
            boilerplate::counted(frame, enough, content, out, &mut check_interrupts).map(|_| ())
        })
    }

    /// Counts the distinct shingles of a document with this origin, and the counted ones.
    pub fn part(&mut self, document: Unread, origin: u32) -> Result<CountedPart> {
        self.look(document, origin, |frame, enough, content| {
            distinct_part(frame, enough, content, &mut check_interrupts)
        })
    }

    /// Calls `look` with the shingles that do not count for a document with this origin, and with its content.
    fn look<T>(
        &mut self,
        document: Unread,
        origin: u32,
        look: impl FnOnce(&Frame, Enough, Shingled) -> Result<T, Error>,
    ) -> Result<T> {
        let frame = self.frame(origin)?;
        let Self { reader, config, enough, bytes, unpacked, .. } = self;
        let look = |stored: StoredBytes| {
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
            look(&frame, *enough, content).map_err(Into::into)
        };
        let found = document.with_stored(bytes, look)?;
        // Does not keep so much memory after one long text.
        unpacked.truncate(LONG);
        unpacked.shrink_to(LONG);
        Ok(found)
    }
}
