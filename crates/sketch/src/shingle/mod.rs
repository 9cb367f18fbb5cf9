//! Splits a text into shingles by a configuration: tokens, windows of them, and their hashes.

mod as_hashes;
mod as_texts;
mod hash_buffer;
mod saturation;
mod shingle_hashes;

pub(crate) use as_hashes::text_hashes;
pub(crate) use as_texts::has_any;
pub use as_texts::{VisitShingle, for_each_shingle, normalize_text, tokens};
pub(crate) use hash_buffer::{CHUNK, Sink};
pub use saturation::saturated;
pub(crate) use shingle_hashes::{append_elements, each_chunk, repeated};
pub use shingle_hashes::{has_shingles, shingle_hashes};
