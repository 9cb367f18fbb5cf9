//! Whole-corpus queries: `near_duplicate_pairs()` and `near_duplicate_clusters()`.
//!
//! The side table is read once, under the caller's snapshot ([`collection`]). What is kept in
//! memory is a few bytes for each document (key, probed band hashes); signatures fill
//! maintenance_work_mem and then a temporary file ([`signatures`]). The engine finds the
//! candidates; here they are verified ([`verifier`]) and given out.

mod clusters;
mod collection;
mod pairs;
mod signatures;
mod verifier;
