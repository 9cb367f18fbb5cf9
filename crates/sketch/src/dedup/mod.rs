//! Finds the near-duplicates of a whole collection: takes documents, and gives groups, in which pairs and clusters are
//! found. Memory is bounded; what does not fit goes to files.
//!
//! [`Dedup`] does so for texts in memory. Otherwise a [`Host`] owns the documents: a database, or a program with a
//! file. A document takes this path:
//!
//! 1. The host adds it to [`Documents`], where threads sign it. Only its band hashes are kept.
//! 2. If boilerplate does not count, [`Documents::sign_collected`] reads the documents again, and signs what counts.
//! 3. [`Groups::gather`] joins the documents that share a bucket, and reads those again that have a partner.
//! 4. [`Groups::each`] has each [`Group`] judged: [`all_pairs`], [`single_linkage`], [`leader_clusters`] ...

mod agreement;
mod attributes;
mod batch;
mod boilerplate;
mod columns;
mod form;
mod group;
mod groups;
mod host;
mod intake;
mod judge;
mod sets;
mod shares;
mod texts;

pub use attributes::{Attributes, NO_ORIGIN, Scope};
pub use boilerplate::Boilerplates;
pub use form::{Form, Terms, Verify, append_bytes};
pub use group::{ApartPairs, Group};
pub use groups::{Emit, Groups, Judge, Shortfall, TakeResults};
pub use host::{DocumentPass, Host, JobStep, Process, ReadDocument, TakeStored, VisitDocument};
pub use intake::{Documents, FEW, Intake, Little};
pub use judge::{
    Cluster, FoundPairs, Linkage, NamedBridge, Ranks, all_pairs, bridges, components_of, leader_clusters, pairs_once,
    single_linkage,
};
pub use shares::Shares;
pub use texts::{Dedup, KeyPair, Removal};
