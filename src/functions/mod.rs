//! The pure functions: text to shingles, sets to signatures, signatures to bands, and the
//! measures between them. Each is a shim over the engine.

mod bands;
mod elements;
mod estimate;
mod exact;
mod lean;
mod measures;
mod options;
mod profile;
mod sets;
mod shingles;
mod signature;
mod textbook;
mod tokens;
mod weighted;

pub(crate) use elements::hashes as element_hashes;
pub(crate) use options::Options;
pub(crate) use signature::with_sketcher;

pub(crate) use crate::pg::interrupts::checkpoint;
