//! The pure functions: text to shingles, sets to signatures, signatures to bands, and the
//! measures between them. Each is a shim over the engine.

mod bands;
mod estimate;
mod exact;
mod lean;
mod measures;
mod profile;
mod sets;
mod shingles;
mod signature;
mod textbook;
mod weighted;

pub(crate) use signature::with_sketcher;

use pgrx::pg_sys::panic::ErrorReport;
use sketch::{Config, Scheme};

use crate::error::engine;

/// Shingling options as the exact functions take them; the rest of the configuration does not
/// matter to a set.
pub(crate) fn shingling(shingle_size: i32, unit: &str) -> Result<Config, ErrorReport> {
    let default = Config::default();
    Config::new(
        default.scheme().as_str(),
        default.num_perm() as i64,
        unit,
        shingle_size.into(),
        default.seed(),
    )
    .map_err(engine)
}

/// A configuration as a user writes it. Seed 0 is the one that the scheme has by itself:
/// datasketch's schemes have 1, as in Python.
pub(crate) fn configuration(
    scheme: &str,
    num_perm: i32,
    unit: &str,
    shingle_size: i32,
    seed: i64,
) -> Result<Config, ErrorReport> {
    let default_seed = scheme.parse::<Scheme>().map_err(engine)?.default_seed();
    let seed = if seed == 0 { default_seed } else { seed };
    Config::new(scheme, num_perm.into(), unit, shingle_size.into(), seed).map_err(engine)
}

/// Lets PostgreSQL cancel a long loop.
pub(crate) fn checkpoint() {
    pgrx::check_for_interrupts!();
}
