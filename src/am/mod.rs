//! The access method `minlsh`: an index type whose entries, one for each band of a row, lie in
//! the pages of PostgreSQL's own B-tree.

pub mod options;
