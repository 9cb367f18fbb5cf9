//! Tracked clusters: clusters with permanent ids, stored beside a table and updated by a refresh.
//!
//! Five ordinary tables belong to the owner of the documents:
//!
//! | table | rows |
//! |---|---|
//! | `docs_clusters` | the members of clusters of two or more documents |
//! | `docs_clusters_list` | the clusters |
//! | `docs_clusters_log` | what happened, in order |
//! | `docs_clusters_queue` | keys of rows that were written since the last refresh, and one row of state |
//! | `docs_clusters_apart` | pairs that someone marked as not near-duplicates |
//!
//! 1. [`capture`], the trigger function, writes the key of a written row to the queue, as a relation. No SQL runs, and
//!    the writer needs no right on the queue.
//! 2. [`refresh`] locks the documents, then the list, and takes a snapshot. It reads the queue, and finds the
//!    components ([`corpus`]) of all documents or of those that may have changed ([`seeded`]), whichever costs less.
//!    The engine counts overlaps with old clusters, and assigns ids. [`write`] writes the difference and the log.
//!    Documents ([`places`]) and events are sorted externally, so that memory holds few of them.
//! 3. [`stamp`] shows changes that triggers do not see: other files, other triggers, another owner. If it differs, the
//!    refresh examines all documents, and makes triggers fire always again.
//!
//! The tables are found by name from the table of members, opened under lock, and checked for kind, owner and columns.
//! SQL reads and writes them as their owner ([`tables`]). Altering them gains an owner nothing: a refresh reads keys
//! and numbers from them.

mod capture;
pub mod check;
mod corpus;
mod places;
mod refresh;
mod seeded;
mod stamp;
mod tables;
mod track;
pub mod tracked;
mod write;
