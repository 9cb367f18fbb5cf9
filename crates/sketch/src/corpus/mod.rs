//! Whole-corpus jobs: all candidate pairs of a collection, its clusters, and the documents to keep.
//!
//! Documents are numbered from 0. A [`Corpus`] knows where their records are, and how to verify a pair. The jobs call
//! it as rarely as possible:
//!
//! 1. [`Identical`] collapses exact copies, so 50,000 copies of a text cost no more than one.
//! 2. Bands are processed one after another. Sorting brings the documents of a bucket together, in as many passes as
//!    the available memory requires.
//! 3. [`pairs()`] verifies each pair that shares a bucket, in the first band where the two meet. [`connect()`] makes
//!    only the comparisons that connectivity needs. [`leaders()`] compares a document with those that represent others.
//!
//! A group that does not fit into memory is first [`split()`], by a check of each pair that costs less than verifying
//! it.
//!
//! Clusters are made of *verified* pairs, because band hits alone would join unrelated documents. If many documents
//! share a bucket without being similar, each makes a limited number of comparisons without success. The comparisons
//! left out are counted.
//!
//! The quality of a cluster shows in its [`weakest_link()`], its [`least_similar()`] pair and its [`Bridge`]s.
//! [`NumberedSets`] compares the texts of a bucket.
//!
//! Source: Leskovec, Rajaraman, Ullman, *Mining of Massive Datasets*, section 3.4.

mod bridges;
mod buckets;
mod collection;
mod connect;
mod groups;
mod identical;
mod leaders;
mod least_similar;
mod pairs;

pub use crate::exact::{HashParts, NumberedSets, SetOutline, SharedCounts};
pub use bridges::{Bridge, ClusterLinks};
pub use collection::{Corpus, Hashes, LeftOut};
pub use connect::{Connected, connect};
pub(crate) use groups::by_root;
pub use groups::{Components, groups, split};
pub use identical::Identical;
pub use leaders::leaders;
pub use least_similar::{LeastSimilar, least_similar, weakest_link};
pub use pairs::{Pair, PairSide, VisitPair, pairs};
