//! The texts of one or two sources, in the order of their keys, stored so that they can be read several times.
//!
//! The backend copies texts into batches, which threads process too. Results come back in the order of texts.

use std::rc::Rc;
use std::sync::Arc;

use ahash::AHashMap;
use sketch::dedup::Shares;
use sketch::passage::{Characters, Filter};
use sketch::pipeline::{Finder, Fingerprinted, GivenText, Hands, PassageCut, Test, TextBatch, fingerprinting, hands};
use sketch::spool::Spool;

use crate::corpus::passages::PassageQuestion;
use crate::corpus::source::members::{KeyCheck, Members};
use crate::corpus::source::omitted::{Omitted, Reason, notice_omitted};
use crate::corpus::source::rows::RowFilter;
use crate::corpus::source::scopes::Scopes;
use crate::corpus::source::{Source, common};
use crate::document::kind::Kind;
use crate::index::layout::Entry;
use crate::index::sort::Sorter;
use crate::memory::of_corpus;
use crate::pg::job::{Counter, JobPhase, Progress};
use crate::pg::temp_file::TempFile;
use crate::pg::worker_threads::setting;
use crate::prelude::*;
use sketch::dedup::Scope;

/// Bytes of texts in a batch.
const BATCH: usize = 128 << 10;

/// Bytes of memory for each byte of a text in work.
const WORK: usize = 16;

/// Length in bytes below which several threads process texts, however little memory there is.
const LONG: usize = 1 << 20;

/// Bytes of texts that are compared with a text in one batch.
const TOGETHER: usize = 1 << 20;

pub struct Texts {
    pub kept: KeptTexts,
    pub keys: Members,
    pub cut: PassageCut,
    /// Bytes for each of stored texts, sorts and look-ups.
    pub share: usize,
    /// Bytes of batches in flight.
    out: usize,
    pub progress: Rc<Progress>,
}

#[derive(Clone, Copy)]
pub struct KeptText {
    /// Salt of the hashes of its scope.
    pub salt: u64,
    /// True if an earlier text is equal after normalization.
    is_copy: bool,
    /// Number of its characters after normalization.
    pub length: u32,
    /// Position and length of its bytes in the spool.
    place: u64,
    bytes: u32,
}

/// Texts in memory and in a temporary file, which can be read in any order.
pub struct KeptTexts {
    spool: Spool<u8>,
    pub documents: Vec<KeptText>,
}

impl KeptTexts {
    /// Reads a text into `buffer`.
    pub fn text<'b>(&mut self, number: u32, buffer: &'b mut Vec<u8>) -> Result<&'b str> {
        let KeptText { place, bytes, .. } = self.documents[number as usize];
        self.spool.copy(place, bytes as usize, buffer)?;
        Ok(std::str::from_utf8(buffer).unwrap_or_default())
    }
}

/// Pairs of texts to compare, and notes on the first text of a pair.
pub struct TextPairs {
    sorter: Sorter,
    count: u64,
}

impl TextPairs {
    /// No pairs yet, with `memory` bytes for them.
    pub fn new(memory: usize) -> Self {
        Self { sorter: Sorter::new(memory), count: 0 }
    }

    /// Adds a pair, perhaps repeatedly.
    pub fn push(&mut self, text: u32, other: u32) -> Result<()> {
        self.count += 1;
        self.sorter.push(Entry { key: u64::from(text) << 32 | (u64::from(other) + 1), tid: 0 })
    }

    /// Adds `number` to the notes on a text.
    pub fn note(&mut self, text: u32, number: u64) -> Result<()> {
        self.sorter.push(Entry { key: u64::from(text) << 32, tid: number })
    }
}

/// A finder, which processes texts, or the error that there is no memory for it.
pub type MadeFinder<T> = Result<Finder<T>, sketch::Error>;

