//! Tracked clusters: ids that stay, kept beside a table and brought up to date by a refresh.
//!
//! Five ordinary tables belong to the owner of the documents:
//!
//! | table | rows |
//! |---|---|
//! | `docs_clusters` | the members of clusters of two or more documents |
//! | `docs_clusters_list` | the clusters |
//! | `docs_clusters_log` | what happened, in order |
//! | `docs_clusters_queue` | keys of rows that were written since the last refresh, and one row of state |
//! | `docs_clusters_apart` | pairs that somebody decided are not copies |
//!
//! 1. [`capture`], the trigger function, puts the key of a row that is written into the queue, as a relation. No SQL
//!    runs, and the writer needs no right on the queue.
//! 2. [`refresh`] locks the documents, then the list, and takes a snapshot. It reads the queue, has the components
//!    found ([`corpus`]) of all documents or of those that may have changed ([`seeded`]), whichever costs less. The
//!    engine counts how they overlap with old clusters, and assigns ids. [`write`] writes the difference and the log.
//!    Documents ([`places`]) and events go through sorts, so that memory holds few of them.
//! 3. [`stamp`] shows what triggers do not see: other files, other triggers, another owner. If it differs, the refresh
//!    looks at all documents, and has triggers fire always again.
//!
//! The tables are found by name from the first of them, opened under lock, and checked for kind, owner and columns.
//! Then SQL reads and writes them, as their owner ([`tables`]). Owners who alter them gain nothing: a refresh reads
//! keys and numbers there.

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
