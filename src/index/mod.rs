//! An index: a side table with one row for each document (key, signature, band hashes), a GIN
//! index over its bands, triggers that keep it equal to the user's table, and a row in the
//! registry that says how it was made.

pub mod backfill;
pub mod build;
pub mod check;
pub mod concurrently;
pub mod create;
pub mod definition;
pub mod documents;
pub mod drop;
pub mod guard;
pub mod home;
pub mod progress;
pub mod registry;
pub mod reindex;
pub mod sync;
pub mod triggers;
