//! Clusters with permanent ids: computes ids and a log of changes from an old state and new components.
//!
//! Applications store the ids of clusters. So a cluster keeps its id as long as that is meaningful:
//!
//! 1. An old id goes to the component with most of the cluster's documents; in case of a tie, to the component with the
//!    least key among them.
//! 2. A component takes the id that brought most documents; in case of a tie, the oldest. A component without old ids
//!    takes a new one. New ids are assigned in the order of least keys.
//!
//! So ids are a pure function of the old state and the new components. Ids and log do not depend on whether the
//! components were found among all documents or only among those that may have changed.
//!
//! ```
//! use minlsh_sketch::clusters::{Outcome, Pieces, RankedDocument};
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
//! # Ok::<(), minlsh_sketch::Error>(())
//! ```
//!
//! A document is identified by its rank in the order of keys, within an update. Documents come twice, and are not kept:
//! [`Pieces`] count them, and then [`ClusterIds::event_of`] returns the event of each.

mod event;
mod ids;
mod pieces;

pub use event::{Block, ClusterEvent, ClusterId, EventKind, RankedDocument};
pub use ids::ClusterIds;
pub use pieces::{Outcome, Pieces};
