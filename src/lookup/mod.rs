//! Queries of an index: which index, with whose rights, their results, and how many of the near-duplicates they find.
//! Whole-corpus functions do not need an index, and are in [`corpus`](crate::corpus).
//!
//! | files | contents |
//! |---|---|
//! | `session_cache` | indexes and plans, cached until something changes |
//! | `find` | the index or side table that a call refers to, and other arguments that lookups share |
//! | `search` | a search of an index, by a query |
//! | `near_duplicates`, `cluster_of`, `explain`, `recall`, `check`, `overview` | one SQL function each, or two |
//!
//! Each file imports only from the lines above it.

mod check;
mod explain;
mod find;
mod near_duplicates;
mod overview;
mod recall;
mod search;
mod session_cache;
