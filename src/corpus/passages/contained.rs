//! `contained_documents()`: which documents are inside others, wholly or to a share.
//!
//! 1. Each text is read once: its fingerprints are sorted, the normalized text goes to a temporary file.
//! 2. Fingerprints that several texts have are sorted by text, each with the number of the others.
//! 3. A text that is contained shares one of a stretch of its fingerprints with its container, and any stretch that is
//!    long enough will do ([`Bound`](sketch::passage::Bound)). The one that the fewest others have is asked for. Most
//!    texts have a stretch that nobody else has, and are contained in nothing.
//! 4. What is asked for meets the texts that have it, in the order of fingerprints: these pairs are the candidates.
//! 5. Sorted by contained text, candidates are read from the temporary file and compared. The texts decide.

use pgrx::pg_sys::Datum;
use sketch::memory;
use sketch::pipeline::{Asking, Containing, Find, GivenText, TextBatch};

use crate::corpus::passages::question::PassageQuestion;
use crate::corpus::passages::texts::{ReadText, Texts};
use crate::corpus::progress::JobPhase;
use crate::corpus::spool::Spool;
use crate::error::Result;
use crate::index::layout::Entry;
use crate::index::sort::Sorter;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::interrupts::check_interrupts;
use crate::pg::result_rows::ResultRows;
use crate::pg::spi::Session;

sql_function!(minlsh_contained_documents, contained_documents);

/// Bytes of candidates of one text that are compared together.
const TOGETHER: usize = 1 << 20;

/// The mark of a fingerprint that is asked for, among those that texts have.
const ASKED: u64 = 1 << 63;

/// `contained_documents(source, coverage, ...) → (doc_id, container_id, coverage, containers)`
fn contained_documents(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let (question, coverage) = PassageQuestion::of_contained(call)?;
    let session = Session::open();
    let mut stored = Stored { spool: Spool::new(0), texts: Vec::new() };
    let keep: &mut dyn FnMut(ReadText, &str) -> Result<()> =
        &mut |document, text| stored.push(document, text);
    let (texts, fingerprints) = Texts::read(&session, &question, Some(keep))?;
    let mut job = Job { texts: &texts, stored, coverage };
    let candidates = job.candidates(fingerprints)?;
    job.compare(candidates, &mut |contained| {
        let Contained { document, container, covered, length, containers } = contained;
        result.push(&[
            Some(texts.keys.key(document)),
            Some(texts.keys.key(container)),
            Some(float8_datum(f64::from(covered) / f64::from(length))),
            Some(Datum::from(containers)),
        ]);
    })?;
    Ok(None)
}

/// A document that is inside others.
struct Contained {
    document: u32,
    /// The longest of these, of equally long ones the first.
    container: u32,
    /// The number of its characters that the container has.
    covered: u32,
    length: u32,
    /// The number of documents.
    containers: i64,
}

/// The normalized texts of a source in a temporary file, each once.
struct Stored {
    spool: Spool,
    texts: Vec<StoredText>,
}

#[derive(Clone, Copy)]
struct StoredText {
    offset: u64,
    bytes: u32,
    /// Characters.
    length: u32,
    salt: u64,
}

impl Stored {
    fn push(&mut self, document: ReadText, text: &str) -> Result<()> {
        let text = if document.is_copy { "" } else { text };
        let ReadText { salt, length, .. } = document;
        let offset = self.spool.append(text.as_bytes())?;
        let stored = StoredText { offset, bytes: text.len() as u32, length, salt };
        memory::push(&mut self.texts, stored).map_err(Into::into)
    }

    /// Reads a text into `buffer`.
    fn read<'b>(&mut self, number: u32, buffer: &'b mut Vec<u8>) -> Result<&'b str> {
        let StoredText { offset, bytes, .. } = self.texts[number as usize];
        self.spool.read(offset, bytes as usize, buffer)?;
        Ok(std::str::from_utf8(buffer).unwrap_or_default())
    }
}

struct Job<'a> {
    texts: &'a Texts,
    stored: Stored,
    coverage: f64,
}

