//! The options of an index: storage parameters as the user writes them, and as they were when it
//! was built.

use std::rc::Rc;

use pgrx::pg_sys::Oid;
use sketch::{Banding, Config, SlotBits};

use crate::error::{Result, wrong_state};

/// How an index cuts, signs and bands its documents.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
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
}

/// The options with which the index (relation of the access method minlsh, locked by the caller)
/// was built.
pub fn built(_index: Oid) -> Result<Rc<Settings>> {
    Err(wrong_state("not there yet"))
}
