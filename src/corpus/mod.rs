//! Whole-corpus questions: pairs, clusters, what to keep, and what two collections share; of any
//! table, view or query that the caller can read, and with nothing left behind. A job is a pipe:
//!
//! 1. [`source`] finds out what was asked about and makes one SELECT of it, which runs as the caller and reads only;
//!    and how its documents are read, signed and compared. Where an index serves, it gives those rows alone that share
//!    a bucket there, which of a plain table are fetched by their places.
//! 2. [`reading`] reads these rows once. Each document is signed, by threads as well; its band hashes go into columns,
//!    and the row is put aside: of a plain table its place and its key, else the row as it is (what PostgreSQL stores
//!    out of line stays there). Where boilerplate does not count, documents are signed when it is known what that is.
//! 3. [`groups`] has the engine join what shares a bucket. Most documents share none and are never looked at again.
//!    What is joined makes a group, and no answer reaches across two of them: the documents of a group are brought
//!    together, as many groups at a time as memory holds. A group has the texts, or signatures, of its documents at
//!    hand: it is the engine's corpus.
//! 4. [`jobs`] have groups judged: pairs verified, and clusters made; of small groups by threads as well, which call
//!    nothing of PostgreSQL. What was found is given out by the backend, in the order of groups.
//!
//! Jobs of [`passages`] and [`suggest`] read the same sources. Each folder knows only those above it.
//!
//! So files are read and written from one end to the other, and memory beyond maintenance_work_mem is a few bytes for
//! each document.

pub mod groups;
pub mod jobs;
mod passages;
pub mod reading;
pub mod source;
mod suggest;
