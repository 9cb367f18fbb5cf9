//! Whole-corpus questions: pairs, clusters, what to keep, and what two collections share; of any
//! table, view or query that the caller can read, and with nothing left behind.
//!
//! 1. [`source`] finds out what was asked about and makes one SELECT of it, which runs as the
//!    caller and reads only; [`criteria`] how its documents are read, signed and compared.
//! 2. [`documents`] reads its rows once; where an index serves, those alone that share a bucket
//!    there ([`buckets`]), which of a plain table are fetched by their places. Each is signed, by threads as
//!    well; its band hashes go into [`columns`], and the row is put [`aside`]: of a plain table its place and its key,
//!    else the row as it is (what PostgreSQL stores out of line stays there).
//!    Where [`boilerplate`] does not count, rows are first put aside, and signed when it is known what it is.
//! 3. The engine joins what shares a bucket. Most documents share none and are never looked at
//!    again. What is joined makes a group, and no answer reaches across two of them: [`batches`]
//!    brings the documents of a group together, as many groups at a time as memory holds.
//! 4. A [`group`] has the texts, or signatures, of its documents at hand: it is the engine's
//!    corpus. Pairs are verified there, and clusters made: of small groups by threads as well, which call
//!    nothing of PostgreSQL. What was found is given out by the backend, in the order of groups.
//!
//! What reads one kind of thing belongs into a file of its name, and files know only those above
//! them: arguments, and how documents are read; names, sources and criteria; documents, their columns,
//! scopes and keys; [`batch`], [`sets`], [`group`], [`batches`]; [`work`], which does a job up to
//! its groups; and a file for each SQL function.
//!
//! So files are read and written from one end to the other, and memory beyond maintenance_work_mem is a few bytes for
//! each document.

pub mod apart;
pub mod arguments;
mod aside;
mod batch;
pub mod batches;
mod between;
mod boilerplate;
mod bridges;
pub mod buckets;
pub mod chosen;
mod clusters;
mod columns;
pub mod criteria;
mod documents;
pub mod group;
mod grouping;
mod groupings;
pub mod keyed_rows;
pub mod members;
pub mod named;
mod pairs;
mod passages;
mod plan;
mod progress;
pub mod reader;
mod row_columns;
pub mod scopes;
mod sets;
pub mod source;
mod spool;
pub mod statement;
mod suggest;
mod unique;
mod window;
pub mod work;
