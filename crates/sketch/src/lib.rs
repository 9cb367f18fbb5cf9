#![doc = include_str!("../README.md")]
//!
//! # Structure
//!
//! A document takes one path, and imports have the same direction: each line uses only the lines above it.
//!
//! | module | contents |
//! |---|---|
//! | `limits`, `error`, `memory` | limits of arguments, errors, fallible allocation |
//! | `spool` | numbers in memory, and beyond a limit in a temporary file |
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
//! | `corpus` | from the band hashes of a corpus to candidate pairs and clusters |
//! | [`clusters`] | from an old state and new components to permanent ids and a log |
//! | `stored` | from the stored bytes of a database to a text |
//! | `pipeline` | batches of documents, processed by several threads |
//! | `dedup` | from documents to groups, pairs, clusters and plans, within a limit of memory |
//!
//! # Errors
//!
//! A function that returns a [`Result`] may return [`Error::OutOfMemory`], or the first error of a closure or trait
//! method that it calls; it makes no further calls then. Its own section *Errors* lists other errors.
#![warn(missing_docs)]
#![deny(unsafe_code)]
// A database alone uses all that it exports: builds with the feature show what is unused.
#![cfg_attr(not(feature = "database"), allow(dead_code, unused_imports, unfulfilled_lint_expectations))]

pub mod boilerplate;
pub mod clusters;
mod config;
#[cfg(not(feature = "database"))]
mod corpus;
#[cfg(feature = "database")]
pub mod corpus;
#[cfg(not(feature = "database"))]
mod dedup;
#[cfg(feature = "database")]
pub mod dedup;
mod error;
mod exact;
mod hash;
pub mod labels;
mod limits;
mod lsh;
#[cfg(not(feature = "database"))]
mod memory;
#[cfg(feature = "database")]
pub mod memory;
mod packed;
pub mod passage;
#[cfg(not(feature = "database"))]
mod pipeline;
#[cfg(feature = "database")]
pub mod pipeline;
mod scheme;
mod self_test;
mod shingle;
mod signature;
mod simd;
#[cfg(not(feature = "database"))]
mod spool;
#[cfg(feature = "database")]
pub mod spool;
#[cfg(not(feature = "database"))]
mod stored;
#[cfg(feature = "database")]
pub mod stored;
mod suggestion;
mod text;

pub use config::Config;
pub use dedup::{Dedup, KeyPair, Removal};
pub use error::{Error, Result};
pub use exact::{Comparison, FoundIn, Overlap, PreparedSet, ShingleSet, word_diff};
pub use hash::{Element, ElementHash};
pub use limits::{
    Check, DEFAULT_NUM_PERM, DEFAULT_RECALL, DEFAULT_SHINGLE_SIZE, DEFAULT_THRESHOLD, MAX_DIFF_WORDS, MAX_MIN_LENGTH,
    MAX_MIN_MATCH, MAX_NUM_PERM, MAX_SHINGLE_SIZE, MAX_STOP_WORDS, MAX_WEIGHT, MIN_MIN_MATCH, MIN_WEIGHT,
};
pub use lsh::Lsh;
pub use scheme::Scheme;
pub use shingle::{VisitShingle, for_each_shingle, has_shingles, normalize_text, saturated, shingle_hashes, tokens};
pub use signature::{
    Banding, Cardinality, Lean, LeanByteOrder, LinearFunctions, Sketcher, SlotBits, WeightedSet, cardinality,
    containment, estimate_jaccard, from_lean, standard_error, text_profile, text_profile_signature, to_lean, unite,
};
#[doc(hidden)]
pub use simd::Level;
pub use text::{Normalization, StopWords, UNICODE_VERSIONS, Unit, codes};
#[cfg(feature = "database")]
pub use {
    error::counted,
    exact::{
        SampledSets, SimilarMember, agree, agreement_hash, fewest_shingles, overlap_of_texts, ratio_interval,
        set_of_long_text,
    },
    hash::{Keyed, SortParts, hash128, sort_by, sort_by_key},
    limits::{DEFAULT_COVERAGE, DEFAULT_MIN_MATCH},
    packed::{MOST_PACKED_BYTES, Packable, pack, unpack},
    self_test::{Answer, self_test},
    signature::{ScopeHash, estimate_gate, signature_hash},
    suggestion::{Histogram, Suggested, WithinOrigin, robust_from},
    text::utf8,
};
