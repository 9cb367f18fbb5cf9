//! Clusters whose ids stay: from an old state and new components to ids, and to a log of what happened.
//!
//! Applications store the ids of clusters. So a cluster keeps its id as far as that has a meaning:
//!
//! 1. An old id goes to the component that has most of the cluster's documents, and of several such
//!    to the one with the least key among them.
//! 2. A component takes, of the ids that came to it, the one that brought most documents, and of
//!    several such the oldest. A component to which none came takes a new one; these are handed out
//!    in the order of least keys.
//!
//! So ids are a pure function of the old state and the new components. However the components were found, whether of
//! all documents or of those alone that may have changed, the ids are the same, and so is the log.
//!
//! ```
//! use sketch::clusters::{Outcome, Pieces, RankedDocument};
//!
//! // The documents of clusters 7 and 9 are one component now, and so is a new document.
//! let documents = [Some(7), Some(7), Some(9), None];
//! let documents = documents.map(|old| RankedDocument { old, component: Some(0) });
//! let mut pieces = Pieces::default();
//! documents.iter().try_for_each(|document| pieces.add(*document))?;
//! let Outcome::Done(ids) = pieces.assign(10)? else { unreachable!("all are named") };
//! assert_eq!((ids.changed()?, ids.ended.clone(), ids.next), (vec![(7, 4)], vec![9], 10));
//! assert_eq!(ids.events()?[0].name(), "merge");
//! let of_documents = (0..).zip(documents).filter_map(|(rank, document)| ids.event_of(rank, document));
//! let log: Vec<_> = of_documents.map(|event| (event.name(), event.cluster)).collect();
//! assert_eq!(log, [("join", 7)]);
//! # Ok::<(), sketch::Error>(())
//! ```
//!
//! Documents are named by their rank in the order of keys, among those of an update. They come twice, and are not kept:
//! first [`Pieces`] count them, then each is told what [happens](ClusterIds::event_of) to it.

mod event;
mod ids;
mod pieces;

pub use event::{Block, ClusterEvent, ClusterId, EventKind, RankedDocument};
pub use ids::ClusterIds;
pub use pieces::{Outcome, Pieces};