impl Job<'_> {
    /// Pairs of a text that may be contained and one that may contain it, sorted by both.
    fn candidates(&mut self, fingerprints: Sorter) -> Result<Sorter> {
        let texts = self.texts;
        texts.progress.enter(JobPhase::Counting);
        let half = texts.share / 2;
        let (by_text, mut met) = by_text(fingerprints, half)?;
        self.ask(by_text, &mut met)?;
        // By fingerprint: those that have it first, then those that ask for it.
        let mut candidates = Sorter::new(half);
        let (mut key, mut having) = (None, Vec::new());
        let texts_of = &self.stored.texts;
        met.finish(|Entry { key: of, tid }| {
            if key != Some(of) {
                key = Some(of);
                having.clear();
            }
            if tid & ASKED == 0 {
                return memory::push(&mut having, tid as u32).map_err(Into::into);
            }
            let asking = (tid & !ASKED) as u32;
            let salt = texts_of[asking as usize].salt;
            let others = having
                .iter()
                .filter(|other| **other != asking && texts_of[**other as usize].salt == salt);
            for other in others {
                check_interrupts();
                let key = u64::from(asking) << 32 | u64::from(*other);
                candidates.push(Entry { key, tid: 0 })?;
            }
            Ok(())
        })?;
        Ok(candidates)
    }

    /// Adds to `met` what each text asks for, of the fingerprints that others have too.
    fn ask(&mut self, by_text: Sorter, met: &mut Sorter) -> Result<()> {
        let (texts, stored, coverage) = (self.texts, &mut self.stored, self.coverage);
        let min_match = texts.cut.min_match;
        let make = || Ok(Asking::new(min_match, coverage));
        texts.by_hands(2, &make, |feeder| {
            let mut take = |batch: &TextBatch<<Asking as Find>::Found>| {
                batch.found.iter().try_for_each(|&(key, number)| {
                    met.push(Entry { key, tid: ASKED | u64::from(number) })
                })
            };
            let (mut known, mut buffer): (Vec<(u64, u32)>, _) = (Vec::new(), Vec::new());
            let mut number = None;
            let mut give = |number: Option<u32>, known: &mut Vec<(u64, u32)>| -> Result<()> {
                let Some(number) = number else { return Ok(()) };
                known.sort_unstable();
                let salt = stored.texts[number as usize].salt;
                let text = stored.read(number, &mut buffer)?;
                let given = GivenText { number, salt, text, known };
                feeder.push(given, &mut take)?;
                known.clear();
                Ok(())
            };
            by_text.finish(|Entry { key, tid }| {
                let of = (key >> 32) as u32;
                if number.is_some_and(|number| number != of) {
                    give(number, &mut known)?;
                }
                number = Some(of);
                Ok(memory::push(&mut known, (tid, key as u32))?)
            })?;
            give(number, &mut known)?;
            feeder.finish(&mut take)
        })
    }

    /// Compares candidates; calls `visit` with each document that is contained.
    fn compare(&mut self, candidates: Sorter, visit: &mut dyn FnMut(Contained)) -> Result<()> {
        let (texts, coverage) = (self.texts, self.coverage);
        texts.progress.enter(JobPhase::Comparing);
        let min_match = texts.cut.min_match;
        let lengths = memory::collect(self.stored.texts.iter().map(|text| text.length));
        let lengths = lengths?;
        let mut found: Option<Contained> = None;
        let mut take = |batch: &TextBatch<<Containing as Find>::Found>| {
            let Some(document) = batch.found.contained else { return Ok(()) };
            for &(container, covered) in &batch.found.containers {
                let length = lengths[document as usize];
                let one = Contained { document, container, covered, length, containers: 1 };
                match &mut found {
                    Some(found) if found.document == document => {
                        found.containers += 1;
                        if lengths[container as usize] > lengths[found.container as usize] {
                            (found.container, found.covered) = (container, covered);
                        }
                    }
                    _ => {
                        if let Some(before) = found.replace(one) {
                            visit(before);
                        }
                    }
                }
            }
            Ok(())
        };
        let make = || Ok(Containing::new(min_match, coverage));
        let stored = &mut self.stored;
        texts.by_hands(1, &make, |feeder| {
            let (mut buffer, mut bytes, mut pairs) = (Vec::new(), 0, 0);
            let mut last = None;
            candidates.finish(|Entry { key, .. }| {
                check_interrupts();
                if last == Some(key) {
                    return Ok(());
                }
                let (document, container) = ((key >> 32) as u32, key as u32);
                let is_next = last.is_none_or(|last: u64| (last >> 32) as u32 != document);
                last = Some(key);
                if is_next || bytes > TOGETHER {
                    feeder.give(&mut take)?;
                    bytes = 0;
                    let text = stored.read(document, &mut buffer)?;
                    feeder.add(GivenText { number: document, salt: 0, text, known: &[] })?;
                }
                let text = stored.read(container, &mut buffer)?;
                bytes += text.len();
                feeder.add(GivenText { number: container, salt: 0, text, known: &[] })?;
                pairs += 1;
                texts.progress.compared(pairs);
                Ok(())
            })?;
            feeder.finish(&mut take)
        })?;
        if let Some(last) = found {
            visit(last);
        }
        Ok(())
    }
}

/// Fingerprints that several texts have: sorted by text, each with how many others have it; and as they are, to be met
/// by those that ask for them.
fn by_text(fingerprints: Sorter, memory: usize) -> Result<(Sorter, Sorter)> {
    let (mut by_text, mut met) = (Sorter::new(memory), Sorter::new(memory));
    let mut flush = |key: u64, having: &mut Vec<u32>| -> Result<()> {
        if having.len() > 1 {
            let others = having.len() as u64 - 1;
            for text in having.iter().map(|text| u64::from(*text)) {
                by_text.push(Entry { key: text << 32 | others, tid: key })?;
                met.push(Entry { key, tid: text })?;
            }
        }
        having.clear();
        Ok(())
    };
    let (mut key, mut having) = (0, Vec::new());
    fingerprints.finish(|entry| {
        if entry.key != key {
            flush(key, &mut having)?;
        }
        key = entry.key;
        Ok(memory::push(&mut having, entry.tid as u32)?)
    })?;
    flush(key, &mut having)?;
    Ok((by_text, met))
}
