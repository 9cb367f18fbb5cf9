//! The options of an index: whatever way a document goes to its bands, these say how.

use sketch::{Banding, Config, SlotBits};

use crate::error::{Result, engine};

/// How an index cuts, signs and bands its documents.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexOptions {
    /// Everything a signature depends on.
    pub config: Config,
    /// The bands of each document that are in the index.
    pub banding: Banding,
    /// The least similarity the index can be asked for.
    pub threshold: f64,
    /// The share of pairs at a threshold that a query finds, at least.
    pub recall: f64,
    /// How much of each slot of a signature a side table stores.
    pub slot_bits: SlotBits,
    /// Whether this version of the library would make the same entries.
    pub current: bool,
}

impl IndexOptions {
    /// The options of a new index.
    ///
    /// # Errors
    /// SQLSTATE 22023 for a recall that cannot be had, or slots that cannot be packed.
    pub fn new(config: Config, threshold: f64, recall: f64, slot_bits: i64) -> Result<Self> {
        let num_perm = config.num_perm() as i64;
        // No query asks for less than the index's threshold, so none looks up more bands than that
        // needs: the others would be a fifth of the build and of every write, for nothing.
        let banding = Banding::for_recall(threshold, num_perm, recall)
            .map_err(engine)?
            .trimmed(threshold, recall);
        let slot_bits = SlotBits::new(slot_bits, num_perm).map_err(engine)?;
        Ok(Self { config, banding, threshold, recall, slot_bits, current: true })
    }
}
