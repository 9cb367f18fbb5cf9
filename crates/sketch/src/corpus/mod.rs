//! Whole-corpus jobs: all candidate pairs of a collection, its clusters, and what to keep.
//!
//! Documents are numbered from 0. A [`Corpus`] knows where their records are and how a pair is verified. The jobs ask
//! it as little as possible:
//!
//! 1. [`Identical`] collapses exact copies, so 50,000 copies of one text cost no more than one.
//! 2. Bands are taken one after the other. Sorting brings the documents of a bucket together, in
//!    as many passes as the memory allowed for it needs.
//! 3. [`pairs()`] verifies each pair that shares a bucket, in the first band in which the two
//!    meet. [`connect()`] asks only what connectivity needs. [`leaders()`] compares a document
//!    with those that stand for others.
//!
//! A group that memory does not hold is [`split()`] first, by a look at each pair that costs less than to verify it.
//!
//! Clusters are made of *verified* pairs, because band hits alone would join documents that have nothing in common.
//! Where many documents share a bucket without being similar, each makes a limited number of comparisons without
//! success. What that leaves out is counted.
//!
//! What a cluster is worth shows in its [`weakest_link()`], its [`least_similar()`] pair and its
//! [`Bridge`]s. [`NumberedSets`] compares the texts of a bucket.
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

pub use crate::exact::{NumberedSets, SetOutline};
pub use bridges::{Bridge, ClusterLinks};
pub use collection::{Corpus, Hashes, LeftOut};
pub use connect::{Connected, connect};
pub use groups::{Components, groups, split};
pub use identical::Identical;
pub use leaders::leaders;
pub use least_similar::{LeastSimilar, least_similar, weakest_link};
pub use pairs::{Pair, PairSide, VisitPair, pairs};
