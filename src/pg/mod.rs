//! Islands of `unsafe`: what minlsh needs of PostgreSQL's C interface, behind safe faces.
//!
//! What is handed a datum cannot check what it is, and so is unsafe, but for what belongs to a call: the types
//! of its arguments and of its result are those of `sql/minlsh.sql`. The rest of the source goes through here
//! for relations, rows, queries, memory, names and encodings.

pub mod aggregate;
pub mod array;
pub mod beside;
pub mod bytes;
pub mod call;
pub mod catalog;
pub mod catching;
pub mod datums;
pub mod dependency;
pub mod document_keys;
pub mod element;
pub mod ffi;
pub mod foreign_code;
pub mod guc;
pub mod hands;
pub mod index;
pub mod interrupts;
pub mod job;
pub mod list;
pub mod lossless;
pub mod memory;
pub mod names;
pub mod open;
pub mod open_index;
pub mod order;
pub mod output;
pub mod parameter;
pub mod planner;
pub mod progress;
pub mod receiver;
pub mod relation;
pub mod restricted;
pub mod result_rows;
pub mod rights;
pub mod row;
pub mod select;
pub mod snapshot;
pub mod spi;
pub mod sql;
pub mod table;
pub mod table_query;
pub mod temp_file;
pub mod text;
pub mod trigger;
pub mod tuple_store;
pub mod type_storage;
pub mod versions;
pub mod window;
