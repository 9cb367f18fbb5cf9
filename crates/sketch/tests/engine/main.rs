//! The engine by its public interface. The files are one program, which is linked once: `make engine TESTS=golden`
//! runs those of one. `memory.rs` is another program, as it has an allocator of its own.

mod accuracy;
mod clusters;
mod common;
mod corpus;
mod datasketch;
mod golden;
mod invariants;
mod options;
mod passages;
mod pipeline;
mod stored;
mod texts;
mod word_diff;
