//! The texts of a source, in the order of their keys, to be read several times.

use std::borrow::Cow;
use std::rc::Rc;

use ahash::AHashMap;
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;
use sketch::passage::{Characters, Fingerprints, valid_min_match, valid_normalization};
use sketch::{Element, ElementHash, Normalization, counted, memory};

use crate::corpus::arguments::{Arguments, Places};
use crate::corpus::chosen::Chosen;
use crate::corpus::members::Members;
use crate::corpus::scopes::{Scope, Scopes};
use crate::corpus::source::Source;
use crate::corpus::unique::Unique;
use crate::document::kind::Kind;
use crate::error::{Result, engine, error, invalid_parameter};
use crate::index::layout::Entry;
use crate::index::sort::Sorter;
use crate::memory::JobShares;
use crate::pg::call::Call;
use crate::pg::interrupts::check_interrupts;
use crate::pg::lossless;
use crate::pg::memory::Memory;
use crate::pg::row::Row;
use crate::pg::spi::Session;
use crate::pg::sql::Sql;
use crate::pg::tuple_store::TupleStore;

/// What a job was asked.
pub struct Question {
    arguments: Arguments,
    min_match: usize,
    normalization: Normalization,
    /// In how many documents a passage must be.
    pub min_documents: u32,
    /// True if equal texts count once.
    pub collapses: bool,
}

impl Question {
    /// Reads `(source, [min_documents], [key], min_match, normalization, body, key_column, scope)`: the number
    /// of documents stands there if it is not `given`. `None` if an option is NULL.
    pub fn of(call: &Call, given: Option<u32>) -> Result<Option<Self>> {
        let first = 1 + usize::from(given.is_none());
        let mut values: Vec<Option<Datum>> = (0..call.count()).map(|i| call.datum(i)).collect();
        let with_key = values.len() > first + 5;
        if with_key {
            values.remove(first);
        }
        let (Some(min_match), Some(normalization)) =
            (values[first], call.text(first + 1 + usize::from(with_key))?)
        else {
            return Ok(None);
        };
        let min_documents = match (given, values[1]) {
            (Some(given), _) => given,
            (None, None) => return Ok(None),
            (None, Some(asked)) => {
                match asked.value() as i32 {
                    least @ 2.. => least as u32,
                    other => {
                        return Err(invalid_parameter(format!(
                        "min_documents must be at least 2, not {other}"
                    ))
                    .set_hint("Use the number of documents that make a passage boilerplate, such as 100."));
                    }
                }
            }
        };
        let places = Places { threshold: values.len(), verify: values.len(), options: first + 5 };
        let mut arguments = Arguments::new(values, places);
        if with_key {
            arguments.key_type = call.argument_type(first);
        }
        Ok(Some(Self {
            arguments,
            min_match: valid_min_match((min_match.value() as i32).into()).map_err(engine)?,
            normalization: valid_normalization(normalization).map_err(engine)?,
            min_documents,
            collapses: given.is_none(),
        }))
    }
}

/// The texts of a source.
pub struct Texts {
    rows: TupleStore,
    /// Their keys.
    pub keys: Members,
    documents: Vec<Document>,
    /// How long a passage is at least.
    pub min_match: usize,
    normalization: Normalization,
    /// Bytes for each of what is sorted and what is looked up.
    pub share: usize,
    /// What one text needs.
    context: Memory,
    /// The temporary files of what is sorted, which outlive a text.
    pub files: Rc<Memory>,
}

#[derive(Clone, Copy)]
struct Document {
    salt: u64,
    is_copy: bool,
}

/// A text as it is visited.
pub struct Text<'a> {
    /// Its number, in the order of keys.
    pub number: u32,
    /// The text as it is stored.
    pub original: Cow<'a, str>,
    /// What the hashes of its scope differ by.
    pub salt: u64,
    /// An earlier document is equal, after normalization.
    pub is_copy: bool,
}

