//! Normalisation: removes differences between texts that do not count.
//!
//! `steps` defines the steps, and parses and prints them in the user's notation. `stages` applies them: `html`, then
//! the steps on characters, then `numbers`. `definition` applies the steps on characters slowly, with the table of
//! `letters`. `quick` gives the same results, by `ascii` for runs of ASCII and by the table of `fates` for other
//! characters. `places` records where characters come from.

mod ascii;
mod definition;
mod fates;
mod html;
mod letters;
mod numbers;
mod places;
mod quick;
mod stages;
mod steps;

pub(crate) use places::Origins;
pub(crate) use steps::Dropped;
pub use steps::Normalization;

/// The versions of Unicode whose tables affect comparisons: word boundaries, normal forms, general categories and case
/// folding, in this order. They belong to [`Config::VERSION`](crate::Config::VERSION). A stored configuration can
/// include them, to record under which it was made.
///
/// Normal forms and case folding of an assigned character never change, so the tables differ only for characters that
/// were new in one of the versions.
pub const UNICODE_VERSIONS: &str =
    "segmentation 17.0.0, normalization 18.0.0, general category 17.0.0, case folding 16.0.0";
