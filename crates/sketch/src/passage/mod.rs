//! Passages: the parts of a text that are in another one.
//!
//! A *window* is `min_match` consecutive characters of a normalised text. A text covers the parts of a passage whose
//! windows occur in it. No window is missed, because texts decide; fingerprints only show where to look.
//!
//! ```
//! use minlsh_sketch::Normalization;
//! use minlsh_sketch::passage::{Characters, Sought, shared_runs};
//!
//! let plain = Normalization::plain();
//! let read = |text| Characters::of(&plain, text, &mut || ());
//! let quote = read("The quick brown fox jumps over the lazy dog")?;
//! let body = read("As they say: the quick brown  fox jumps over the lazy cat.")?;
//! let runs = shared_runs(&quote, &body, 16, &mut || ())?;
//! assert_eq!((runs[0].a, runs[0].b, runs[0].length), (0, 13, 40));
//! assert_eq!(Sought::new(quote, 16, &mut || ())?.covered(&body, &mut || ())?, 40);
//! # Ok::<(), minlsh_sketch::Error>(())
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `characters` | a normalised text, and the origins and offsets of its characters |
//! | `hashes` | hashes of windows, and their minima |
//! | `winnow` | fingerprints, which an index stores, and hashes of the windows with given fingerprints |
//! | `runs` | the common parts of two texts |
//! | `sought` | the share of a passage in each of many texts |
//! | `common` | runs of windows that many texts have, cut back to whole words |
//! | `bound` | the fingerprints that a search must look up |

mod bound;
mod characters;
mod common;
mod hashes;
mod runs;
mod sought;
mod winnow;

pub use bound::{Bound, needed};
pub use characters::{CharacterOffsets, Characters};
pub use common::{CommonRun, CommonRuns, whole_words};
pub use runs::{Filter, Run, covered, shared_runs};
pub use sought::Sought;
pub use winnow::{Fingerprints, Stretch, gram_length};

use crate::text::Normalization;
use crate::{Error, MAX_MIN_MATCH, MIN_MIN_MATCH, Result};

/// Validates a `min_match`.
///
/// # Errors
/// [`Error::MinMatch`].
pub fn valid_min_match(min_match: i64) -> Result<usize> {
    usize::try_from(min_match)
        .ok()
        .filter(|valid| (MIN_MIN_MATCH..=MAX_MIN_MATCH).contains(valid))
        .ok_or(Error::MinMatch(min_match))
}

/// Parses a normalisation for passages. Its steps keep the origins of characters.
///
/// # Errors
/// [`Error::PassageTokens`] if a step drops tokens, or an error of parsing the steps.
pub fn valid_normalization(steps: &str) -> Result<Normalization> {
    let normalization: Normalization = steps.parse()?;
    match normalization.drops_tokens() {
        true => Err(Error::PassageTokens),
        false => Ok(normalization),
    }
}

/// Validates a coverage.
///
/// # Errors
/// [`Error::Coverage`] unless it is above 0 and at most 1.
pub fn valid_coverage(coverage: f64) -> Result<f64> {
    if coverage > 0.0 && coverage <= 1.0 { Ok(coverage) } else { Err(Error::Coverage(coverage)) }
}
