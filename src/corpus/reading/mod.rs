//! Reads all documents of one or two sources once. Keeps their band hashes, by column for sorting and by row for
//! groups, and stores their rows.
//!
//! The backend reads rows, and copies documents into batches. It signs them, with threads if there are enough
//! documents. A row is stored before it is known if it has shingles, so rows without any are noted.
//!
//! If boilerplate does not count, documents get only fingerprints when they are read. They are signed after the
//! boilerplate, which depends on all of them, is known.

pub mod agreement;
pub mod boilerplate;
pub mod columns;
pub mod keyed_rows;
pub mod omitted;

use std::collections::VecDeque;
use std::rc::Rc;

use sketch::boilerplate::Frame;
use sketch::corpus::Hashes;
use sketch::pipeline::{Crew, Hands, Making, Signer, SignerBatch, hands};
use sketch::{Config, Sketcher};

use crate::corpus::reading::agreement::Agreement;
use crate::corpus::reading::boilerplate::{Boilerplates, Collecting, Little};
use crate::corpus::reading::columns::{KeyCheck, Scope, Scopes};
use crate::corpus::reading::omitted::{Omitted, Reason};
use crate::corpus::source::reader::{Criteria, Unread};
use crate::corpus::source::rows::{RowSpool, RowSpools, SourceRow, SourceRows};
use crate::memory::JobShares;
use crate::options::Verify;
use crate::pg::job::{Counter, Progress};
use crate::pg::temp_file::Spool;
use crate::pg::worker_threads::setting;
use crate::prelude::*;

/// Bytes of a batch: some hundred texts, which take far longer to sign than to pass on.
const BATCH: usize = 128 << 10;

/// Number of documents in a block. A block's part of a column is a page of the temporary file.
const BLOCK: usize = 1024;

/// Documents, numbered in the order of reading.
pub struct Documents {
    pub columns: BandColumns,
    /// For each document, the stored bytes for an exact comparison.
    pub sizes: Vec<u32>,
    /// For each document its scope, if there are any.
    pub scopes: Vec<Scope>,
    /// For each document its own threshold, if documents have them.
    pub leasts: Vec<f64>,
    /// Notes on the documents that are being signed, in order.
    notes: VecDeque<Note>,
    /// Hashes of the keys of this source, if they must be checked.
    keys: Vec<u64>,
    pub progress: Rc<Progress>,
    /// Number of documents of this source that were signed, and those without shingles.
    signed: u32,
    without: Vec<u32>,
    known: Scopes,
    /// The sets that must agree, if there are any.
    pub agreement: Option<Agreement>,
    /// Collects data about boilerplate until that is known. Then documents are signed.
    collecting: Option<Collecting>,
    /// The shingles that do not count, once they are known.
    pub boilerplates: Option<Boilerplates>,
    /// The documents with little counted text.
    little: Little,
    criteria: Criteria,
    memory: usize,
}

struct Note {
    size: u32,
    least: f64,
    scope: Scope,
    origin: u32,
    /// The place of the set that must agree.
    set: u64,
    key: Option<u64>,
}

impl Documents {
    /// No documents yet, of a job with this memory.
    pub fn new(
        criteria: &Criteria,
        known: Scopes,
        (collecting, agreement): (Option<Collecting>, Option<Agreement>),
        memory: &JobShares,
        progress: Progress,
    ) -> Result<Self> {
        let width = criteria.banding.bands() + 1;
        Ok(Self {
            columns: BandColumns::new(width, memory.documents)?,
            sizes: Vec::new(),
            scopes: Vec::new(),
            leasts: Vec::new(),
            notes: VecDeque::new(),
            keys: Vec::new(),
            progress: Rc::new(progress),
            signed: 0,
            without: Vec::new(),
            known,
            agreement,
            collecting,
            boilerplates: None,
            little: Little::default(),
            criteria: criteria.clone(),
            memory: memory.reading,
        })
    }

    pub fn len(&self) -> u32 {
        self.sizes.len() as u32
    }

