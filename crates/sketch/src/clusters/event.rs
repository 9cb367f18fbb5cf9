//! The events of clusters.

/// A line of the log. Replaying the log from its start gives the state; each [kind](EventKind) documents its effect on
/// the clusters of documents.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ClusterEvent {
    /// The kind of event.
    pub kind: EventKind,
    /// The cluster that it changes.
    pub cluster: ClusterId,
    /// The other cluster, whose documents move by a split, a move or a merge.
    pub other: Option<ClusterId>,
    /// The document, if the event is about one.
    pub document: Option<u32>,
    /// The number of documents, if the event is not about a single document.
    pub size: Option<u64>,
}

/// The kinds of events.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EventKind {
    /// A document that was in this cluster is deleted, changed or alone: it has no cluster.
    Leave,
    /// An id is new, and no documents come to it by a split. Nothing moves yet. The size is the cluster's after the
    /// update.
    Create,
    /// `size` documents move from the other cluster to this one, which may be new. An [`EventKind::Move`] for each of
    /// them follows.
    Split,
    /// A document moves from the other cluster to this one.
    Move,
    /// All remaining documents of the other cluster belong to this one, and the other id ends. The size is this
    /// cluster's after the update.
    Merge,
    /// A document without a cluster joins this one.
    Join,
    /// An id ends without documents.
    Dissolve,
}

/// The kinds in order: the step in an update's log, true if its events are about a document, and the name.
const KINDS: [(EventKind, u8, bool, &str); 7] = [
    (EventKind::Leave, 0, true, "leave"),
    (EventKind::Create, 1, false, "create"),
    (EventKind::Split, 2, false, "split"),
    (EventKind::Move, 2, true, "move"),
    (EventKind::Merge, 3, false, "merge"),
    (EventKind::Join, 4, true, "join"),
    (EventKind::Dissolve, 5, false, "dissolve"),
];

impl ClusterEvent {
    /// The name in the log.
    pub fn name(self) -> &'static str {
        KINDS[self.kind as usize].3
    }

    /// Its position in the log of an update: by step, clusters and document. A split precedes its moves.
    pub fn place(self) -> (u8, ClusterId, ClusterId, Option<u32>) {
        (KINDS[self.kind as usize].1, self.cluster, self.other.unwrap_or(0), self.document)
    }

    /// Restores an event from its [position](Self::place) and size; `None` if no event has that position.
    pub fn at(
        (step, cluster, other, document): (u8, ClusterId, ClusterId, Option<u32>),
        size: Option<u64>,
    ) -> Option<Self> {
        let is_of = |(_, of, has, _): &(_, u8, bool, _)| (*of, *has) == (step, document.is_some());
        let (kind, ..) = KINDS.into_iter().find(is_of)?;
        Some(Self { kind, cluster, other: (other > 0).then_some(other), document, size })
    }
}

/// The id of a cluster, from 1, which is never used again.
pub type ClusterId = i64;

/// A document, identified by its rank in the order of keys.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct RankedDocument {
    /// Its old cluster.
    pub old: Option<ClusterId>,
    /// Its new component, with any number; `None` if it was deleted or is not a document.
    pub component: Option<u32>,
}

/// Documents of an old cluster that are in one component, and are not listed one by one. The listed documents of that
/// cluster are the rest of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Block {
    /// The old cluster.
    pub cluster: ClusterId,
    /// Number of documents, at least two.
    pub size: u64,
    /// The component.
    pub component: u32,
}
