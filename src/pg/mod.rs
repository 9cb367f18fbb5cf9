//! Safe wrappers around the parts of PostgreSQL's C interface that minlsh uses. All `unsafe` of the SQL layer is here.
//!
//! A function that takes a datum cannot check its type, so it is unsafe. The exceptions are the arguments and the
//! result of a call: `sql/minlsh.sql` declares their types. A [`TypedValue`](typed_value::TypedValue) knows its type,
//! and its lifetime is bound to the row or the memory that has it. All other modules use this one for relations, rows,
//! queries, memory, names and encodings.

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
pub use tables::{companion, job, row, table, trigger, worker_threads};
pub use types::{document_keys, element, typed_value, value_type};
pub use values::{array, bytes, lossless, text, type_storage};
