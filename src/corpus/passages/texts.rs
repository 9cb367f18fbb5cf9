//! The texts of a source, in the order of their keys, to be read several times.
//!
//! The backend copies texts into batches. Threads look at them, and so does the backend; what they find comes back in
//! the order of texts.

use std::rc::Rc;
use std::sync::Arc;

use ahash::AHashMap;
use pgrx::prelude::*;
use sketch::memory;
use sketch::passage::Characters;
use sketch::pipeline::{
    Find, Fingerprinting, GivenText, Hands, PassageCut, TextBatch, TextFinder, hands,
};

use crate::corpus::chosen::Chosen;
use crate::corpus::members::Members;
use crate::corpus::passages::question::PassageQuestion;
use crate::corpus::progress::{JobPhase, Progress};
use crate::corpus::scopes::{Scope, Scopes};
use crate::corpus::source::Source;
use crate::corpus::unique::Unique;
use crate::document::kind::Kind;
use crate::error::{Result, SqlError, error, invalid_parameter};
use crate::index::layout::Entry;
use crate::index::sort::Sorter;
use crate::memory::JobShares;
use crate::pg::hands::{for_job, setting};
use crate::pg::interrupts::check_interrupts;
use crate::pg::lossless;
use crate::pg::memory::Memory;
use crate::pg::open::Open;
use crate::pg::relation::Lock;
use crate::pg::row::Row;
use crate::pg::spi::Session;
use crate::pg::sql::Sql;
use crate::pg::tuple_store::TupleStore;

/// Bytes of texts in a batch.
const BATCH: usize = 128 << 10;

/// The texts of a source.
pub struct Texts {
    rows: TupleStore,
    /// Their keys.
    pub keys: Members,
    documents: Vec<ReadText>,
    /// The definition of a passage.
    pub cut: PassageCut,
    /// Bytes for each of what is sorted and what is looked up.
    pub share: usize,
    /// Bytes for batches that are out.
    out: usize,
    /// Memory for one text.
    context: Memory,
    /// The progress of the job, which others may see.
    pub progress: Rc<Progress>,
    table: Option<Open>,
}

/// A text that was read.
#[derive(Clone, Copy)]
pub struct ReadText {
    /// The salt of the hashes of its scope.
    pub salt: u64,
    /// True if an earlier text is equal, after normalization.
    pub is_copy: bool,
    /// The number of its characters, after normalization.
    pub length: u32,
}

/// Takes a text as it is first read: normalized, if that was asked for.
pub type Keep<'a> = dyn FnMut(ReadText, &str) -> Result<()> + 'a;

/// A finder, which looks at texts, or the error that there is no memory for it.
pub type Made<F> = std::result::Result<F, sketch::Error>;

/// Takes what is found in texts.
pub trait Visit<F: Find> {
    /// Takes what was found in a batch.
    fn take(&mut self, keys: &Members, batch: &TextBatch<F::Found>) -> Result<()>;

    /// True for a text so long that it is looked at by itself, so that not all that is found in it is kept at once.
    fn is_large(&self, _text: &str) -> bool {
        false
    }

    /// Looks at a large text.
    fn large(&mut self, _keys: &Members, _finder: &mut F, _given: GivenText) -> Result<()> {
        Ok(())
    }
}