/// Some texts, in order.
pub enum TextsInOrder<'a, T> {
    /// A batch with its results.
    Found(&'a TextBatch<T>),
    /// A text whose results are too long to keep. The visitor processes it.
    Large(GivenText<'a>),
}

/// A visitor of texts, which also gets the keys of all texts.
pub type VisitTexts<'a, T> = dyn FnMut(&Members, TextsInOrder<T>) -> Result<()> + 'a;

impl Texts {
    /// Reads the sources. Returns their texts, and which text has which fingerprints. Copies have no fingerprints.
    pub fn read(session: &Session, question: &PassageQuestion) -> Result<(Self, Sorter)> {
        let PassageQuestion { arguments, sources, cut, normalized, .. } = question;
        let sources = sources.iter().map(|name| {
            let source = Source::read(session, arguments, name, false)?;
            if source.kind == Kind::Text {
                return Ok(source);
            }
            Err(invalid_parameter(format!("{name} must return texts to look for passages in"))
                .set_hint("Pass the name of the text column with body => '...', or write a query."))
        });
        let sources = sources.collect::<Result<Vec<_>>>()?;
        let mut scopes = Scopes::new("scope", &common("scope", &sources, Source::scope_types)?)?;
        let key_types: Vec<_> = sources.iter().map(Source::key_column).collect();
        let relation = sources.iter().find_map(|source| source.relation);
        let Shares { rows: share, reading: out, .. } = of_corpus(false);
        let mut texts = Self {
            kept: KeptTexts { spool: Spool::new(share, TempFile::new_file()), documents: Vec::new() },
            keys: Members::new(&key_types)?,
            cut: cut.clone(),
            share,
            out,
            progress: Rc::new(Progress::start(relation)),
        };
        let (seen, sorter) = (AHashMap::new(), Sorter::new(share));
        let mut all_omitted = memory::collect(sources.iter().map(|source| Omitted::of(source, source.scopes.len())))?;
        let mut intake = TextIntake { question, seen, sorter, second: u32::MAX, short: [0; 2] };
        let make = || fingerprinting(cut.clone(), *normalized);
        let progress = texts.progress.clone();
        // Memory for a text.
        let mut context = Memory::scratch(c"minlsh passages");
        texts.by_hands(1, &make, |feeder, kept, keys| {
            for (part, source) in sources.iter().enumerate() {
                let (first, check) = (keys.len(), KeyCheck::of(source));
                if part > 0 {
                    intake.second = first;
                }
                let mut hashes = Vec::new();
                let by_key = Sql::default().text("d.").name(&source.columns[source.key].name).build();
                source.rows(session, Some(&by_key), RowFilter::All)?.each(&mut |row| {
                    check_interrupts();
                    let Some(body) = all_omitted[part].document(row) else { return Ok(()) };
                    let Some(scope) = scopes.of(|place| row.scope(place))? else { return Ok(()) };
                    let key = row.key().ok_or_else(|| check.missing())?;
                    if let Some(hash) = check.hash(key) {
                        memory::push(&mut hashes, hash)?;
                    }
                    let number = keys.len();
                    keys.push(part, key)?;
                    progress.set(Counter::Read, keys.len().into());
                    let salt = Scope::salt(scope);
                    context.run_and_reset(|| {
                        let text = body.utf8()?;
                        let given = GivenText { number, salt, text: &text, known: &[] };
                        feeder.push(given, &mut |batch| intake.take(kept, batch))
                    })
                })?;
                check.finish(hashes, |look| {
                    (first..keys.len()).try_for_each(|document| {
                        check_interrupts();
                        look(keys.stored(document))
                    })
                })?;
            }
            feeder.finish(&mut |batch| intake.take(kept, batch))
        })?;
        for (omitted, short) in all_omitted.iter_mut().zip(intake.short) {
            omitted.add(Reason::Short, short);
        }
        notice_omitted(&all_omitted, question.short);
        Ok((texts, intake.sorter))
    }

    /// Runs threads over each text of up to `most` bytes, including copies if `with_copies`. The results take up to
    /// `weight` bytes for each byte of a text.
    pub fn each_by_hands<T: Default + Send>(
        &mut self,
        phase: JobPhase,
        with_copies: bool,
        weight: usize,
        most: usize,
        make: &dyn Fn() -> MadeFinder<T>,
        visit: &mut VisitTexts<T>,
    ) -> Result<()> {
        let count = self.kept.documents.len() as u32;
        self.progress.enter(phase);
        self.progress.set(Counter::Candidates, count.into());
        let progress = self.progress.clone();
        self.by_hands(weight, make, |feeder, kept, keys| {
            let mut buffer = Vec::new();
            for number in 0..count {
                check_interrupts();
                let KeptText { salt, is_copy, .. } = kept.documents[number as usize];
                if with_copies || !is_copy {
                    let text = kept.text(number, &mut buffer)?;
                    let given = GivenText { number, salt, text, known: &[] };
                    let mut take = |batch: &TextBatch<T>| visit(keys, TextsInOrder::Found(batch));
                    if text.len() <= most {
                        feeder.push(given, &mut take)?;
                    } else {
                        feeder.finish(&mut take)?;
                        visit(keys, TextsInOrder::Large(given))?;
                    }
                }
                progress.set(Counter::Compared, u64::from(number) + 1);
            }
            feeder.finish(&mut |batch| visit(keys, TextsInOrder::Found(batch)))
        })
    }

    /// Compares texts in threads. A batch has a text, with its notes as runs of numbers in [`GivenText::known`], and
    /// then the texts to compare it with. Returns the number of runs.
    pub fn compare<T: Default + Send>(
        &mut self,
        pairs: TextPairs,
        make: &dyn Fn() -> MadeFinder<T>,
        visit: &mut VisitCompared<T>,
    ) -> Result<u64> {
        let progress = self.progress.clone();
        progress.enter(JobPhase::Comparing);
        progress.set(Counter::Candidates, pairs.count);
        progress.set(Counter::Compared, 0);
        let mut runs = 0;
        self.by_hands(1, make, |feeder, kept, keys| {
            let mut take = |batch: &TextBatch<T>| visit(keys, batch);
            let (mut buffer, mut notes): (_, Vec<(u64, u32)>) = (Vec::new(), Vec::new());
            let (mut bytes, mut compared) = (0, 0);
            let (mut of, mut last) = (None, None);
            pairs.sorter.finish(|Entry { key, tid }| {
                check_interrupts();
                let number = (key >> 32) as u32;
                if of.replace(number) != Some(number) {
                    notes.clear();
                    bytes = usize::MAX;
                }
                let Some(other) = (key as u32).checked_sub(1) else {
                    match notes.last_mut() {
                        Some((from, count)) if *from + u64::from(*count) == tid => *count += 1,
                        _ => {
                            memory::push(&mut notes, (tid, 1))?;
                            runs += 1;
                        }
                    }
                    return Ok(());
                };
                compared += 1;
                progress.set(Counter::Compared, compared);
                if last.replace(key) == Some(key) {
                    return Ok(());
                }
                if bytes > TOGETHER {
                    feeder.give(&mut take)?;
                    bytes = 0;
                    let text = kept.text(number, &mut buffer)?;
                    feeder.add(GivenText { number, salt: 0, text, known: &notes })?;
                }
                let text = kept.text(other, &mut buffer)?;
                bytes += text.len();
                feeder.add(GivenText { number: other, salt: 0, text, known: &[] })
            })?;
            feeder.finish(&mut take)
        })?;
        Ok(runs)
    }

    pub fn characters<'a>(cut: &PassageCut, text: &'a str) -> Result<Characters<'a>> {
        Characters::with_places(&cut.normalization, text, &mut check_interrupts).map_err(Into::into)
    }

    /// Runs threads over texts that `feed` takes from the stored ones.
    pub fn by_hands<T: Default + Send>(
        &mut self,
        weight: usize,
        make: &dyn Fn() -> MadeFinder<T>,
        feed: impl FnOnce(&mut Feeder<'_, '_, '_, T>, &mut KeptTexts, &mut Members) -> Result<()>,
    ) -> Result<()> {
        let Self { kept, keys, out, progress, .. } = self;
        let own = make()?;
        let threads = progress.threads();
        // A thread without memory for a finder is left out.
        let mut others = || (0..threads).filter_map(|_| make().ok()).collect();
        hands(setting(*out), own, &mut others, |hands| feed(&mut Feeder::new(hands, *out, weight), kept, keys))
    }
}

