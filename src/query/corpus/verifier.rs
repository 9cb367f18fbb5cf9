//! Tells whether two documents of a collection are near-duplicates, and how similar they are.

use std::collections::HashMap;
use std::rc::Rc;

use sketch::ShingleSet;
use sketch::corpus::Identical;

use crate::error::Result;
use crate::functions::checkpoint;
use crate::pg::guc::work_mem;
use crate::pg::keys::Keys;
use crate::pg::spi::{Access, Session};
use crate::pg::text;
use crate::query::corpus::signatures::Signatures;
use crate::query::options::Verify;
use crate::query::plans;
use crate::query::question::Question;

/// Verifies pairs of documents by signature, and by text where that is asked for.
pub struct Verifier<'a> {
    question: &'a Question,
    session: &'a Session,
    keys: &'a Keys,
    signatures: Signatures,
    /// Shingle sets of texts read lately, up to work_mem.
    sets: HashMap<u32, Rc<ShingleSet>>,
    /// How many shingles they hold.
    shingles: usize,
}

impl<'a> Verifier<'a> {
    /// A verifier for the documents of those keys and signatures.
    pub fn new(
        question: &'a Question,
        session: &'a Session,
        keys: &'a Keys,
        signatures: Signatures,
    ) -> Self {
        Self { question, session, keys, signatures, sets: HashMap::new(), shingles: 0 }
    }

    /// Collapses exact copies: equal signatures, and equal shingle sets where the texts count.
    pub fn identical(&mut self, hashes: &[u64]) -> Result<Identical> {
        let mut failure = None;
        let identical = Identical::group(hashes, &mut |a, b| {
            checkpoint();
            failure.is_none()
                && self.similarity(a, b).unwrap_or_else(|report| {
                    failure = Some(report);
                    None
                }) == Some(1.0)
        });
        failure.map_or(Ok(identical), Err)
    }

    /// The similarity of two documents, `None` if it is below the threshold.
    pub fn similarity(&mut self, a: u32, b: u32) -> Result<Option<f64>> {
        let estimate = self.signatures.estimate(a, b)?;
        if estimate < self.question.least_estimate() {
            return Ok(None);
        }
        let similarity = match self.question.verify {
            Verify::Signature => Some(estimate),
            Verify::Exact => self.exact(a, b)?,
        };
        Ok(similarity.filter(|similarity| *similarity >= self.question.threshold))
    }

    /// The similarity of two documents of a cluster, however low it is.
    pub fn measure(&mut self, a: u32, b: u32) -> Result<f64> {
        match self.question.verify {
            Verify::Signature => self.signatures.estimate(a, b),
            Verify::Exact => Ok(self.exact(a, b)?.unwrap_or(0.0)),
        }
    }

    fn exact(&mut self, a: u32, b: u32) -> Result<Option<f64>> {
        let (a, b) = (self.set(a)?, self.set(b)?);
        Ok(a.jaccard(&b))
    }

    /// The shingles of a stored text, read with the caller's rights.
    fn set(&mut self, document: u32) -> Result<Rc<ShingleSet>> {
        if let Some(set) = self.sets.get(&document) {
            return Ok(set.clone());
        }
        let index = &self.question.index;
        let plan = plans::body(index, self.session)?;
        let key = self.keys.datum(document);
        let rows = self.session.execute(&plan, &[Some(key)], Access::Read)?;
        let body = if rows.is_empty() { None } else { rows.datum(0, 1) };
        let set = match body {
            // SAFETY: the plan casts the column to text.
            Some(body) => ShingleSet::from_text(
                &index.settings.config,
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