impl Texts {
    /// Reads the source. Returns its texts, and which of them has which fingerprints; copies have none. Rows are put
    /// aside to be read again, unless `keep` takes the normalized texts.
    pub fn read(
        session: &Session,
        question: &PassageQuestion,
        mut keep: Option<&mut Keep>,
    ) -> Result<(Self, Sorter)> {
        let PassageQuestion { arguments, cut, collapses, .. } = question;
        let source = Source::read(session, arguments, 0, "source", false)?;
        if source.kind != Kind::Text {
            return Err(invalid_parameter("source must return texts to look for passages in")
                .set_hint(
                    "Pass the name of the text column with body => '...', or write a query.",
                ));
        }
        let JobShares { rows: share, reading: out, .. } = JobShares::of_corpus();
        let key = source.key_column(arguments.key_type);
        let mut texts = Self {
            rows: TupleStore::rewindable(share),
            keys: Members::new(&[key], arguments.key_type)?,
            documents: Vec::new(),
            cut: cut.clone(),
            share,
            out,
            context: Memory::scratch(c"minlsh passages"),
            progress: Rc::new(Progress::start(source.relation)),
            table: source.relation.and_then(|table| Open::relation(table, Lock::Held)),
        };
        let mut scopes = Scopes::new(&source.scope_types())?;
        let unique = Unique::new(key.0, !source.key_is_unique(arguments.key_type));
        let mut hashes = Vec::new();
        let by_key = Sql::default().text("d.").name(&source.columns[source.key].name).build();
        let select = source.select(session, key.0, Some(&by_key), Chosen::All)?;
        let keeps_rows = keep.is_none();
        let mut intake = Intake {
            seen: AHashMap::new(),
            documents: Vec::new(),
            sorter: Sorter::new(share),
            collapses: *collapses,
            min_match: cut.min_match,
            short: 0,
            progress: texts.progress.clone(),
            keep: keep.take(),
        };
        let make = || Fingerprinting::new(cut.clone(), !keeps_rows);
        let Self { rows, keys, context, table, .. } = &mut texts;
        let own = TextFinder(make()?);
        let mut others = || threads(table.as_ref(), &make);
        hands(setting(out), own, &mut others, |hands| -> Result<()> {
            let mut feeder = Feeder::new(hands, out, 1);
            let mut number = 0;
            select.each(&[], &mut |row: &Row| {
                check_interrupts();
                let Some(body) = row.value(2) else { return Ok(()) };
                let Some(scope) = scopes.of(|place| row.value(place as i16 + 3))? else {
                    return Ok(());
                };
                let key = row.value(1).ok_or_else(|| {
                    error(
                        PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                        "source has a document with a NULL key",
                    )
                    .set_hint("Leave out rows without a key, or set their keys.")
                })?;
                if let Some(hash) = unique.hash(key) {
                    memory::push(&mut hashes, hash)?;
                }
                // SAFETY: the key column of the rows that this source gives.
                unsafe { keys.push(0, key)? };
                if keeps_rows {
                    rows.push(row);
                }
                let salt = Scope::salt(scope);
                context.run_and_reset(|| {
                    // SAFETY: a text, as the kind of the source says.
                    let text = unsafe { lossless::read(body)? };
                    let given = GivenText { number, salt, text: &text, known: &[] };
                    feeder.push(given, &mut |batch| intake.take(batch))
                })?;
                number += 1;
                Ok(())
            })?;
            feeder.finish(&mut |batch| intake.take(batch))
        })?;
        let Intake { documents, sorter, short, .. } = intake;
        texts.documents = documents;
        if let Some(repeated) = unique.repeated(hashes) {
            for document in 0..texts.keys.len() {
                check_interrupts();
                let key = texts.keys.stored(document);
                unique.complain(key, repeated, "source").map_or(Ok(()), Err)?;
            }
        }
        question.notice_short(short);
        Ok((texts, sorter))
    }