/// Fills batches with texts.
pub struct Feeder<'a, 'scope, 'env, T: Default + Send> {
    hands: &'a mut Hands<'scope, 'env, Finder<T>>,
    batch: TextBatch<T>,
    /// Size of a full batch, including its results.
    full: usize,
    /// Size above which a batch is processed while no other is in flight.
    alone: usize,
    weight: usize,
}

type TakeFound<'a, T> = dyn FnMut(&TextBatch<T>) -> Result<()> + 'a;

/// Receives the results of a batch of texts, with the keys of all texts.
pub type VisitCompared<'a, T> = dyn FnMut(&Members, &TextBatch<T>) -> Result<()> + 'a;

impl<'a, 'scope, 'env, T: Default + Send + 'scope> Feeder<'a, 'scope, 'env, T> {
    fn new(hands: &'a mut Hands<'scope, 'env, Finder<T>>, memory: usize, weight: usize) -> Self {
        let full = BATCH.min(memory / (4 * weight));
        let alone = LONG.max(memory / WORK);
        Self { hands, batch: TextBatch::default(), full, alone, weight }
    }

    /// Adds a text; passes finished batches to `take`.
    pub fn push(&mut self, given: GivenText, take: &mut TakeFound<T>) -> Result<()> {
        self.add(given)?;
        if self.batch.bytes() >= self.full { self.give(take) } else { Ok(()) }
    }

    /// Adds a text to the current batch, whatever its size.
    pub fn add(&mut self, given: GivenText) -> Result<()> {
        self.batch.push(given).map_err(Into::into)
    }

    /// Ends the current batch.
    pub fn give(&mut self, take: &mut TakeFound<T>) -> Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let alone = self.batch.bytes() > self.alone;
        let mut next = if alone { TextBatch::default() } else { self.hands.batch() };
        next.clear();
        let batch = std::mem::replace(&mut self.batch, next);
        let bytes = batch.bytes() * self.weight;
        match alone {
            true => self.hands.give_alone(batch, &mut |batch| take(batch)),
            false => self.hands.give(batch, bytes, &mut |batch| take(batch)),
        }
    }

    pub fn finish(&mut self, take: &mut TakeFound<T>) -> Result<()> {
        self.give(take)?;
        self.hands.finish(&mut |batch| take(batch))
    }
}

