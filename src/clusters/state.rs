//! The state that a refresh leaves for the next one, in a row of the queue.

use serde::{Deserialize, Serialize};

use crate::error::{Result, wrong_state};

/// The state of tracked clusters beside their tables.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct State {
    /// The layout of this.
    pub version: u32,
    /// The name of the index, for when a dump has not carried the link to it.
    pub index: String,
    /// The least similarity of an edge.
    pub threshold: f64,
    /// The next new id.
    pub next_id: i64,
    /// The number of the last row of the log.
    pub last_seq: i64,
    /// The number of refreshes that have written something.
    pub refreshes: i64,
    /// The number of clusters.
    pub clusters: i64,
    /// See [`stamp`](super::stamp); none before the first refresh.
    pub stamp: Option<String>,
    /// A digest of the pairs that count as not similar; none before the first refresh.
    #[serde(default)]
    pub apart: Option<String>,
    /// The cost of the last job over all documents, in documents that are read.
    pub whole: f64,
}

/// The layout of today.
const VERSION: u32 = 1;

impl State {
    /// Before the first refresh.
    pub fn new(index: String, threshold: f64) -> Self {
        Self {
            version: VERSION,
            index,
            threshold,
            next_id: 1,
            last_seq: 0,
            refreshes: 0,
            clusters: 0,
            stamp: None,
            apart: None,
            whole: 0.0,
        }
    }

    /// Reads what [`Self::write`] has written; whoever owns the table may have written something else.
    pub fn read(text: &str, tracked: &str) -> Result<Self> {
        let state: Option<Self> = serde_json::from_str(text).ok();
        let sound = state.filter(|state| {
            let numbers = [state.next_id, state.last_seq, state.refreshes, state.clusters];
            state.version == VERSION
                && state.next_id > 0
                && state.threshold > 0.0
                && state.threshold <= 1.0
                && numbers.iter().all(|number| (0..i64::MAX / 2).contains(number))
        });
        sound.ok_or_else(|| {
            wrong_state(format!("the state of \"{tracked}\" was not written by minlsh")).set_hint(
                "Drop the tracked clusters with minlsh_untrack_clusters(), and track them again.",
            )
        })
    }

    /// As text.
    pub fn write(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
