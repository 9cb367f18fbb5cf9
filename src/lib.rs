//! minlsh: near-duplicate documents, found inside PostgreSQL.
//!
//! A document flows one way: text → [`sketch`] (shingles, hashes, signature, bands) → index or
//! side table → candidates → verification → rows. The engine knows nothing of PostgreSQL; this
//! crate does no arithmetic. Its SQL interface is `sql/minlsh.sql`.

mod am;
mod document;
mod error;
mod functions;
mod pg;
mod query;
mod settings;
mod side_table;

use pgrx::prelude::*;

pgrx::pg_module_magic!();
pgrx::extension_sql_file!("../sql/minlsh.sql", name = "minlsh", finalize);

#[pg_guard]
extern "C-unwind" fn _PG_init() {
    settings::define();
    am::options::define();
}

/// The version of the library that is loaded.
#[pg_extern(sql = false)]
fn minlsh_version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
