//! Makes signatures from hashes, each scheme in its own file, and derives everything from signatures: estimates,
//! unions, packed and exchanged forms, and hashes of LSH bands.

mod banding;
mod cardinality;
mod datasketch;
mod estimate;
mod fss;
mod lean_minhash;
mod permutations;
mod seeded_hashes;
mod sketcher;
mod slot_bits;
mod text_profile;
mod weighted;

pub use banding::{Banding, ScopeHash};
pub use cardinality::{Cardinality, cardinality, containment};
pub use estimate::{estimate_gate, estimate_jaccard, signature_hash, standard_error, unite};
pub use lean_minhash::{Lean, LeanByteOrder, from_lean, to_lean};
pub use permutations::LinearFunctions;
pub use sketcher::Sketcher;
pub use slot_bits::SlotBits;
pub use text_profile::{text_profile, text_profile_signature};
pub use weighted::WeightedSet;