    /// Calls `read` with the intake for documents of a source. Returns the positions of pushed documents without
    /// shingles, ascending.
    pub fn take_in(&mut self, read: impl FnOnce(&mut Intake) -> Result<()>) -> Result<Vec<u32>> {
        let making = match self.collecting {
            Some(_) => || Making::Fingerprint,
            None => || Making::BandsAndHash,
        };
        self.signed = 0;
        self.by_hands(making, Self::take, read)?;
        Ok(std::mem::take(&mut self.without))
    }

    /// Calls `read` with a signer that makes these hashes, and `take` with their batches.
    fn by_hands(
        &mut self,
        making: impl Fn() -> Making,
        take: TakeBatch,
        read: impl FnOnce(&mut Intake) -> Result<()>,
    ) -> Result<()> {
        let Criteria { config, banding, .. } = self.criteria.clone();
        let signer = || Signer::new(Sketcher::new(config.clone()), banding, making());
        let threads = self.progress.threads();
        let mut others = || (0..threads).map(|_| signer()).collect();
        hands(setting(self.memory), signer(), &mut others, |hands| {
            let full = BATCH.min(self.memory / 4);
            let (batch, context) = (SignerBatch::default(), Memory::scratch(c"minlsh document"));
            let mut intake = Intake { documents: self, hands, batch, full, context, take };
            read(&mut intake)?;
            intake.finish()
        })
    }

    fn take(&mut self, batch: &mut SignerBatch) -> Result<()> {
        for hashes in batch.hashes() {
            let Some(Note { size, least, scope, origin, set, key }) = self.notes.pop_front() else {
                break;
            };
            self.signed += 1;
            let Some(first) = hashes.first() else {
                memory::push(&mut self.without, self.signed - 1)?;
                continue;
            };
            if let Some(collecting) = &mut self.collecting {
                collecting.take(origin, *first as u64)?;
            } else {
                let salt = scope.salt();
                self.columns.push(hashes.iter().map(|&hash| hash as u64 ^ salt))?;
            }
            memory::push(&mut self.sizes, size)?;
            if least > 0.0 {
                memory::push(&mut self.leasts, least)?;
            }
            if scope != Scope::ALL {
                memory::push(&mut self.scopes, scope)?;
            }
            if let Some(agreement) = &mut self.agreement {
                agreement.take(set)?;
            }
            if let Some(key) = key {
                memory::push(&mut self.keys, key)?;
            }
        }
        self.progress.set(Counter::Read, self.sizes.len() as u64);
        Ok(())
    }

    /// Finds the boilerplate of the collected documents, if boilerplate is left out.
    pub fn find_boilerplate(&mut self, memory: &JobShares, rows: &mut RowSpools) -> Result<Option<Boilerplates>> {
        let Some(collecting) = self.collecting.take() else { return Ok(None) };
        // The other uses of these shares are over by now.
        // Counting needs memory in addition to the texts in flight.
        let mut crew = Crew::With(setting(memory.reading / 2), self.progress.threads());
        let JobShares { reading, boilerplate, .. } = *memory;
        collecting.finish(rows, &self.sizes, &mut crew, reading, boilerplate).map(Some)
    }

    /// Finds the boilerplate of the collected documents, if boilerplate is left out, and signs what counts. Documents
    /// are read again.
    pub fn sign_collected(&mut self, memory: &JobShares, rows: &mut RowSpools) -> Result<()> {
        let Some(mut boilerplates) = self.find_boilerplate(memory, rows)? else { return Ok(()) };
        let (config, enough) = (boilerplates.config.clone(), boilerplates.enough);
        self.signed = 0;
        let reader = self.criteria.reader;
        let making = || Making::Counted(enough);
        self.by_hands(making, Self::take_counted, |intake| {
            rows.each(&mut (0..), &mut |_, row| {
                check_interrupts();
                let origin = boilerplates.origin(row.number);
                if boilerplates.is_full_for(origin) {
                    // Documents that are being signed use it.
                    intake.finish()?;
                }
                let frame = boilerplates.frame(origin)?;
                // SAFETY: a value that `read` has passed to the same reader before.
                let document = unsafe { reader.document(row.document()?) };
                intake.push_again(document, &config, frame)
            })
        })?;
        rows.rewind();
        self.little.report();
        self.boilerplates = Some(boilerplates);
        Ok(())
    }

