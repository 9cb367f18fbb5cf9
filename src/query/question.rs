//! What is asked of an index, and by whom: the part that all queries share.

use std::rc::Rc;

use crate::error::Result;
use crate::index::definition::Index;
use crate::index::registry;
use crate::pg::call::Call;
use crate::query::access::{self, Visibility};
use crate::query::options::{self, Verify};

/// A checked question.
pub struct Question {
    /// The index asked.
    pub index: Rc<Index>,
    /// The least similarity asked for; not below the index's.
    pub threshold: f64,
    /// How candidates are told from near-duplicates.
    pub verify: Verify,
    /// Which rows the caller sees.
    pub visibility: Visibility,
}

impl Question {
    /// Finds the index and checks the caller's rights and arguments, given the places of the
    /// arguments `index`, `threshold` and `verify`.
    pub fn read(call: &Call, index: usize, threshold: usize, verify: usize) -> Result<Self> {
        let mut question = Self::read_at_least(call, index, verify)?;
        question.threshold = options::threshold(call, threshold, &question.index)?;
        Ok(question)
    }

    /// The same without a threshold: what the index can find.
    pub fn read_at_least(call: &Call, index: usize, verify: usize) -> Result<Self> {
        let mut question = Self::of_index(call, index)?;
        question.verify = options::verify(call, verify)?;
        Ok(question)
    }

    /// The same of the index alone.
    pub fn of_index(call: &Call, index: usize) -> Result<Self> {
        let index = registry::find(call.function(), call.oid(index))?;
        let visibility = access::check(&index)?;
        index.check_valid()?;
        index.check_version()?;
        let threshold = index.settings.threshold;
        Ok(Self { index, threshold, verify: Verify::Signature, visibility })
    }

    /// Whether the user's table takes part, with the caller's rights.
    pub fn reads_table(&self) -> bool {
        self.verify == Verify::Exact || self.visibility == Visibility::Joined
    }

    /// How many of the stored bands reach the index's recall at this threshold.
    pub fn probes(&self) -> usize {
        let settings = &self.index.settings;
        settings.banding.probes(self.threshold, settings.recall)
    }

    /// The probability that a pair of that similarity shares one of the bands looked at.
    pub fn probability(&self, jaccard: f64) -> f64 {
        self.index.settings.banding.first(self.probes()).probability(jaccard)
    }

    /// The least estimate that passes: an exact check lets a margin pass, since the estimate
    /// of a pair at the threshold is as often below it as above.
    pub fn least_estimate(&self) -> f64 {
        match self.verify {
            Verify::Signature => self.threshold,
            Verify::Exact => {
                sketch::estimate_gate(self.threshold, self.index.settings.config.num_perm())
            }
        }
    }
}
