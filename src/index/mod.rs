//! The access method `minlsh`: an index type whose entries, one for each band of a row, lie in
//! the pages of PostgreSQL's own B-tree.
//!
//! An entry is (hash of scope values and a band, row). The build writes sorted pages; everything after
//! it (insert, page splits, vacuum, WAL, replay, locks) is done by core's B-tree code, called as
//! functions. A search looks up the keys of its bands and gives the rows found for recheck. It reads the pages by
//! itself, for all keys together.

mod build;
pub mod check;
mod cost;
mod descent;
mod entries;
mod handler;
pub mod info;
mod insert;
pub mod keys;
pub mod layout;
mod leaf_batch;
pub mod leaves;
mod nbtree;
mod own_rows;
mod page_file;
pub mod pages;
mod passage_scan;
mod pivot;
pub mod reloptions;
pub mod rows_of;
mod scan;
mod selectivity;
pub mod sort;
pub mod stored_options;
pub mod table_scan;
mod tree_check;
mod tree_writer;
mod validate;