    /// Adds the hashes of a batch of collected documents.
    fn take_counted(&mut self, batch: &mut SignerBatch) -> Result<()> {
        for (hashes, part) in batch.hashes().zip(&batch.parts) {
            let document = self.signed as usize;
            self.signed += 1;
            let salt = self.scopes.get(document).map_or(0, |scope| scope.salt());
            self.columns.push(hashes.iter().map(|&hash| hash as u64 ^ salt))?;
            if self.criteria.verify == Verify::Exact {
                let bytes = part.hashes().saturating_mul(size_of::<u64>());
                self.sizes[document] = u32::try_from(bytes).unwrap_or(u32::MAX);
            }
            self.little.add(*part);
        }
        // Empties it for reuse.
        batch.clear();
        Ok(())
    }

    /// Reads the rows of a source, and stores the rows of documents. Returns which of them have no shingles. Counts
    /// rows that take no part in `omitted`.
    pub fn read(
        &mut self,
        rows: &SourceRows,
        keys: &KeyCheck,
        spool: &mut RowSpool,
        omitted: &mut Omitted,
    ) -> Result<Vec<u32>> {
        let reader = self.criteria.reader;
        let without = self.take_in(|intake| {
            rows.each(&mut |row: &SourceRow| {
                check_interrupts();
                let Some(document) = omitted.document(row) else { return Ok(()) };
                // SAFETY: a value of the source's document column, for whose type `criteria` made the reader.
                let document = unsafe { reader.document(document) };
                let Some(key) = row.key() else {
                    if intake.has_shingles(document)? {
                        return Err(keys.missing());
                    }
                    omitted.add(Reason::Empty, 1);
                    return Ok(());
                };
                if intake.push(document, |place| row.scope(place), row.agreeing(), keys.hash(key))? {
                    spool.push(row)?;
                }
                Ok(())
            })
        })?;
        omitted.add(Reason::Empty, without.len());
        keys.finish(std::mem::take(&mut self.keys), |look| spool.each_key(look))?;
        Ok(without)
    }
}

type TakeBatch = fn(&mut Documents, &mut SignerBatch) -> Result<()>;

/// The intake for documents of a source.
pub struct Intake<'a, 'scope, 'env> {
    documents: &'a mut Documents,
    take: TakeBatch,
    hands: &'a mut Hands<'scope, 'env, Signer>,
    /// The current batch, and its size when it is full.
    batch: SignerBatch,
    full: usize,
    /// Memory for one document, reset before the next.
    context: Memory,
}

impl Intake<'_, '_, '_> {
    /// Adds a document; false if it has no scope, so that it cannot be similar to another. Shingles are checked later.
    pub fn push(
        &mut self,
        document: Unread,
        scope: impl Fn(usize) -> Option<Datum>,
        agreeing: Option<Datum>,
        key: Option<u64>,
    ) -> Result<bool> {
        let Self { documents, batch, context, .. } = self;
        let Documents { known, agreement, collecting, criteria, notes, .. } = &mut **documents;
        let Some(own) = known.of(&scope)? else { return Ok(false) };
        let (origin, config) = match collecting {
            Some(collecting) => {
                // Its column follows the scopes.
                let origin = collecting.origin(|_| scope(known.columns()))?;
                (origin, &collecting.config)
            }
            None => (0, &criteria.config),
        };
        let (size, least) = context.run_and_reset(|| document.copy(config, batch))?;
        notes.try_reserve(1).map_err(|_| crate::error::out_of_memory())?;
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let set = agreement.as_mut().map_or(Ok(0), |agreement| agreement.put(agreeing))?;
        notes.push_back(Note { size, least, scope: own, origin, set, key });
        self.give_if_full()?;
        Ok(true)
    }

    /// Adds a document again, to be signed without its frame.
    fn push_again(&mut self, document: Unread, config: &Config, frame: Frame) -> Result<()> {
        let Self { batch, context, .. } = self;
        context.run_and_reset(|| document.copy(config, batch))?;
        batch.without(frame)?;
        self.give_if_full()
    }

    fn give_if_full(&mut self) -> Result<()> {
        if self.batch.bytes() >= self.full { self.give() } else { Ok(()) }
    }

    /// True if a document has shingles, so that others can be similar to it.
    fn has_shingles(&mut self, document: Unread) -> Result<bool> {
        let mut sketcher = Sketcher::new(self.documents.criteria.config.clone());
        let mut has_shingles = false;
        let found = |_: &[i32], _| {
            has_shingles = true;
            Ok(())
        };
        self.context.run_and_reset(|| document.sketch(&mut sketcher, found))?;
        Ok(has_shingles)
    }

    /// Signs the remaining documents.
    fn finish(&mut self) -> Result<()> {
        self.give()?;
        let Self { documents, hands, take, .. } = self;
        hands.finish(&mut |batch| take(documents, batch))
    }

    fn give(&mut self) -> Result<()> {
        let mut next = self.hands.batch();
        next.clear();
        let batch = std::mem::replace(&mut self.batch, next);
        let (documents, take) = (&mut *self.documents, self.take);
        // Includes its hashes.
        let hashes = batch.len() * (documents.criteria.banding.bands() + 1) * size_of::<i64>();
        let bytes = batch.bytes() + hashes;
        self.hands.give(batch, bytes, &mut |batch| take(documents, batch))
    }
}

