//! Whole-corpus questions: pairs, clusters, what to keep, and what two collections share, of any table, view or query
//! that the caller can read. A job is a pipe:
//!
//! 1. [`source`] makes one SELECT of what was asked about, which runs as the caller and reads only. It decides how the
//!    documents are read, signed and compared. Where an index serves, it gives only rows that share a bucket there.
//! 2. [`reading`] reads these rows once. Threads help to sign the documents. Their band hashes go into columns, and the
//!    rows are put aside: of a plain table places and keys, else rows as they are. Where boilerplate does not count,
//!    documents are signed when it is known.
//! 3. [`groups`] has the engine join what shares a bucket. Most documents share none and are never looked at again. No
//!    answer reaches across two groups, so as many are brought together at a time as memory holds. A group, with the
//!    texts or signatures of its documents, is the engine's corpus.
//! 4. [`jobs`] have groups judged: pairs verified, and clusters made. Threads help with small groups, and call nothing
//!    of PostgreSQL. The backend gives out what was found, in the order of groups.
//!
//! Jobs of [`passages`] and [`suggest`] read the same sources. Each folder knows only those above it. Files are read
//! and written from one end to the other, and memory beyond maintenance_work_mem is a few bytes for each document.

pub mod groups;
pub mod jobs;
mod passages;
pub mod reading;
pub mod source;
mod suggest;