    /// Has threads look at each text; copies are passed by unless `with_copies`. What is found in a text takes up to
    /// `weight` bytes for each of its own.
    pub fn each_by_hands<F: Find>(
        &mut self,
        phase: JobPhase,
        with_copies: bool,
        weight: usize,
        make: &dyn Fn() -> Made<F>,
        visitor: &mut dyn Visit<F>,
    ) -> Result<()> {
        let mut alone = make()?;
        let own = TextFinder(make()?);
        let Self { rows, keys, documents, context, progress, table, out, .. } = self;
        progress.enter(phase);
        progress.candidates(documents.len() as u64);
        let mut others = || threads(table.as_ref(), make);
        hands(setting(*out), own, &mut others, |hands| {
            let mut feeder = Feeder::new(hands, *out, weight);
            let mut number = 0;
            rows.rewind();
            rows.each(&mut |row| {
                check_interrupts();
                let ReadText { salt, is_copy, .. } = documents[number as usize];
                let body = row.value(2).filter(|_| with_copies || !is_copy);
                if let Some(body) = body {
                    context.run_and_reset(|| {
                        // SAFETY: a text, whose detoasted copy lives in the context until it is reset.
                        let text = unsafe { lossless::read(body)? };
                        let given = GivenText { number, salt, text: &text, known: &[] };
                        if visitor.is_large(&text) {
                            feeder.finish(&mut |batch| visitor.take(keys, batch))?;
                            return visitor.large(keys, &mut alone, given);
                        }
                        feeder.push(given, &mut |batch| visitor.take(keys, batch))
                    })?;
                }
                number += 1;
                progress.compared(number.into());
                Ok(())
            })?;
            feeder.finish(&mut |batch| visitor.take(keys, batch))
        })
    }

    /// Goes to the first text, to read some of them once more.
    pub fn again(&mut self) -> Result<Rereading<'_>> {
        self.rows.rewind();
        let read = Self::characters(&self.cut, "")?;
        Ok(Rereading { texts: self, next: 0, read })
    }

    /// The characters of a text.
    pub fn characters<'a>(cut: &PassageCut, text: &'a str) -> Result<Characters<'a>> {
        Characters::with_places(&cut.normalization, text, &mut check_interrupts).map_err(Into::into)
    }

    /// Has threads look at texts that `feed` gives.
    pub fn by_hands<F: Find>(
        &self,
        weight: usize,
        make: &dyn Fn() -> Made<F>,
        feed: impl FnOnce(&mut Feeder<'_, '_, '_, F>) -> Result<()>,
    ) -> Result<()> {
        let own = TextFinder(make()?);
        let mut others = || threads(self.table.as_ref(), make);
        hands(setting(self.out), own, &mut others, |hands| {
            feed(&mut Feeder::new(hands, self.out, weight))
        })
    }
}

/// Texts that are read once more, in order.
pub struct Rereading<'a> {
    texts: &'a mut Texts,
    /// The number of the next one.
    next: u32,
    /// The characters of the one before it, if that was asked for.
    read: Characters<'static>,
}

impl Rereading<'_> {
    /// The characters of a text. Texts are asked for in ascending order.
    pub fn characters(&mut self, number: u32) -> Result<&Characters<'static>> {
        let Texts { rows, cut, context, progress, .. } = &mut *self.texts;
        while self.next <= number {
            check_interrupts();
            let is_it = self.next == number;
            let read = rows.with_next(|row| {
                let body = row.value(2).filter(|_| is_it)?;
                Some(context.run_and_reset(|| {
                    // SAFETY: a text, as the kind of the source says, whose detoasted copy lives in the context until
                    // it is reset.
                    let text = unsafe { lossless::read(body)? };
                    Ok::<_, SqlError>(Texts::characters(cut, &text)?.into_owned()?)
                }))
            });
            if let Some(read) = read.flatten() {
                self.read = read?;
            }
            self.next += 1;
            progress.compared(self.next.into());
        }
        Ok(&self.read)
    }
}

/// Makes the finders of the threads that may help.
fn threads<F: Find>(table: Option<&Open>, make: &dyn Fn() -> Made<F>) -> Vec<TextFinder<F>> {
    // Without memory for one there is a thread less.
    (0..for_job(table)).filter_map(|_| make().ok().map(TextFinder)).collect()
}

/// Fills batches with texts.
pub struct Feeder<'a, 'scope, 'env, F: Find> {
    hands: &'a mut Hands<'scope, 'env, TextFinder<F>>,
    batch: TextBatch<F::Found>,
    /// The bytes that fill a batch, with those that its findings take for each of them.
    full: usize,
    weight: usize,
}

/// Takes what was found in a batch.
type Take<'a, F> = dyn FnMut(&TextBatch<<F as Find>::Found>) -> Result<()> + 'a;

