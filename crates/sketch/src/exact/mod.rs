//! Exact similarities from hashes: of a pair, of a set and many texts, of the documents of a group, and of a sample
//! that measures an index.

mod comparison;
mod directory;
mod hash_parts;
mod numbered_sets;
mod overlap;
mod parted_overlap;
mod prepared_set;
mod sample;
mod sampled_sets;
mod set_outline;
mod shared_counts;
mod shingle_set;
mod word_diff;

pub use comparison::Comparison;
pub use hash_parts::HashParts;
pub use numbered_sets::NumberedSets;
pub use overlap::{Overlap, agree, agreement_hash};
pub use parted_overlap::{overlap_of_texts, set_of_long_text};
pub use prepared_set::PreparedSet;
pub use sample::ratio_interval;
pub use sampled_sets::{SampledSets, SimilarMember};
pub use set_outline::{SetOutline, fewest_shingles};
pub use shared_counts::SharedCounts;
pub use shingle_set::ShingleSet;
pub use word_diff::{FoundIn, word_diff};
