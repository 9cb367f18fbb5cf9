//! The rows of a source with their keys as text, and samples of their documents.

use std::collections::BinaryHeap;

use crate::corpus::source::Source;
use crate::corpus::source::arguments::Arguments;
use crate::corpus::source::members::twice_there;
use crate::corpus::source::omitted::{Omitted, Reason};
use crate::corpus::source::rows::{RowFilter, SourceRow, SourceRows};
use crate::error::out_of_memory;
use crate::options::at_least_one;
use crate::pg::value_type::Output;
use crate::prelude::*;

pub struct KeyedRows<'a> {
    rows: SourceRows<'a>,
    key_type: Oid,
    /// Counts with no rows yet.
    omitted: Omitted,
}

pub struct KeyedRow<'a> {
    row: &'a SourceRow<'a>,
    /// Its key, of the type of the source's keys.
    pub key: TypedValue<'a>,
    pub name: &'a str,
    pub document: TypedValue<'a>,
}

impl KeyedRow<'_> {
    pub fn scope(&self, place: usize) -> Option<TypedValue<'_>> {
        self.row.scope(place)
    }
}

impl<'a> KeyedRows<'a> {
    /// The rows of `source`, whose first `scopes` grouping columns are scopes. Keys must be written
    /// [exactly](crate::pg::guc::LocalSettings::of_exact_text).
    pub fn of(session: &'a Session, source: &Source, scopes: usize) -> Result<Self> {
        let (key_type, _) = source.key_column();
        let rows = source.rows(session, None, RowFilter::All)?;
        Ok(Self { rows, key_type, omitted: Omitted::of(source, scopes) })
    }

    /// Calls `visit` with each row that has a key, a document and scopes. Returns the counts of the others.
    pub fn each(&self, mut visit: impl FnMut(&KeyedRow) -> Result<()>) -> Result<Omitted> {
        let (mut context, output) = (Memory::scratch(c"minlsh document"), Output::of(self.key_type));
        let mut omitted = self.omitted.clone();
        self.rows.each(&mut |row| {
            check_interrupts();
            let Some(document) = omitted.document(row) else { return Ok(()) };
            let Some(key) = row.key() else {
                omitted.add(Reason::NullKey, 1);
                return Ok(());
            };
            context.run_and_reset(|| output.with_text(key, |name| visit(&KeyedRow { row, key, name, document })))
        })?;
        Ok(omitted)
    }
}

#[derive(Clone, Copy)]
pub struct Sampling {
    pub count: usize,
    pub seed: i64,
}

impl Sampling {
    /// Reads the arguments `sample` and `sample_seed`.
    pub fn of(arguments: &Arguments) -> Result<Self> {
        const DEFAULT: i32 = 1000;
        let count = arguments.int4("sample").unwrap_or(DEFAULT);
        let seed = arguments.int8("sample_seed").unwrap_or(0);
        let count = at_least_one("sample", count, "Pass the number of documents to compare with all others.")?;
        Ok(Self { count, seed })
    }
}

/// A sample of documents: those with the least hashes of their keys, up to the requested number and the limit of
/// memory. So the sample does not depend on the order of rows.
pub struct LeastHashes<T> {
    wanted: Sampling,
    /// The bytes that they may take, and that they take.
    room: usize,
    bytes: usize,
    taken: BinaryHeap<Hashed<T>>,
    /// The least hash that did not fit.
    bound: Option<(i64, String)>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Hashed<T> {
    hash: i64,
    key: String,
    bytes: usize,
    document: T,
}

impl<T: Ord> LeastHashes<T> {
    pub fn new(wanted: Sampling, room: usize) -> Self {
        Self { wanted, room, bytes: 0, taken: BinaryHeap::new(), bound: None }
    }

    /// Adds a document that takes `bytes` bytes, unless others precede it.
    pub fn add(&mut self, key: &str, bytes: usize, document: impl FnOnce() -> Result<T>) -> Result<()> {
        let hash = hash_of(key, self.wanted.seed);
        if self.bound.as_ref().is_some_and(|(least, of)| (hash, key) >= (*least, of)) {
            return Ok(());
        }
        self.taken.try_reserve(1).map_err(|_| out_of_memory())?;
        self.taken.push(Hashed { hash, key: memory::owned(key)?, bytes, document: document()? });
        self.bytes += bytes;
        while self.taken.len() > self.wanted.count || self.bytes > self.room {
            let Some(Hashed { hash, key, bytes, .. }) = self.taken.pop() else { break };
            self.bytes -= bytes;
            self.bound = Some((hash, key));
        }
        Ok(())
    }

    /// The documents with their keys, in the order of hashes.
    pub fn finish(self) -> impl Iterator<Item = (String, T)> {
        self.taken.into_sorted_vec().into_iter().map(|Hashed { key, document, .. }| (key, document))
    }

    /// The same, or an error if two documents of argument `source` have the same key.
    pub fn finish_distinct(self) -> Result<Vec<(String, T)>> {
        let taken = memory::collect(self.finish())?;
        match taken.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(twice_there("source", &shortened(&pair[0].0))),
            None => Ok(taken),
        }
    }
}

/// The hash of a key, by which samples select documents.
fn hash_of(key: &str, seed: i64) -> i64 {
    // SAFETY: PostgreSQL's hash function of texts, with a collation by which only equal bytes are equal.
    unsafe {
        let (function, seed) = (pg_sys::F_HASHTEXTEXTENDED.into(), Datum::from(seed));
        let collation = pg_sys::C_COLLATION_OID;
        pg_sys::OidFunctionCall2Coll(function, collation, text::write(key), seed).value() as i64
    }
}
