//! All documents of one source, or of two, read once: their hashes, and their rows put aside.
//!
//! The backend reads rows and copies documents into batches; it signs them, and so do threads beside
//! it where there are enough of them. What comes of a batch is taken in the order of rows. So a row is put
//! aside before it is known whether it has shingles: those that have none are noted.

use std::collections::VecDeque;
use std::rc::Rc;

use pgrx::prelude::*;
use sketch::pipeline::{Hands, Signer, SignerBatch, hands};
use sketch::{Banding, Config, Sketcher, memory};

use crate::corpus::arguments::Criteria;
use crate::corpus::aside::Aside;
use crate::corpus::chosen::Chosen;
use crate::corpus::columns::Columns;
use crate::corpus::form::Form;
use crate::corpus::progress::Progress;
use crate::corpus::reader::{Copied, Reader};
use crate::corpus::scopes::{Scope, Scopes};
use crate::corpus::unique::Unique;
use crate::error::{Result, engine, error};
use crate::memory::JobShares;
use crate::pg::hands::setting;
use crate::pg::interrupts::check_interrupts;
use crate::pg::memory::Memory;
use crate::pg::row::Row;
use crate::pg::select::Select;

/// Bytes of a batch: some hundred texts, whose signing takes far longer than to hand them over.
const BATCH: usize = 128 << 10;

/// Documents, numbered in the order in which they are read.
pub struct Documents {
    /// Their hashes.
    pub columns: Columns,
    /// For each the bytes that are put aside to compare it exactly.
    pub sizes: Vec<u32>,
    /// For each its scope, if there are any.
    pub scopes: Vec<Scope>,
    /// For each the least similarity that it asks for itself, if they do.
    pub leasts: Vec<f64>,
    /// Notes on the documents that are being signed, in order.
    notes: VecDeque<Note>,
    /// Hashes of the keys of this source, where they must be checked.
    keys: Vec<u64>,
    /// The progress of the job, which others may see.
    pub progress: Rc<Progress>,
    /// The number of documents of this source that were signed, and those of them that have no shingles.
    signed: u32,
    without: Vec<u32>,
    known: Scopes,
    reader: Reader,
    config: Config,
    banding: Banding,
    memory: usize,
}

/// A note on a document that is being signed.
struct Note {
    size: u32,
    least: f64,
    scope: Scope,
    key: Option<u64>,
}

/// A source about to be read.
pub struct Reading<'a> {
    /// Gives key, document and scope.
    pub select: Select<'a>,
    /// The rows that are read.
    pub chosen: Chosen<'a>,
    /// The form of these rows.
    pub form: Form,
    /// Keys that must be checked.
    pub unique: Unique,
    /// The number of threads that may help.
    pub threads: &'a dyn Fn() -> usize,
    /// The name of the argument.
    pub argument: &'static str,
}

impl Documents {
    /// None yet, of a job that has such memory.
    pub fn new(
        criteria: &Criteria,
        known: Scopes,
        memory: &JobShares,
        progress: Progress,
    ) -> Result<Self> {
        let width = criteria.banding.bands() + 1;
        Ok(Self {
            columns: Columns::new(width, memory.documents, memory.documents)?,
            sizes: Vec::new(),
            scopes: Vec::new(),
            leasts: Vec::new(),
            notes: VecDeque::new(),
            keys: Vec::new(),
            progress: Rc::new(progress),
            signed: 0,
            without: Vec::new(),
            known,
            reader: criteria.reader,
            config: criteria.config.clone(),
            banding: criteria.banding,
            memory: memory.reading,
        })
    }

    /// The number of documents.
    pub fn len(&self) -> u32 {
        self.sizes.len() as u32
    }

    /// Calls `read` with what takes in the documents of a source; as many threads as `threads` says may
    /// help. Returns which of those that were pushed have no shingles, by their places, ascending.
    pub fn take_in(
        &mut self,
        threads: &dyn Fn() -> usize,
        read: impl FnOnce(&mut Intake) -> Result<()>,
    ) -> Result<Vec<u32>> {
        let (config, banding) = (self.config.clone(), self.banding);
        let make = || Signer::new(Sketcher::new(config.clone()), banding).with_signature_hash();
        let mut others = || (0..threads()).map(|_| make()).collect();
        self.signed = 0;
        hands(setting(self.memory), make(), &mut others, |hands| {
            let full = BATCH.min(self.memory / 4);
            let (batch, context) = (SignerBatch::default(), Memory::scratch(c"minlsh document"));
            let mut intake = Intake { documents: self, hands, batch, full, context };
            read(&mut intake)?;
            intake.give()?;
            hands.finish(engine, &mut |batch| self.take(batch))
        })?;
        Ok(std::mem::take(&mut self.without))
    }

