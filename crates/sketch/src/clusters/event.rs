//! The events of clusters.

/// A line of the log. Read from the beginning, the log gives the state: what each event does to the
/// clusters of documents is said with its [kind](EventKind).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ClusterEvent {
    /// The kind of event.
    pub kind: EventKind,
    /// The cluster that it is about.
    pub cluster: ClusterId,
    /// The other cluster, from which documents come by a split, a move or a merge.
    pub other: Option<ClusterId>,
    /// The document, of an event that is about one.
    pub document: Option<u32>,
    /// The number of documents, of an event that is about none.
    pub size: Option<u64>,
}

/// The kinds of events.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EventKind {
    /// A document is gone, has changed, or is alone: it has no cluster, and was in this one.
    Leave,
    /// An id is new, and no document comes to it from another cluster by a split. Nothing moves yet. The size is that
    /// after the update.
    Create,
    /// So many documents go from the other cluster to this one, which may be new. An [`EventKind::Move`] of each
    /// follows.
    Split,
    /// A document goes from the other cluster to this one.
    Move,
    /// All documents that are left of the other cluster belong to this one, and the other id ends. The size is that of
    /// this one after the update.
    Merge,
    /// A document without a cluster comes to this one.
    Join,
    /// An id ends, and nothing is left in it.
    Dissolve,
}

/// The kinds in their order, each with its step in the log of an update, whether its events are about a document, and
/// its name.
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
    /// The name that the log has for it.
    pub fn name(self) -> &'static str {
        KINDS[self.kind as usize].3
    }

    /// Its place in the log of an update: by step, then by clusters, then by document. A split stands before its moves.
    pub fn place(self) -> (u8, ClusterId, ClusterId, Option<u32>) {
        (KINDS[self.kind as usize].1, self.cluster, self.other.unwrap_or(0), self.document)
    }

    /// Makes an event again from its [place](Self::place) and its size; `None` if no event has that place.
    pub fn at(
        (step, cluster, other, document): (u8, ClusterId, ClusterId, Option<u32>),
        size: Option<u64>,
    ) -> Option<Self> {
        let is_of = |(_, of, has, _): &(_, u8, bool, _)| (*of, *has) == (step, document.is_some());
        let (kind, ..) = KINDS.into_iter().find(is_of)?;
        Some(Self { kind, cluster, other: (other > 0).then_some(other), document, size })
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
