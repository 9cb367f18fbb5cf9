//! The engine of minlsh: from a text to its MinHash signature and its LSH
//! bands, without PostgreSQL.
//!
//! ```
//! use sketch::{Banding, Config, Sketcher, estimate_jaccard};
//!
//! let mut sketcher = Sketcher::new(Config::default());
//! let a = "A quick brown fox jumps over the lazy dog, twice a day.";
//! let b = "A quick brown fox jumps over the lazy dog, once a day.";
//! let a = sketcher.sketch(a, &mut || ())?.expect("not empty").to_vec();
//! let b = sketcher.sketch(b, &mut || ())?.expect("not empty").to_vec();
//! assert!(estimate_jaccard(&a, &b)? > 0.5);
//!
//! // Which bands find a pair of this similarity, with which probability?
//! let banding = Banding::for_recall(0.8, 128, 0.99)?;
//! assert_eq!((banding.bands(), banding.rows()), (21, 6));
//! # Ok::<(), sketch::Error>(())
//! ```
//!
//! A document flows one way, and each step has a module:
//!
//! | step | module |
//! |---|---|
//! | text → normalised text | `normalize`, `stop_words` |
//! | normalised text → tokens → windows ("shingles") | `tokens`, `words`, `letters`, `shingle` |
//! | shingles → 64-bit hashes, in chunks | `hashes`, `bag`, `xxh3`, `chunks`, `passes` |
//! | hashes → signature of `num_perm` slots | `scheme`, `sketcher`, `fss`, `permutations`, `datasketch` |
//! | signature → estimate, union; packed for storage | `signature`, `slot_bits` |
//! | signature ↔ bytes of datasketch | `lean` |
//! | signature → number of elements, containment | `cardinality` |
//! | signature → band hashes; parameters | `banding` |
//! | ready-made elements → hashes | `element` |
//! | hashes → exact set similarity; what two texts share | `set`, `prepared`, `overlap`, `comparison` |
//! | text → signature of its frequent words | `text_profile` |
//! | weighted hashes → signature, exact similarity | `weighted` |
//! | band hashes of a corpus → candidate pairs, clusters | [`corpus`] |
//! | memory that may be refused | [`memory`] |
//! | a sample against all, exactly: what an index finds | `audit` |
//! | the inner loops, with vector instructions | `simd` |
//! | worked examples: hash functions (a·x + b) mod p | `textbook` |
//!
//! Every value that leaves this crate may be stored by a user for years, so it
//! depends on nothing but the [`Config`]: not on the machine, its byte order
//! or its instruction set, nor on the release of a dependency (so those that
//! carry Unicode's tables are pinned).
//! [`Config::VERSION`] changes when a value does.
#![deny(missing_docs)]
#![deny(unsafe_code)]

mod audit;
mod bag;
mod banding;
mod cardinality;
mod chunks;
mod comparison;
mod config;
pub mod corpus;
mod datasketch;
mod element;
mod error;
mod fss;
mod hashes;
mod lean;
mod letters;
pub mod memory;
mod mix;
mod normalize;
mod overlap;
mod passes;
mod permutations;
mod prepared;
mod scheme;
mod set;
mod shingle;
mod signature;
mod simd;
mod sketcher;
mod slot_bits;
mod stop_words;
mod text_profile;
mod textbook;
mod tokens;
mod weighted;
mod words;
mod xxh3;

pub use audit::{Sample, ratio_interval, wilson_interval};
pub use banding::Banding;
pub use cardinality::{Cardinality, cardinality, containment};
pub use comparison::Comparison;
pub use config::{
    Config, DEFAULT_ANCHORED_SIZE, DEFAULT_NUM_PERM, DEFAULT_RECALL, DEFAULT_SHINGLE_SIZE,
    DEFAULT_THRESHOLD, MAX_NUM_PERM, MAX_SHINGLE_SIZE, Unit,
};
pub use element::Element;
pub use error::{Error, counted};
pub use hashes::shingle_hashes;
pub use lean::{Lean, LeanByteOrder, from_lean, to_lean};
pub use normalize::{MAX_MIN_LENGTH, Normalization, UNICODE_VERSIONS};
pub use overlap::Overlap;
pub use prepared::PreparedSet;
pub use scheme::{ElementHash, Scheme};
pub use set::ShingleSet;
pub use shingle::{VisitShingle, for_each_shingle};
pub use signature::{estimate_gate, estimate_jaccard, signature_hash, standard_error, union};
#[doc(hidden)]
pub use simd::Level;
pub use sketcher::Sketcher;
pub use slot_bits::SlotBits;
pub use stop_words::{MAX_STOP_WORDS, StopWords};
pub use text_profile::{TextProfile, text_profile, text_profile_signature};
pub use textbook::LinearFunctions;
pub use tokens::{normalize_text, tokens};
pub use weighted::{MAX_WEIGHT, MIN_WEIGHT, WeightedSet};
