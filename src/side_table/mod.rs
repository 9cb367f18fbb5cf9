//! Side tables: signatures and band hashes as rows beside a user's table, kept by triggers, and
//! read and written as relations (as TOAST tables are), never by SQL.
//!
//! There is no registry: an index is found through the triggers of its table ([`watch`]), and its
//! options are those of the index of the signatures. Only what [`storage`] has found to be sound, under
//! lock, is read or written.

pub mod arguments;
pub mod check;
mod commands;
mod create;
mod find;
mod lookup;
mod owner;
pub mod sign;
mod storage;
mod sync;
mod watch;

pub use find::{documents_of, is_one};
pub use lookup::SideTable;
pub use storage::StoredSketch;
