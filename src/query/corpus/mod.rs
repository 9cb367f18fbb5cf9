//! Whole-corpus queries: pairs, clusters, what to keep, and what two collections share.
//!
//! The side table is read once, under the caller's snapshot ([`collection`]). What is known of a
//! document is a record of fixed size: records fill maintenance_work_mem and then temporary
//! files ([`storage`]); in memory beyond that are a few bytes for each document (its key, its
//! place in a cluster). The engine finds the candidates; they are verified ([`verifier`]) and
//! given out, in part by threads of their own ([`work`]).

mod between;
mod clusters;
mod collection;
mod grouping;
mod pairs;
mod plan;
mod storage;
mod verifier;
mod work;
