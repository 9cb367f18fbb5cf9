//! Passages of a whole corpus, without an index: what many documents have in common, the documents
//! without it, and what earlier documents have already.
//!
//! [`texts`] reads the source once and finds the fingerprints that enough documents have. Only windows of
//! such fingerprints can be in as many documents, so only those are told apart, by a hash of 64 bits of all
//! their characters ([`windows`]). What is reported is read off the texts again, which lie in a temporary
//! file beyond memory.

mod common;
mod repeated;
mod texts;
mod windows;
