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
//! use sketch::clusters::{Outcome, RankedDocument, update};
//!
//! let document = |old| RankedDocument { old, component: Some(0) };
//! // The documents of clusters 7 and 9 are one component now, and so is a new document.
//! let documents = [Some(7), Some(7), Some(9), None].map(document);
//! let Outcome::Done(update) = update(&documents, &[], 10)? else { unreachable!("all are named") };
//! assert_eq!((update.changed, update.ended, update.next), (vec![(7, 4)], vec![9], 10));
//! let log: Vec<_> = update.events.iter().map(|event| (event.name(), event.cluster())).collect();
//! assert_eq!(log, [("merge", 7), ("join", 7)]);
//! # Ok::<(), sketch::Error>(())
//! ```
//!
//! Documents are named by their rank in the order of keys, among those of an update.

mod event;
mod heirs;
mod update;

pub use event::{Block, ClusterEvent, ClusterId, RankedDocument};
pub use update::{Outcome, Update, update};
