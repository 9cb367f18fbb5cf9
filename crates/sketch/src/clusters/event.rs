//! The events of clusters.

/// A line of the log. Read from the beginning, the log gives the state: what each event does to the
/// clusters of documents is said with it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum ClusterEvent {
    /// A document is gone, has changed, or is alone: it has no cluster.
    Leave {
        /// The cluster that it was in.
        cluster: ClusterId,
        /// The document.
        document: u32,
    },
    /// An id is new, and no document comes to it from another cluster by a split. Nothing moves yet.
    Create {
        /// The new id.
        cluster: ClusterId,
        /// The number of its documents after the update.
        size: u64,
    },
    /// Documents go from one cluster to another, which may be new. An [`ClusterEvent::Move`] of each follows.
    Split {
        /// The cluster to which they go.
        cluster: ClusterId,
        /// The cluster in which they were.
        other: ClusterId,
        /// The number of those documents.
        size: u64,
    },
    /// A document goes from one cluster to another.
    Move {
        /// The cluster to which it goes.
        cluster: ClusterId,
        /// The cluster in which it was.
        other: ClusterId,
        /// The document.
        document: u32,
    },
    /// All documents that are left of a cluster belong to another one, and its id ends.
    Merge {
        /// The cluster to which they belong now.
        cluster: ClusterId,
        /// The id that ends.
        other: ClusterId,
        /// The number of documents of `cluster` after the update.
        size: u64,
    },
    /// A document without a cluster comes to one.
    Join {
        /// The cluster.
        cluster: ClusterId,
        /// The document.
        document: u32,
    },
    /// An id ends, and nothing is left in it.
    Dissolve {
        /// The id.
        cluster: ClusterId,
    },
}

impl ClusterEvent {
    /// The cluster that it is about.
    pub fn cluster(self) -> ClusterId {
        match self {
            Self::Leave { cluster, .. }
            | Self::Create { cluster, .. }
            | Self::Split { cluster, .. }
            | Self::Move { cluster, .. }
            | Self::Merge { cluster, .. }
            | Self::Join { cluster, .. }
            | Self::Dissolve { cluster } => cluster,
        }
    }

    /// The other cluster, from which documents come.
    pub fn other(self) -> Option<ClusterId> {
        match self {
            Self::Split { other, .. } | Self::Move { other, .. } | Self::Merge { other, .. } => {
                Some(other)
            }
            _ => None,
        }
    }

    /// The document.
    pub fn document(self) -> Option<u32> {
        match self {
            Self::Leave { document, .. }
            | Self::Move { document, .. }
            | Self::Join { document, .. } => Some(document),
            _ => None,
        }
    }

    /// The number of documents.
    pub fn size(self) -> Option<u64> {
        match self {
            Self::Create { size, .. } | Self::Split { size, .. } | Self::Merge { size, .. } => {
                Some(size)
            }
            Self::Dissolve { .. } => Some(0),
            _ => None,
        }
    }

    /// The name that the log has for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Leave { .. } => "leave",
            Self::Create { .. } => "create",
            Self::Split { .. } => "split",
            Self::Move { .. } => "move",
            Self::Merge { .. } => "merge",
            Self::Join { .. } => "join",
            Self::Dissolve { .. } => "dissolve",
        }
    }

    /// Its place in the log of an update: by step, then by clusters, then by document. A split stands before its moves.
    pub fn place(self) -> (u8, ClusterId, ClusterId, Option<u32>) {
        let step = match self {
            Self::Leave { .. } => 0,
            Self::Create { .. } => 1,
            Self::Split { .. } | Self::Move { .. } => 2,
            Self::Merge { .. } => 3,
            Self::Join { .. } => 4,
            Self::Dissolve { .. } => 5,
        };
        (step, self.cluster(), self.other().unwrap_or(0), self.document())
    }

    /// Makes an event again from its [place](Self::place) and [size](Self::size); `None` if no event has that place.
    pub fn at(
        (step, cluster, other, document): (u8, ClusterId, ClusterId, Option<u32>),
        size: u64,
    ) -> Option<Self> {
        Some(match (step, document) {
            (0, Some(document)) => Self::Leave { cluster, document },
            (1, None) => Self::Create { cluster, size },
            (2, None) => Self::Split { cluster, other, size },
            (2, Some(document)) => Self::Move { cluster, other, document },
            (3, None) => Self::Merge { cluster, other, size },
            (4, Some(document)) => Self::Join { cluster, document },
            (5, None) => Self::Dissolve { cluster },
            _ => return None,
        })
    }
}

/// The id of a cluster: from 1, never used again.
pub type ClusterId = i64;

/// A document, at its rank in the order of keys.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct RankedDocument {
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
