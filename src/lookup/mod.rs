//! Questions to an index: which one is asked, who may ask, what it finds, and how well. Questions
//! about a whole corpus, which need none, are in [`corpus`](crate::corpus).
//!
//! | files | what belongs there |
//! |---|---|
//! | `session_cache` | indexes and plans, kept until something changes |
//! | `find` | which index or side table a call means, and the other arguments that lookups share |
//! | `search` | a search by an index |
//! | `near_duplicates`, `cluster_of`, `explain`, `recall`, `check`, `overview` | a SQL function each, or two |
//!
//! Each line imports those above it.

mod check;
mod cluster_of;
mod explain;
mod find;
mod near_duplicates;
mod overview;
mod recall;
mod search;
mod session_cache;
