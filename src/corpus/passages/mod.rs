//! Passages of a whole corpus, without an index.
//!
//! | module | what it does |
//! |---|---|
//! | `question` | the arguments |
//! | `texts` | reads the sources once, sorts the fingerprints of its texts, and has threads look at texts |
//! | `windows` | windows of fingerprints that enough documents have, told apart by a hash of 64 bits of all their characters |
//! | `common` | what many documents have in common, and the documents without it |
//! | `repeated` | what of each document an earlier one has |
//! | `contained` | which documents are inside others |
//! | `between` | what documents of two sources have in common |
//!
//! Only windows of frequent fingerprints can be in as many documents. What is reported is read off the texts again,
//! which lie in a temporary file beyond memory.

mod between;
mod common;
mod contained;
mod question;
mod repeated;
mod texts;
mod windows;
