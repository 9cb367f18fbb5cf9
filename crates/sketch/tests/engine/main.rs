//! The engine by its public interface. The files are one program, which is linked once: `make engine TESTS=golden`
//! runs those of one. `memory.rs` is another program, as it has an allocator of its own.

mod accuracy;
mod clusters;
mod common;
mod common_passages;
mod comparison;
mod corpus;
mod datasketch;
mod exact;
mod golden;
mod invariants;
mod links;
mod options;
mod packed;
mod passages;
mod pipeline;
mod stored;
mod suggestion;
mod texts;
mod word_diff;
