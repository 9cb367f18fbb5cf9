//! Tells whether two documents of a collection are near-duplicates, and how similar they are.

use std::collections::HashMap;
use std::rc::Rc;

use pgrx::pg_sys::panic::ErrorReport;
use sketch::ShingleSet;
use sketch::corpus::Corpus;

use crate::error::{Result, engine};
use crate::functions::checkpoint;
use crate::pg::guc::{LocalSettings, work_mem};
use crate::pg::spi::{Access, Session};
use crate::pg::text;
use crate::query::corpus::collection::{Collection, part_of};
use crate::query::options::Verify;
use crate::query::plans;
use crate::query::question::Question;

/// Verifies pairs of documents by signature, and by text where that is asked for.
pub struct Verifier<'a> {
    /// The documents.
    pub collection: Collection,
    session: &'a Session,
    verify: Verify,
    threshold: f64,
    least_estimate: f64,
    /// Shingle sets of texts read lately, up to work_mem.
    sets: HashMap<u32, Rc<ShingleSet>>,
    /// How many shingles they hold.
    shingles: usize,
}

impl<'a> Verifier<'a> {
    /// A verifier for the documents of a collection, asked as `question` says.
    pub fn new(question: &Question, session: &'a Session, collection: Collection) -> Self {
        Self {
            collection,
            session,
            verify: question.verify,
            threshold: question.threshold,
            least_estimate: question.least_estimate(),
            sets: HashMap::new(),
            shingles: 0,
        }
    }

    /// The similarity of two documents of a cluster, however low it is.
    pub fn measure(&mut self, a: u32, b: u32) -> Result<f64> {
        match self.verify {
            Verify::Signature => self.estimate(a, b),
            Verify::Exact => self.exact(a, b),
        }
    }

    fn estimate(&mut self, a: u32, b: u32) -> Result<f64> {
        let slot_bits = self.collection.parts[0].index.settings.slot_bits;
        self.collection
            .storage
            .pair(a, b, |a, b| slot_bits.estimate_jaccard(a.signature, b.signature))?
            .map_err(engine)
    }

    fn exact(&mut self, a: u32, b: u32) -> Result<f64> {
        let (a, b) = (self.set(a)?, self.set(b)?);
        Ok(a.jaccard(&b).unwrap_or(0.0))
    }

    /// The shingles of a stored text, read with the caller's rights.
    fn set(&mut self, document: u32) -> Result<Rc<ShingleSet>> {
        if let Some(set) = self.sets.get(&document) {
            return Ok(set.clone());
        }
        let session = self.session;
        let part = part_of(&self.collection.parts, document);
        let plan = plans::body(&part.index, session)?;
        let rows = {
            // The plan is kept, and writers use it too: it shall never scan the table.
            let settings = LocalSettings::open();
            settings.set("enable_seqscan", "off");
            session.execute(&plan, &[Some(part.key(document))], Access::Read)?
        };
        let body = if rows.is_empty() { None } else { rows.datum(0, 1) };
        let set = match body {
            // SAFETY: the plan casts the column to text.
            Some(body) => ShingleSet::from_text(
                &part.index.settings.config,
                &unsafe { text::read(body)? },
                &mut checkpoint,
            ),
            None => ShingleSet::from_hashes(Vec::new()),
        };
        rows.free();
        let set = Rc::new(set);
        self.shingles += set.len();
        if self.shingles * size_of::<u64>() > work_mem() as usize * 1024 {
            self.sets.clear();
            self.shingles = set.len();
        }
        self.sets.insert(document, set.clone());
        Ok(set)
    }
}

impl Corpus for Verifier<'_> {
    type Error = ErrorReport;

    fn documents(&self) -> u32 {
        self.collection.len() as u32
    }

    fn probes(&self) -> usize {
        self.collection.storage.probes()
    }

    fn sort_memory(&self) -> usize {
        self.collection.sort_memory
    }

    fn hashes(&mut self, column: usize, visit: &mut dyn FnMut(u32, u64)) -> Result<()> {
        self.collection.storage.hashes(column, visit)
    }

    fn bands(&mut self, document: u32) -> Result<Vec<u64>> {
        let bands = 0..self.probes();
        let storage = &mut self.collection.storage;
        storage.pair(document, document, |record, _| bands.map(|band| record.hash(band)).collect())
    }

    fn share_band(&mut self, bands: usize, a: u32, b: u32) -> Result<bool> {
        self.collection.storage.share_band(bands, a, b)
    }

    fn similarity(&mut self, a: u32, b: u32) -> Result<Option<f64>> {
        let estimate = self.estimate(a, b)?;
        if estimate < self.least_estimate {
            return Ok(None);
        }
        let similarity = match self.verify {
            Verify::Signature => estimate,
            Verify::Exact => self.exact(a, b)?,
        };
        Ok(Some(similarity).filter(|similarity| *similarity >= self.threshold))
    }

    fn checkpoint(&mut self) -> Result<()> {
        checkpoint();
        Ok(())
    }
}
