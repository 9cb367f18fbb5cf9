//! minlsh: near-duplicate documents, found inside PostgreSQL.
//!
//! A document flows one way: text → [`sketch`] (shingles, hashes, signature, bands) → index or
//! side table → candidates → verification → rows. The engine ([`sketch`]) does the arithmetic, and knows
//! nothing of PostgreSQL. Its SQL interface is `sql/minlsh.sql`.
//!
//! - **A text** goes one way. `document/to_bands.rs` reads it as UTF-8 (`pg/values/lossless.rs`). The engine's
//!   `Sketcher` normalises, cuts, hashes and signs it by a `Config`, and `Banding` computes band hashes from the
//!   signature.
//! - **A build** (`index/build.rs`) copies rows into batches, which the backend and its threads
//!   (`pg/tables/worker_threads.rs`) make entries of (`table_scan.rs`): keys (`keys.rs`) of the band hashes and
//!   scope values of each row. It sorts them (`sort.rs`) and divides them among leaf pages (`tree_writer.rs`),
//!   which the threads make as well. The backend writes them past the shared buffers (`page_file.rs`). An insert
//!   makes the same keys and calls the B-tree's insert.
//! - **A query** is the operator. The planner asks `index/estimates.rs` whether the index serves it;
//!   `index/scan.rs` looks up the keys of its bands and gives every row found for recheck, which is
//!   `document/similar.rs`. `near_duplicates()` is a query with that operator, run as the caller
//!   (`lookup/search.rs`); of a side table, among the keys of the candidates that the index of its signatures gives
//!   (`lookup/near_duplicates.rs`).
//! - **A table beside a user's** (`pg/tables/companion.rs`) is a side table or one of the tables of tracked
//!   clusters. It is opened under lock, and checked for its columns and indexes. A side table is written as a
//!   relation, by triggers of the user's table; tracked clusters are written by SQL as the owner, restricted
//!   (`pg/catalogs/rights.rs`).
//! - **A whole-corpus job** (`corpus/`) reads a source by a SELECT as the caller (`source/`). If an index serves,
//!   it reads only rows that share a bucket: of a plain table without policies by their places, once the executor
//!   has checked the caller's rights (`buckets.rs`). It keeps band hashes (`reading/`), and puts rows or their
//!   places aside (`rows.rs`). It forms groups of documents that share buckets, and fetches these once more
//!   (`groups/`). The engine compares them, and the job writes rows (`jobs/`).

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
    without_backtraces();
    options::define_settings();
}

/// pgrx adds a backtrace to the DETAIL of an error if the server's environment asks Rust for some:
/// also of PostgreSQL's own errors, and for whoever connects.
fn without_backtraces() {
    // SAFETY: PostgreSQL loads a library when it has one thread; Rust reads this at its first error.
    unsafe { std::env::set_var("RUST_LIB_BACKTRACE", "0") };
}