impl<'a, 'scope, 'env, F: Find + 'scope> Feeder<'a, 'scope, 'env, F> {
    fn new(
        hands: &'a mut Hands<'scope, 'env, TextFinder<F>>,
        memory: usize,
        weight: usize,
    ) -> Self {
        let full = BATCH.min(memory / (4 * weight));
        Self { hands, batch: TextBatch::default(), full, weight }
    }

    /// Gives a text; calls `take` with batches that are done.
    pub fn push(&mut self, given: GivenText, take: &mut Take<F>) -> Result<()> {
        self.add(given)?;
        if self.batch.bytes() >= self.full { self.give(take) } else { Ok(()) }
    }

    /// Adds a text to the batch that is being filled, however many it has.
    pub fn add(&mut self, given: GivenText) -> Result<()> {
        self.batch.push(given).map_err(Into::into)
    }

    /// Ends the batch that is being filled.
    pub fn give(&mut self, take: &mut Take<F>) -> Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let mut next = self.hands.batch();
        next.clear();
        let batch = std::mem::replace(&mut self.batch, next);
        let bytes = batch.bytes() * self.weight;
        self.hands.give(batch, bytes, &mut |batch| take(batch))
    }

    /// Calls `take` with all that is left.
    pub fn finish(&mut self, take: &mut Take<F>) -> Result<()> {
        self.give(take)?;
        self.hands.finish(&mut |batch| take(batch))
    }
}

/// The state that the first reading keeps.
struct Intake<'a, 'k> {
    /// A hash of each text, if equal ones count once.
    seen: AHashMap<u64, ()>,
    documents: Vec<ReadText>,
    sorter: Sorter,
    collapses: bool,
    min_match: usize,
    short: usize,
    progress: Rc<Progress>,
    keep: Option<&'a mut Keep<'k>>,
}

impl Intake<'_, '_> {
    fn take(&mut self, batch: &TextBatch<<Fingerprinting as Find>::Found>) -> Result<()> {
        for (given, (of_text, fingerprints, normalized)) in batch.texts().zip(batch.found.each()) {
            check_interrupts();
            self.short += usize::from((of_text.length as usize) < self.min_match);
            let is_copy =
                self.collapses && memory::insert_at(&mut self.seen, of_text.hash, ())?.is_some();
            let document = ReadText { salt: given.salt, is_copy, length: of_text.length };
            memory::push(&mut self.documents, document)?;
            let Self { sorter, keep, .. } = self;
            if let Some(keep) = keep {
                keep(document, normalized)?;
            }
            let fingerprints = if is_copy { &[] } else { fingerprints };
            fingerprints.iter().try_for_each(|entry| {
                sorter.push(Entry { key: entry ^ given.salt, tid: of_text.number.into() })
            })?;
        }
        self.progress.read(self.documents.len() as u64);
        Ok(())
    }
}

/// The fingerprints that enough documents have, as bits: some others pass, too.
pub struct Frequent(Vec<u64>);

impl Frequent {
    /// Counts them.
    pub fn of(sorter: Sorter, min_documents: u32, memory: usize) -> Result<Arc<Self>> {
        let words = (memory / size_of::<u64>()).max(1024);
        let words = 1_usize << words.ilog2();
        let mut frequent = Self(memory::filled(0_u64, words)?);
        let (mut key, mut count) = (None, 0);
        sorter.finish(|entry| {
            if key != Some(entry.key) {
                (key, count) = (Some(entry.key), 0);
            }
            count += 1;
            if count == min_documents {
                let (word, bit) = frequent.place(entry.key);
                frequent.0[word] |= bit;
            }
            Ok(())
        })?;
        Ok(Arc::new(frequent))
    }

    /// True if as many documents may have it.
    pub fn has(&self, entry: u64) -> bool {
        let (word, bit) = self.place(entry);
        self.0[word] & bit != 0
    }

    fn place(&self, entry: u64) -> (usize, u64) {
        ((entry >> 6) as usize & (self.0.len() - 1), 1 << (entry % 64))
    }
}
