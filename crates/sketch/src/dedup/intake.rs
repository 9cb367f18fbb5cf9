//! Takes all documents once. Keeps their band hashes, by column for sorting and by row for groups.
//!
//! The caller's thread copies documents into batches. Batches are signed, with threads if there are enough documents.
//! The host stores a document before it is known if it has shingles, so the positions of documents without any are
//! returned to it.
//!
//! If boilerplate does not count, documents get only fingerprints when they are taken. They are signed after the
//! boilerplate, which depends on all of them, is known.

use std::collections::VecDeque;

use super::agreement::Agreement;
use super::attributes::{Attributes, Scope};
use super::boilerplate::{Boilerplates, Collecting};
use super::columns::BandColumns;
use super::form::{Terms, Verify};
use super::host::{DocumentPass, Host, JobStep, Process};
use super::shares::Shares;
use crate::corpus::Hashes;
use crate::pipeline::{Crew, Hands, Making, Signer, SignerBatch, hands};
use crate::{Config, Error, Result, Sketcher, memory};

/// Bytes of a batch: some hundred texts, which take far longer to sign than to pass on.
const BATCH: usize = 128 << 10;

/// Number of documents up to which all pairs can be compared at once: 2,016 comparisons.
pub const FEW: u32 = 64;

/// The numbers of documents with little counted text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Little {
    /// Number of documents that are compared for equality only.
    pub by_equality: usize,
    /// Number of documents that are compared by less than a third of their text.
    pub small: usize,
}

/// Documents, numbered in the order in which they were added, without those that have no shingles.
pub struct Documents {
    pub(super) columns: BandColumns,
    /// For each document, the stored bytes for an exact comparison.
    pub(super) sizes: Vec<u32>,
    /// For each document its scope, up to the last one that has one.
    pub(super) scopes: Vec<Scope>,
    /// For each document its own threshold or 0, up to the last one that has one.
    pub(super) leasts: Vec<f64>,
    /// Notes on the documents that are being signed, in order.
    notes: VecDeque<Note>,
    pub(super) process: Process,
    /// Number of documents since [`Self::take_in`] that were signed, and those without shingles.
    signed: u32,
    without: Vec<u32>,
    /// The sets that must agree, if there are any.
    pub(super) agreement: Option<Agreement>,
    /// Collects data about boilerplate until that is known. Then documents are signed.
    collecting: Option<Collecting>,
    /// The shingles that do not count, once they are known.
    pub(super) boilerplates: Option<Boilerplates>,
    little: Little,
    /// True if each pair is compared.
    pub(super) is_whole: bool,
    pub(super) terms: Terms,
    pub(super) shares: Shares,
}

struct Note {
    size: u32,
    least: f64,
    scope: Scope,
    origin: u32,
    /// The place of the set that must agree.
    set: u64,
}

