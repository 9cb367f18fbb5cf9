//! The installed versions, and the pure functions: text to shingles, sets to signatures, signatures to bands, and the
//! measures between them. Each is a shim over the engine.

mod about;
mod bands;
mod diff;
mod exact;
mod key;
mod measures;
mod passages;
mod profile;
mod sets;
mod shingles;
mod signature;
mod weighted;

pub(crate) use signature::with_sketcher;