impl Texts {
    /// Reads the source, and finds the fingerprints that enough of its documents have.
    pub fn read(session: &Session, question: &Question) -> Result<(Self, Frequent)> {
        let Question { arguments, min_match, normalization, min_documents, collapses } = question;
        let source = Source::read(session, arguments, 0, "source", false)?;
        if source.kind != Kind::Text {
            return Err(invalid_parameter("source must return texts to look for passages in")
                .set_hint(
                    "Pass the name of the text column with body => '...', or write a query.",
                ));
        }
        let share = JobShares::of_corpus().rows;
        let key = source.key_column(arguments.key_type);
        let mut texts = Self {
            rows: TupleStore::rewindable(share),
            keys: Members::new(&[key], arguments.key_type)?,
            documents: Vec::new(),
            min_match: *min_match,
            normalization: normalization.clone(),
            share,
            context: Memory::child(c"minlsh passages"),
            files: Rc::new(Memory::child(c"minlsh passages sorted")),
        };
        let mut scopes = Scopes::new(&source.scope_types())?;
        let unique = Unique::new(key.0, !source.key_is_unique(arguments.key_type));
        let mut hashes = Vec::new();
        let by_key = Sql::default().text("d.").name(&source.columns[source.key].name).build();
        let select = source.select(session, key.0, Some(&by_key), Chosen::All)?;
        let mut reader = Reader {
            seen: AHashMap::new(),
            fingerprints: Fingerprints::new().map_err(engine)?,
            found: Vec::new(),
            sorter: Sorter::new(share),
            collapses: *collapses,
            short: 0,
        };
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
                memory::push(&mut hashes, hash).map_err(engine)?;
            }
            reader.document(&mut texts, body, scope)?;
            // SAFETY: the key column of the rows that this source gives.
            unsafe { texts.keys.push(0, key)? };
            texts.rows.push(row);
            Ok(())
        })?;
        if let Some(repeated) = unique.repeated(hashes) {
            texts.rows.each(&mut |row| {
                unique.complain(row.value(1), repeated, "source").map_or(Ok(()), Err)
            })?;
        }
        if reader.short > 0 {
            let short = counted(reader.short, "text");
            let verb = if reader.short == 1 { "is" } else { "are" };
            pgrx::notice!("{short} shorter than min_match {verb} left out");
        }
        let frequent = Frequent::of(reader.sorter, *min_documents, share)?;
        Ok((texts, frequent))
    }

    /// Calls `visit` with each text, in the order of their keys.
    pub fn each(&mut self, visit: &mut dyn FnMut(&Members, &Text) -> Result<()>) -> Result<()> {
        let Self { rows, keys, documents, context, .. } = self;
        let mut number = 0;
        rows.rewind();
        rows.each(&mut |row| {
            check_interrupts();
            let Document { salt, is_copy } = documents[number as usize];
            if let Some(body) = row.value(2) {
                context.run_and_reset(|| {
                    // SAFETY: a text, whose detoasted copy lives in the context until it is reset.
                    let original = unsafe { lossless::read(body)? };
                    visit(keys, &Text { number, original, salt, is_copy })
                })?;
            }
            number += 1;
            Ok(())
        })
    }

    /// The characters of a text.
    pub fn characters<'a>(normalization: &Normalization, text: &'a Text) -> Result<Characters<'a>> {
        Characters::with_places(normalization, &text.original, &mut check_interrupts)
            .map_err(engine)
    }

    /// What is done to texts.
    pub fn normalization(&self) -> Normalization {
        self.normalization.clone()
    }
}

/// What the first reading keeps.
struct Reader {
    /// A hash of each text, if equal ones count once.
    seen: AHashMap<u64, ()>,
    fingerprints: Fingerprints,
    found: Vec<u64>,
    sorter: Sorter,
    collapses: bool,
    short: usize,
}

impl Reader {
    fn document(&mut self, texts: &mut Texts, body: Datum, scope: Scope) -> Result<()> {
        let salt = scope.salt();
        let number = texts.documents.len() as u64;
        let Texts { context, normalization, min_match, .. } = texts;
        let is_copy = context.run_and_reset(|| {
            // SAFETY: a text, as the kind of the source says.
            let original = unsafe { lossless::read(body)? };
            let text = Characters::of(normalization, &original, &mut check_interrupts);
            let text = text.map_err(engine)?;
            self.short += usize::from(text.len() < *min_match);
            if self.collapses {
                let hash = Element::Text(text.text()).hash(ElementHash::Xxh3) ^ salt;
                if memory::insert_at(&mut self.seen, hash, ()).map_err(engine)?.is_some() {
                    return Ok(true);
                }
            }
            self.found.clear();
            self.fingerprints
                .append(&text, *min_match, &mut self.found, &mut check_interrupts)
                .map_err(engine)?;
            Ok(false)
        })?;
        memory::push(&mut texts.documents, Document { salt, is_copy }).map_err(engine)?;
        if is_copy {
            return Ok(());
        }
        self.found.sort_unstable();
        self.found.dedup();
        let Self { found, sorter, .. } = self;
        let mut entries = found.iter().map(|entry| Entry { key: entry ^ salt, tid: number });
        texts.files.run(|| entries.try_for_each(|entry| sorter.push(entry)))
    }
}

/// The fingerprints that enough documents have, as bits: some others pass, too.
pub struct Frequent(Vec<u64>);

impl Frequent {
    fn of(sorter: Sorter, min_documents: u32, memory: usize) -> Result<Self> {
        let words = (memory / size_of::<u64>()).max(1024);
        let words = 1_usize << words.ilog2();
        let mut frequent = Self(memory::filled(0_u64, words).map_err(engine)?);
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
        Ok(frequent)
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
