//! All documents of one source, or of two, read once: their hashes, and their rows put aside.

use pgrx::prelude::*;
use sketch::{Banding, Sketcher, memory, signature_hash};

use crate::corpus::arguments::Criteria;
use crate::corpus::buckets::Buckets;
use crate::corpus::columns::Columns;
use crate::corpus::kind::Kind;
use crate::corpus::scopes::{Scope, Scopes};
use crate::corpus::unique::Unique;
use crate::error::{Result, engine, error};
use crate::pg::interrupts::check_interrupts;
use crate::pg::memory::Memory;
use crate::pg::row::Row;
use crate::pg::select::Select;
use crate::pg::tuple_store::TupleStore;

/// Documents, numbered in the order in which they are read.
pub struct Documents {
    /// Their hashes.
    pub columns: Columns,
    /// For each the bytes that it takes to compare it exactly.
    pub sizes: Vec<u32>,
    /// For each its scope, if there are any.
    pub scopes: Vec<Scope>,
    known: Scopes,
    kind: Kind,
    sketcher: Sketcher,
    banding: Banding,
    bands: Vec<i64>,
    /// What a document takes is gone when the next one comes.
    context: Memory,
}

/// A source about to be read.
pub struct Reading<'a> {
    /// Gives key, document and scope.
    pub select: Select<'a>,
    /// The index that says which rows to read, if not all.
    pub buckets: Option<&'a Buckets>,
    /// Keys that must be checked.
    pub unique: Unique,
    /// The name of the argument.
    pub argument: &'static str,
}

impl Documents {
    /// None yet; `memory` bytes for their hashes, and as many for sorting them.
    pub fn new(criteria: &Criteria, known: Scopes, memory: usize) -> Result<Self> {
        Ok(Self {
            columns: Columns::new(criteria.banding.bands() + 1, memory, memory)?,
            sizes: Vec::new(),
            scopes: Vec::new(),
            known,
            kind: criteria.kind,
            sketcher: Sketcher::new(criteria.config.clone()),
            banding: criteria.banding,
            bands: Vec::new(),
            context: Memory::child(c"minlsh document"),
        })
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        self.sizes.len() as u32
    }

    /// Takes in a document, and reports whether it is one that others can be similar to: it has shingles, and a scope.
    ///
    /// # Safety
    /// `document` and `scope` are values of the criteria's kind, and of the type of the scopes.
    pub unsafe fn push(
        &mut self,
        document: pg_sys::Datum,
        scope: impl Fn(usize) -> Option<pg_sys::Datum>,
    ) -> Result<bool> {
        let Self { kind, sketcher, banding, bands, context, .. } = self;
        let size = context.run(|| {
            // SAFETY: the caller's promise.
            let Some((signature, size)) = (unsafe { kind.sketch(document, sketcher)? }) else {
                return Ok(None);
            };
            banding.hashes(signature, bands).map_err(engine)?;
            bands.push(signature_hash(signature) as i64);
            Ok(Some(size))
        })?;
        // SAFETY: nothing of the document is used any more.
        unsafe { context.reset() };
        let Some(size) = size else { return Ok(false) };
        let Some(scope) = self.known.of(scope)? else { return Ok(false) };
        let salt = scope.salt();
        self.columns.push(self.bands.iter().map(|&band| band as u64 ^ salt))?;
        memory::push(&mut self.sizes, u32::try_from(size).unwrap_or(u32::MAX)).map_err(engine)?;
        if scope != Scope::ALL {
            memory::push(&mut self.scopes, scope).map_err(engine)?;
        }
        Ok(true)
    }

    /// Reads a source, and puts the rows of its documents into `rows`.
    pub fn read(&mut self, reading: &mut Reading, rows: &mut TupleStore) -> Result<()> {
        let Reading { select, buckets, unique, argument } = reading;
        let mut take = |row: &Row| {
            check_interrupts();
            let Some(document) = row.value(2) else { return Ok(()) };
            // SAFETY: the columns that the kind and the scopes were found for.
            if !unsafe { self.push(document, |place| row.value(place as i16 + 3))? } {
                return Ok(());
            }
            let key = row.value(1).ok_or_else(|| {
                error(
                    PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                    format!("{argument} has a document whose key is NULL"),
                )
                .set_hint("Leave such rows out, or give them a key.")
            })?;
            unique.push(key)?;
            rows.push(row);
            Ok(())
        };
        match buckets {
            None => select.each(&[], &mut take)?,
            Some(buckets) => buckets.each(&mut |places| select.each(places, &mut take))?,
        }
        let Some(repeated) = unique.repeated() else { return Ok(()) };
        rows.each(&mut |row| unique.complain(row, repeated, argument).map_or(Ok(()), Err))
    }
}
