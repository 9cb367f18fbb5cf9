#![doc = include_str!("../README.md")]
//!
//! # Structure
//!
//! A document takes one path, and imports have the same direction: each line uses only the lines above it.
//!
//! | module | contents |
//! |---|---|
//! | `limits`, `error`, [`memory`] | limits of arguments, errors, fallible allocation |
//! | [`spool`] | numbers in memory, and beyond a limit in a temporary file |
//! | `hash` | from bytes to 64-bit hashes: two mixers, elements of sets, sorting |
//! | `simd` | inner loops with vector instructions; all unsafe code |
//! | `text` | from a text to words: normalisation, stop words, word boundaries |
//! | `scheme`, `config` | everything that a signature depends on |
//! | `shingle` | from a text and a [`Config`] to tokens, windows ("shingles") and their hashes |
//! | `signature` | from hashes to signatures, and estimates, unions and bands of signatures |
//! | `exact` | from hashes to the exact similarity |
//! | `lsh` | from texts to an index in memory, which is searched by bands |
//! | [`boilerplate`] | from the hashes of a source's documents to the part of each that counts |
//! | [`passage`] | from normalised texts to their common passages, and fingerprints that find them |
//! | `suggestion` | from the similarities of a sample to a threshold |
//! | [`labels`] | from people's answers about some pairs to a threshold |
//! | [`corpus`] | from the band hashes of a corpus to candidate pairs and clusters |
//! | [`clusters`] | from an old state and new components to permanent ids and a log |
//! | [`stored`] | from the stored bytes of a database to a text |
//! | [`pipeline`] | batches of documents, processed by several threads |
//! | [`dedup`] | from documents to groups, pairs, clusters and plans, within a limit of memory |
//!
//! # Errors
//!
//! A function that returns a [`Result`] may return [`Error::OutOfMemory`], or the first error of a closure or trait
//! method that it calls; it makes no further calls then. Its own section *Errors* lists other errors.
#![warn(missing_docs)]
#![deny(unsafe_code)]

pub mod boilerplate;
pub mod clusters;
mod config;
pub mod corpus;
pub mod dedup;
mod error;
mod exact;
mod hash;
pub mod labels;
mod limits;
mod lsh;
pub mod memory;
mod packed;
pub mod passage;
pub mod pipeline;
mod scheme;
mod self_test;
mod shingle;
mod signature;
mod simd;
pub mod spool;
pub mod stored;
mod suggestion;
mod text;

pub use config::Config;
pub use dedup::Dedup;
pub use error::{Error, Result, counted};
pub use exact::{
    Comparison, FoundIn, Overlap, PreparedSet, SampledSets, ShingleSet, SimilarMember, agree, agreement_hash,
    fewest_shingles, overlap_of_texts, ratio_interval, set_of_long_text, word_diff,
};
pub use hash::{Element, ElementHash, Keyed, SortParts, hash128, sort_by, sort_by_key};
pub use limits::{
    Check, DEFAULT_COVERAGE, DEFAULT_MIN_MATCH, DEFAULT_NUM_PERM, DEFAULT_RECALL, DEFAULT_SHINGLE_SIZE,
    DEFAULT_THRESHOLD, MAX_DIFF_WORDS, MAX_MIN_LENGTH, MAX_MIN_MATCH, MAX_NUM_PERM, MAX_SHINGLE_SIZE, MAX_STOP_WORDS,
    MAX_WEIGHT, MIN_MIN_MATCH, MIN_WEIGHT,
};
pub use lsh::Lsh;
pub use packed::{MOST_PACKED_BYTES, Packable, pack, unpack};
pub use scheme::Scheme;
pub use self_test::{Answer, self_test};
pub use shingle::{
    HashPart, VisitShingle, for_each_shingle, has_shingles, normalize_text, saturated, shingle_hashes,
    shingle_hashes_in, tokens,
};
pub use signature::{
    Banding, Cardinality, Lean, LeanByteOrder, LinearFunctions, ScopeHash, Sketcher, SlotBits, WeightedSet,
    cardinality, containment, estimate_gate, estimate_jaccard, from_lean, signature_hash, standard_error, text_profile,
    text_profile_signature, to_lean, unite,
};
#[doc(hidden)]
pub use simd::Level;
pub use suggestion::{Histogram, Suggested, WithinOrigin, robust_from};
pub use text::{Normalization, StopWords, UNICODE_VERSIONS, Unit, codes, utf8};