/// State of the first pass over the sources.
struct TextIntake<'a> {
    question: &'a PassageQuestion,
    /// Hashes of the texts, if equal texts count once.
    seen: AHashMap<u64, ()>,
    sorter: Sorter,
    /// Number of the second source's first text.
    second: u32,
    /// Number of texts shorter than `min_match` in each source.
    short: [usize; 2],
}

impl TextIntake<'_> {
    fn take(&mut self, kept: &mut KeptTexts, batch: &TextBatch<Fingerprinted>) -> Result<()> {
        for (given, (of_text, fingerprints, normalized)) in batch.texts().zip(batch.found.each()) {
            check_interrupts();
            let PassageQuestion { cut, collapses, normalized: is_normalized, .. } = self.question;
            let part = usize::from(of_text.number >= self.second);
            self.short[part] += usize::from((of_text.length as usize) < cut.min_match);
            let is_copy = *collapses && memory::insert_at(&mut self.seen, of_text.hash, ())?.is_some();
            let text = match *is_normalized {
                false => given.text,
                // It is not read again.
                true if is_copy => "",
                true => normalized,
            };
            let (salt, length, bytes) = (given.salt, of_text.length, text.len() as u32);
            let place = kept.spool.append(text.as_bytes())?;
            let document = KeptText { salt, is_copy, length, place, bytes };
            memory::push(&mut kept.documents, document)?;
            let fingerprints = if is_copy { &[] } else { fingerprints };
            fingerprints
                .iter()
                .try_for_each(|entry| self.sorter.push(Entry { key: entry ^ salt, tid: of_text.number.into() }))?;
        }
        Ok(())
    }
}

/// A filter for fingerprints in enough documents, which also passes a few others, within `memory` bytes. Returns it
/// with the number of documents of the most frequent fingerprint. `is_enough` gets the documents of a fingerprint,
/// ascending.
pub fn frequent(sorter: Sorter, memory: usize, is_enough: impl Fn(&[u64]) -> bool) -> Result<(Test, usize)> {
    // With a word for each entry few others pass, and more words would take longer to fill.
    let words = (memory / size_of::<u64>()).min(sorter.len().next_power_of_two()).max(1024);
    let mut filter = Filter::new(u64::BITS as usize * (1 << words.ilog2()))?;
    let mut most = 0;
    each_key(sorter, |entry, documents| {
        most = most.max(documents.len());
        if is_enough(documents) {
            filter.insert(entry);
        }
        Ok(())
    })?;
    Ok((Arc::new(move |entry| filter.has(entry)), most))
}

/// Calls `visit` with each key of sorted entries and its numbers, ascending.
pub fn each_key(sorter: Sorter, mut visit: impl FnMut(u64, &[u64]) -> Result<()>) -> Result<()> {
    let (mut last, mut numbers) = (0, Vec::new());
    sorter.finish(|Entry { key, tid }| {
        if key != last && !numbers.is_empty() {
            visit(last, &numbers)?;
            numbers.clear();
        }
        last = key;
        Ok(memory::push(&mut numbers, tid)?)
    })?;
    if numbers.is_empty() { Ok(()) } else { visit(last, &numbers) }
}
