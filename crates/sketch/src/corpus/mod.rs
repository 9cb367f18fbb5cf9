//! Whole-corpus jobs: all candidate pairs of a collection, and its clusters.
//!
//! Documents are numbered from 0. What is held here is a few bytes for each: its band hashes,
//! and the place of one entry in a sort. Signatures and texts stay with the caller, who is
//! asked to verify one pair at a time.
//!
//! A corpus is done in three steps:
//!
//! 1. [`Identical`] collapses documents that are exact copies: a boilerplate of 50,000 copies
//!    is one document from there on, and never costs the square of its size.
//! 2. [`Bands`] sorts the documents of one band after another into buckets and yields each
//!    candidate pair once, in the first band in which the two meet ([`Bands::pairs`]); or joins
//!    them with as few verifications as connectivity needs ([`Bands::connect`]).
//! 3. [`Components`] holds the clusters: the connected components of *verified* pairs.
//!    Components of unverified band hits merge what has nothing in common.
//!
//! Source: Leskovec, Rajaraman, Ullman, *Mining of Massive Datasets*, section 3.4.

mod bands;
mod buckets;
mod components;
mod identical;

pub use bands::Bands;
pub use components::Components;
pub use identical::Identical;
