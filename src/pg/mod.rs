//! Islands of `unsafe`: what minlsh needs of PostgreSQL's C interface, behind safe faces.
//!
//! What is handed a datum cannot check what it is, and so is unsafe, but for what belongs to a call: the types
//! of its arguments and of its result are those of `sql/minlsh.sql`. The rest of the source goes through here
//! for relations, rows, queries, memory, names and encodings.

mod backend;
mod calls;
mod catalogs;
mod queries;
mod tables;
mod types;
mod values;

pub use backend::{catching, list, memory, progress, reserve, snapshot, temp_file, versions};
pub use calls::{aggregate, call, result_rows, window};
pub use catalogs::{catalog, dependency, foreign_code, guc, index, names, open, relation, rights, sql};
pub use queries::{plan, planner, select, spi, table_query};
pub use tables::{companion, job, open_index, row, sorted_rows, table, trigger, worker_threads};
pub use types::{document_keys, element, parameter, value_type};
pub use values::{array, bytes, lossless, text, type_storage};
