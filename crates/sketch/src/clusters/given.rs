//! The input of an update.

/// The id of a cluster: from 1, never used again.
pub type ClusterId = i64;

/// A document, at its rank in the order of keys.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Document {
    /// The cluster that it was in.
    pub old: Option<ClusterId>,
    /// The component that it is in now, by any number; `None` if it is gone or is not a document.
    pub component: Option<u32>,
}

/// Documents of one old cluster that are in one component now, and are not named one by one. Those
/// of the cluster that are named are the rest of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Block {
    /// The old cluster.
    pub cluster: ClusterId,
    /// The number of documents, at least two.
    pub size: u64,
    /// The component.
    pub component: u32,
}