impl Documents {
    /// No documents yet.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(terms: Terms, shares: Shares, process: Process) -> Result<Self> {
        let width = terms.banding.bands() + 1;
        Ok(Self {
            columns: BandColumns::new(width, shares.documents, &process)?,
            sizes: Vec::new(),
            scopes: Vec::new(),
            leasts: Vec::new(),
            notes: VecDeque::new(),
            signed: 0,
            without: Vec::new(),
            agreement: shares.agreeing.map(|memory| Agreement::new(memory, process.new_file)),
            collecting: shares.boilerplate.map(|memory| Collecting::new(&terms, memory)),
            boilerplates: None,
            little: Little::default(),
            is_whole: false,
            terms,
            shares,
            process,
        })
    }

    /// Number of documents with shingles.
    #[expect(clippy::len_without_is_empty, reason = "an empty collection is like any other")]
    pub fn len(&self) -> u32 {
        self.sizes.len() as u32
    }

    /// Has each pair of these documents compared, instead of those that share a band, so that none is missed by chance.
    /// No effect on more than [`FEW`] documents.
    pub fn compare_each_pair(&mut self) {
        self.is_whole = self.len() <= FEW;
    }

    /// Calls `read` with the intake for documents. Returns the positions of the added documents without shingles,
    /// ascending.
    ///
    /// # Errors
    /// An error of `read`, or [`Error::OutOfMemory`].
    pub fn take_in<E: From<Error>>(&mut self, read: impl FnOnce(&mut Intake) -> Result<(), E>) -> Result<Vec<u32>, E> {
        let making = match self.collecting {
            Some(_) => || Making::Fingerprint,
            None => || Making::BandsAndHash,
        };
        self.signed = 0;
        self.by_hands(making, Self::take, read)?;
        Ok(std::mem::take(&mut self.without))
    }

    /// Calls `read` with a signer that makes these hashes, and `take` with their batches.
    fn by_hands<E: From<Error>>(
        &mut self,
        making: impl Fn() -> Making,
        take: TakeBatch,
        read: impl FnOnce(&mut Intake) -> Result<(), E>,
    ) -> Result<(), E> {
        let Terms { config, banding, .. } = self.terms.clone();
        let signer = || Signer::new(Sketcher::new(config.clone()), banding, making());
        let Process { threads, setting, .. } = self.process;
        let memory = self.shares.reading;
        let mut others = || (0..threads).map(|_| signer()).collect();
        hands(setting(memory), signer(), &mut others, |hands| {
            let full = BATCH.min(memory / 4);
            let mut intake = Intake { documents: self, hands, batch: SignerBatch::default(), full, take };
            read(&mut intake)?;
            Ok(intake.finish()?)
        })
    }

    fn take(&mut self, batch: &mut SignerBatch) -> Result<()> {
        for hashes in batch.hashes() {
            let Some(Note { size, least, scope, origin, set }) = self.notes.pop_front() else {
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
            let document = self.sizes.len();
            memory::push(&mut self.sizes, size)?;
            if least > 0.0 {
                memory::resize(&mut self.leasts, document, 0.0)?;
                memory::push(&mut self.leasts, least)?;
            }
            if scope != Scope::ALL {
                memory::resize(&mut self.scopes, document, Scope::ALL)?;
                memory::push(&mut self.scopes, scope)?;
            }
            if let Some(agreement) = &mut self.agreement {
                agreement.take(set)?;
            }
        }
        (self.process.progress)(JobStep::Read(self.len()));
        Ok(())
    }

    /// Finds the boilerplate of the documents, if it does not count. They are read again.
    ///
    /// # Errors
    /// An error of the host, or [`Error::OutOfMemory`].
    pub fn find_boilerplate<H: Host>(&mut self, host: &mut H) -> Result<Option<Boilerplates>, H::Error> {
        let Some(collecting) = self.collecting.take() else { return Ok(None) };
        // The other uses of these shares are over by now.
        // Counting needs memory in addition to the texts in flight.
        let reading = self.shares.reading;
        let mut crew = Crew::With((self.process.setting)(reading / 2), self.process.threads);
        collecting.finish(host, &self.sizes, &mut crew, (&self.process, reading)).map(Some)
    }

    /// Finds the boilerplate of the documents, if it does not count, and signs what counts. They are read again.
    /// Returns the numbers of documents with little counted text.
    ///
    /// # Errors
    /// An error of the host, or [`Error::OutOfMemory`].
    pub fn sign_collected<H: Host>(&mut self, host: &mut H) -> Result<Little, H::Error> {
        let Some(mut boilerplates) = self.find_boilerplate(host)? else { return Ok(Little::default()) };
        let form = self.terms.form;
        let enough = boilerplates.enough;
        self.signed = 0;
        let making = || Making::Counted(enough);
        self.by_hands(making, Self::take_counted, |intake| {
            host.each(DocumentPass::Again, &mut (0..), &mut |document, read| {
                let origin = boilerplates.origin(document);
                if boilerplates.is_full_for(origin) {
                    // Documents that are being signed use it.
                    intake.finish()?;
                }
                let frame = boilerplates.frame(origin)?;
                read(form, &mut |stored| Ok(intake.batch.push(form, stored)?))?;
                intake.batch.without(frame)?;
                Ok(intake.give_if_full()?)
            })
        })?;
        self.boilerplates = Some(boilerplates);
        Ok(self.little)
    }

    /// Adds the hashes of a batch of collected documents.
    fn take_counted(&mut self, batch: &mut SignerBatch) -> Result<()> {
        for (hashes, part) in batch.hashes().zip(&batch.parts) {
            let document = self.signed as usize;
            self.signed += 1;
            let salt = self.scopes.get(document).map_or(0, |scope| scope.salt());
            self.columns.push(hashes.iter().map(|&hash| hash as u64 ^ salt))?;
            if self.terms.verify == Verify::Exact {
                let bytes = part.hashes().saturating_mul(size_of::<u64>());
                self.sizes[document] = u32::try_from(bytes).unwrap_or(u32::MAX);
            }
            self.little.by_equality += usize::from(part.by_equality);
            self.little.small += usize::from(part.is_small());
        }
        // Empties it for reuse.
        batch.clear();
        Ok(())
    }

    /// Number of hashes of each document.
    pub(super) fn width(&self) -> usize {
        self.columns.probes() + 1
    }
}

type TakeBatch = fn(&mut Documents, &mut SignerBatch) -> Result<()>;

/// The intake for documents.
pub struct Intake<'a, 'scope, 'env> {
    documents: &'a mut Documents,
    take: TakeBatch,
    hands: &'a mut Hands<'scope, 'env, Signer>,
    /// The current batch, and its size when it is full.
    batch: SignerBatch,
    full: usize,
}

impl Intake<'_, '_, '_> {
    /// Adds a document; whether it has shingles is found later. `copy` appends it to a batch, to be signed by a
    /// configuration, and returns the size of its bytes as they are stored, and its own threshold or 0.
    ///
    /// # Errors
    /// An error of `copy`, or [`Error::OutOfMemory`].
    pub fn add<E: From<Error>>(
        &mut self,
        attributes: Attributes,
        copy: impl FnOnce(&Config, &mut SignerBatch) -> Result<(usize, f64), E>,
    ) -> Result<(), E> {
        let Documents { agreement, collecting, terms, notes, .. } = &mut *self.documents;
        let config = collecting.as_ref().map_or(&terms.config, |collecting| &collecting.config);
        let (size, least) = copy(config, &mut self.batch)?;
        notes.try_reserve(1).map_err(|_| memory::refused::<Note>(notes.len() + 1))?;
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let set = agreement.as_mut().map_or(Ok(0), |agreement| agreement.put(attributes.agreeing))?;
        notes.push_back(Note { size, least, scope: attributes.scope, origin: attributes.origin, set });
        Ok(self.give_if_full()?)
    }

    fn give_if_full(&mut self) -> Result<()> {
        if self.batch.bytes() >= self.full { self.give() } else { Ok(()) }
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
        let hashes = batch.len() * (documents.terms.banding.bands() + 1) * size_of::<i64>();
        let bytes = batch.bytes() + hashes;
        self.hands.give(batch, bytes, &mut |batch| take(documents, batch))
    }
}
