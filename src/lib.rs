//! minlsh: near-duplicate documents, found inside PostgreSQL.
use pgrx::prelude::*;

pgrx::pg_module_magic!();
pgrx::extension_sql_file!("../sql/minlsh.sql", name = "minlsh", finalize);

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minlsh_version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
