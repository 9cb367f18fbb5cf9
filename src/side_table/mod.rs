//! Side tables: signatures and band hashes as rows beside a user's table, kept by triggers, and
//! read and written as relations (as TOAST tables are), never by SQL.
//!
//! There is no registry: an index is found through the [`Record`](crate::pg::trigger::Record) among the triggers of its
//! table, and its options are those of the index of the signatures. Only what [`storage`] has found to be sound, under
//! lock, is read or written.

pub mod arguments;
pub mod check;
mod commands;
mod find;
mod lookup;
pub mod sign;
mod storage;
mod sync;

pub use find::documents_of;
pub use lookup::SideTable;
pub use storage::StoredSketch;

/// The name of the trigger function.
const SYNC: &std::ffi::CStr = c"minlsh_sync";
