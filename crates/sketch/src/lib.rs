#![doc = include_str!("../README.md")]
//!
//! # How it is built
//!
//! A document flows one way, and so do imports: each line uses those above it.
//!
//! | module | what belongs in it |
//! |---|---|
//! | `limits`, `error`, [`memory`] | what may be asked for, what is refused, memory that may be refused |
//! | `hash` | from bytes to a 64-bit hash: the two mixers, elements of ready-made sets, sorting |
//! | `simd` | the inner loops, with vector instructions; all unsafe code |
//! | `text` | from a text to words: normalisation, stop words, where words are cut |
//! | `scheme`, `config` | all that a signature depends on |
//! | `shingle` | from a text and a [`Config`] to tokens, windows ("shingles") and their hashes |
//! | `signature` | from hashes to signatures, and what those tell: estimates, unions, bands |
//! | `exact` | from hashes to the similarity that signatures estimate |
//! | [`boilerplate`] | from the hashes of the documents of a source to what of each counts |
//! | [`passage`] | from normalised texts to what they have in common, and the fingerprints that find it |
//! | `suggestion` | from the similarities of a sample to a threshold |
//! | [`labels`] | from the answers of people about some pairs to a threshold |
//! | [`corpus`] | from the band hashes of a corpus to candidate pairs and clusters |
//! | [`clusters`] | from an old state and new components to ids that stay, and a log |
//! | [`stored`] | from bytes as a database stores them to a text |
//! | [`pipeline`] | batches of documents, computed by several threads |
//!
//! # Errors
//!
//! A function that returns a [`Result`] may return [`Error::OutOfMemory`], and the first error of a closure or a trait
//! that it calls, which it does not call again then. Its own section *Errors* names what else there is.
#![warn(missing_docs)]
#![deny(unsafe_code)]

pub mod boilerplate;
pub mod clusters;
mod config;
pub mod corpus;
mod error;
mod exact;
mod hash;
pub mod labels;
mod limits;
pub mod memory;
mod packed;
pub mod passage;
pub mod pipeline;
mod scheme;
mod self_test;
mod shingle;
mod signature;
mod simd;
pub mod stored;
mod suggestion;
mod text;

pub use config::Config;
pub use error::{Error, Result, counted};
pub use exact::{
    Blocks, Comparison, FoundIn, Overlap, PreparedSet, SampledSets, ShingleSet, SimilarMember, agree, agreement_hash,
    overlap_of_texts, ratio_interval, set_of_long_text, word_diff,
};
pub use hash::{Element, ElementHash, Keyed, SortParts, hash128, sort_by, sort_by_key};
pub use limits::{
    Check, DEFAULT_COVERAGE, DEFAULT_MIN_MATCH, DEFAULT_NUM_PERM, DEFAULT_RECALL, DEFAULT_SHINGLE_SIZE,
    DEFAULT_THRESHOLD, MAX_DIFF_WORDS, MAX_MIN_LENGTH, MAX_MIN_MATCH, MAX_NUM_PERM, MAX_SHINGLE_SIZE, MAX_STOP_WORDS,
    MAX_WEIGHT, MIN_MIN_MATCH, MIN_WEIGHT,
};
pub use packed::{MOST_PACKED_BYTES, Packable, pack, unpack};
pub use scheme::Scheme;
pub use self_test::{Answer, self_test};
pub use shingle::{VisitShingle, for_each_shingle, has_shingles, normalize_text, saturated, shingle_hashes, tokens};
pub use signature::{
    Banding, Cardinality, Lean, LeanByteOrder, LinearFunctions, ScopeHash, Sketcher, SlotBits, WeightedSet,
    cardinality, containment, estimate_gate, estimate_jaccard, from_lean, signature_hash, standard_error, text_profile,
    text_profile_signature, to_lean, unite,
};
#[doc(hidden)]
pub use simd::Level;
pub use suggestion::{Histogram, Suggested, WithinOrigin, robust_from};
pub use text::{Normalization, StopWords, UNICODE_VERSIONS, Unit, codes, utf8};
