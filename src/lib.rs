//! minlsh finds near-duplicate documents inside PostgreSQL.
//!
//! A document flows one way: text → [`sketch`] (shingles, hashes, signature, bands) → index or
//! side table → candidates → verification → rows. The engine ([`sketch`]) does the arithmetic, and knows
//! nothing of PostgreSQL. Its SQL interface is `sql/minlsh.sql`.
//!
//! - **A text** takes one path. `document/to_bands.rs` reads it as UTF-8 (`pg/values/lossless.rs`). The engine's
//!   `Sketcher` normalises, splits, hashes and signs it by a `Config`, and `Banding` computes band hashes from the
//!   signature.
//! - **A build** (`index/build.rs`) copies rows into batches. The backend and its threads
//!   (`pg/tables/worker_threads.rs`) make entries of them (`table_scan.rs`): keys (`keys.rs`) of the band hashes and
//!   scope values of each row. It sorts them (`sort.rs`) and divides them among leaf pages (`tree_writer.rs`), which
//!   the threads make too. The backend writes the pages past the shared buffers (`page_file.rs`). An insert makes the
//!   same keys and calls the B-tree's insert, from PostgreSQL 17 on for many rows together (`pending.rs`).
//! - **A query** uses the operator. The planner asks `index/estimates.rs` whether the index serves it. `index/scan.rs`
//!   looks up the keys of its bands and returns every row found for recheck by `document/similar.rs`.
//!   `near_duplicates()` is a query with this operator, run as the caller (`lookup/search.rs`). For a side table it is
//!   restricted to the keys of the candidates that the index on the signatures finds (`side_table/search.rs`).
//! - **A table beside a user's** (`pg/tables/companion.rs`) is a side table or one of the tables of tracked clusters.
//!   It is opened under lock, and its columns and indexes are checked. Triggers of the user's table write a side table
//!   as a relation. SQL as the owner, restricted, writes tracked clusters (`pg/catalogs/rights.rs`).
//! - **A whole-corpus job** (`corpus/`) reads a source by a SELECT as the caller (`source/`). If an index serves, it
//!   reads only rows that share a bucket. From a plain table without policies it fetches them by `ctid`, after the
//!   executor has checked the caller's rights (`buckets.rs`). It stores rows or their places (`rows.rs`), and gives
//!   the documents to the engine (`host.rs`). That groups and compares them (`crates/sketch/src/dedup`), and the job
//!   writes rows (`jobs/`).

mod clusters;
mod corpus;
mod document;
mod error;
mod functions;
mod index;
mod indexed;
mod lookup;
mod memory;
mod options;
mod pg;
mod prelude;
mod row_key;
mod side_table;

use pgrx::prelude::*;

pgrx::pg_module_magic!();
pgrx::extension_sql_file!("../sql/minlsh.sql", name = "minlsh", finalize);

#[pg_guard]
extern "C-unwind" fn _PG_init() {
    // pgrx adds a backtrace to the DETAIL of an error if the server's environment asks for Rust backtraces. It would
    // appear in PostgreSQL's own errors too, for every client.
    // SAFETY: PostgreSQL loads a library while it has one thread. Rust reads the variable at its first error.
    unsafe { std::env::set_var("RUST_LIB_BACKTRACE", "0") };
    options::define_settings();
    index::callbacks::register();
}
