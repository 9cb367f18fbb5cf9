//! Normalisation: what about a text does not count, said in one line.
//!
//! `steps` says what can be done, and reads and writes it as a user does. `stages` does it: `html`, then the steps on
//! characters, then `numbers`. `definition` does those on characters slowly, with the table of `letters`; `quick` gives
//! the same, by `ascii` for runs of ASCII and by the table of `fates` for what becomes of other characters. `places`
//! says where characters come from.

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

/// The versions of Unicode whose tables decide what a text is compared as: cutting into words, normal forms, general
/// categories and case folding, in this order. They belong to [`Config::VERSION`](crate::Config::VERSION): a stored
/// configuration can carry them to say under which it was made.
///
/// A character keeps its normal forms and its case folding once it is
/// assigned, so the tables differ only for characters that were new in one.
pub const UNICODE_VERSIONS: &str = "segmentation 17.0.0, normalization 18.0.0, \
     general category 17.0.0, case folding 16.0.0";