    /// Takes the hashes of a batch.
    fn take(&mut self, batch: &mut SignerBatch) -> Result<()> {
        for hashes in batch.hashes() {
            let Some(Note { size, least, scope, key }) = self.notes.pop_front() else { break };
            self.signed += 1;
            if hashes.is_empty() {
                memory::push(&mut self.without, self.signed - 1).map_err(engine)?;
                continue;
            }
            let salt = scope.salt();
            self.columns.push(hashes.iter().map(|&hash| hash as u64 ^ salt))?;
            memory::push(&mut self.sizes, size).map_err(engine)?;
            if least > 0.0 {
                memory::push(&mut self.leasts, least).map_err(engine)?;
            }
            if scope != Scope::ALL {
                memory::push(&mut self.scopes, scope).map_err(engine)?;
            }
            if let Some(key) = key {
                memory::push(&mut self.keys, key).map_err(engine)?;
            }
        }
        self.progress.read(self.sizes.len() as u64);
        Ok(())
    }

    /// Reads a source, and puts the rows of its documents into `rows`. Returns which of these have no
    /// shingles.
    pub fn read(&mut self, reading: &mut Reading, rows: &mut Aside) -> Result<Vec<u32>> {
        let Reading { select, chosen, form, unique, threads, argument } = reading;
        let without = self.take_in(*threads, |intake| {
            let mut take = |row: &Row| {
                check_interrupts();
                let Some(document) = form.document(row) else { return Ok(()) };
                let scope = |place: usize| form.scope(row, place);
                let Some(key) = form.key(row) else {
                    // SAFETY: the columns that the kind was found for.
                    return unsafe { intake.refuse_without_key(document, scope, argument) };
                };
                // SAFETY: the columns that the kind and the scopes were found for.
                if unsafe { intake.push(document, scope, unique.hash(key))? } {
                    rows.push(row, form)?;
                }
                Ok(())
            };
            chosen.each_in(form, select, &mut take)
        })?;
        let Some(repeated) = unique.repeated(std::mem::take(&mut self.keys)) else {
            return Ok(without);
        };
        rows.each(&mut |_| true, &mut |_, key, _| {
            unique.complain(key, repeated, argument).map_or(Ok(()), Err)
        })?;
        Ok(without)
    }
}

/// The intake of the documents of a source.
pub struct Intake<'a, 'scope, 'env> {
    documents: &'a mut Documents,
    hands: &'a mut Hands<'scope, 'env, Signer>,
    /// The batch that is being filled, and how many bytes fill it.
    batch: SignerBatch,
    full: usize,
    /// Memory for one document, emptied before the next.
    context: Memory,
}

impl Intake<'_, '_, '_> {
    /// Takes in a document, and reports whether it is one that others can be similar to: it has a
    /// scope. Whether it has shingles is seen later.
    ///
    /// # Safety
    /// `document` and `scope` are values of the criteria's kind, and of the types of the scopes.
    pub unsafe fn push(
        &mut self,
        document: pg_sys::Datum,
        scope: impl Fn(usize) -> Option<pg_sys::Datum>,
        key: Option<u64>,
    ) -> Result<bool> {
        let Documents { known, reader, config, notes, .. } = &mut *self.documents;
        let Some(scope) = known.of(scope)? else { return Ok(false) };
        let batch = &mut self.batch;
        // SAFETY: the caller's promise.
        let copied =
            self.context.run_and_reset(|| unsafe { reader.copy(document, config, batch) })?;
        notes.try_reserve(1).map_err(|_| crate::error::out_of_memory())?;
        let Copied { size, least } = copied;
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        notes.push_back(Note { size, least, scope, key });
        if self.batch.bytes() >= self.full {
            self.give()?;
        }
        Ok(true)
    }

    /// The error of a document without a key, unless it has no shingles, or no scope.
    ///
    /// # Safety
    /// As for [`Intake::push`].
    unsafe fn refuse_without_key(
        &mut self,
        document: pg_sys::Datum,
        scope: impl Fn(usize) -> Option<pg_sys::Datum>,
        argument: &str,
    ) -> Result<()> {
        let Documents { known, reader, config, .. } = &mut *self.documents;
        let mut sketcher = Sketcher::new(config.clone());
        let is_document = known.of(scope)?.is_some()
            && self.context.run_and_reset(|| {
                // SAFETY: the caller's promise.
                unsafe { reader.sketch(document, &mut sketcher).map(|sketched| sketched.is_some()) }
            })?;
        if !is_document {
            return Ok(());
        }
        Err(error(
            PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
            format!("{argument} has a document with a NULL key"),
        )
        .set_hint("Leave out rows without a key, or set their keys."))
    }

    fn give(&mut self) -> Result<()> {
        let mut next = self.hands.batch();
        next.clear();
        let batch = std::mem::replace(&mut self.batch, next);
        let documents = &mut *self.documents;
        // And those of its hashes.
        let hashes = batch.len() * (documents.banding.bands() + 1) * size_of::<i64>();
        let bytes = batch.bytes() + hashes;
        self.hands.give(batch, bytes, engine, &mut |batch| documents.take(batch))
    }
}
