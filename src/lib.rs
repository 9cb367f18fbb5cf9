//! minlsh: near-duplicate documents, found inside PostgreSQL.
//!
//! A document flows one way: text → [`sketch`] (shingles, hashes, signature, bands) → index or
//! side table → candidates → verification → rows. The engine ([`sketch`]) does the arithmetic, and knows
//! nothing of PostgreSQL. Its SQL interface is `sql/minlsh.sql`.

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
