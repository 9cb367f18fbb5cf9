//! The engine by its public interface. The files are one program, which is linked once: `make engine TESTS=golden`
//! runs the tests of one file. `memory.rs` is another program, as it has an allocator of its own.

mod accuracy;
mod agreement;
mod bands;
mod boilerplate;
mod clusters;
mod codes;
mod common_passages;
mod comparison;
mod configuration;
mod corpus;
mod datasketch;
mod dedup;
mod estimates;
mod exact;
mod golden;
mod hashes;
mod invariants;
mod labels;
mod limits;
mod links;
mod lsh;
mod near_duplicates;
mod normalization;
mod options;
mod packed;
mod passages;
mod pipeline;
mod saturation;
mod stored;
mod suggestion;
mod text_profile;
mod textbook;
mod texts;
mod weighted;
mod word_diff;
mod words;

use minlsh_engine_tests as common;