/// Hashes by document and column, in blocks that are stored by column.
pub struct BandColumns {
    width: usize,
    documents: u32,
    blocks: Spool<u64>,
    /// The block that is being filled, and later the block that is read by row.
    current: Vec<u64>,
    /// Number of the block in `current`.
    at: usize,
    memory: usize,
}

impl BandColumns {
    /// For `width` hashes of each document, with `memory` bytes for them, and as many for sorting.
    pub fn new(width: usize, memory: usize) -> Result<Self> {
        Ok(Self {
            width,
            documents: 0,
            blocks: Spool::new(memory),
            current: memory::filled(0, width * BLOCK)?,
            at: 0,
            memory,
        })
    }

    /// Appends the hashes of the next document.
    pub fn push(&mut self, hashes: impl Iterator<Item = u64>) -> Result<()> {
        let place = self.documents as usize % BLOCK;
        if place == 0 && self.documents > 0 {
            self.finish()?;
        }
        for (column, hash) in hashes.take(self.width).enumerate() {
            self.current[column * BLOCK + place] = hash;
        }
        self.documents += 1;
        Ok(())
    }

    /// Stores the current block, also at the end of documents.
    pub fn finish(&mut self) -> Result<()> {
        self.blocks.append(&self.current)?;
        self.at += 1;
        Ok(())
    }

    /// Appends the hashes of a document to `out`. Documents must be read in ascending order.
    pub fn row(&mut self, document: u32, out: &mut Vec<u64>) -> Result<()> {
        let (block, place) = (document as usize / BLOCK, document as usize % BLOCK);
        if block != self.at {
            self.blocks.read((block * self.current.len()) as u64, &mut self.current)?;
            self.at = block;
        }
        memory::reserve(out, self.width)?;
        out.extend((0..self.width).map(|column| self.current[column * BLOCK + place]));
        Ok(())
    }
}

impl Hashes for BandColumns {
    type Error = SqlError;

    fn documents(&self) -> u32 {
        self.documents
    }

    fn probes(&self) -> usize {
        self.width - 1
    }

    fn sort_memory(&self) -> usize {
        self.memory
    }

    fn hashes(&mut self, column: usize, visit: &mut dyn FnMut(u32, u64)) -> Result<()> {
        let mut hashes = [0; BLOCK];
        for first in (0..self.documents).step_by(BLOCK) {
            let place = first as usize * self.width + column * BLOCK;
            self.blocks.read(place as u64, &mut hashes)?;
            (first..self.documents).zip(&hashes).for_each(|(document, &hash)| visit(document, hash));
        }
        Ok(())
    }

    fn check_interrupts(&mut self) -> Result<()> {
        check_interrupts();
        Ok(())
    }
}
