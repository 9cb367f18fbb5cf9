//! Passages: what of one text is in another.
//!
//! A *window* is `min_match` consecutive characters of a normalised text. A passage is covered by a text as far as its
//! windows occur in it. No window is missed, for texts decide; fingerprints only say where to look.
//!
//! ```
//! use sketch::Normalization;
//! use sketch::passage::{Characters, Sought, shared_runs};
//!
//! let plain = Normalization::plain();
//! let read = |text| Characters::of(&plain, text, &mut || ());
//! let quote = read("The quick brown fox jumps over the lazy dog")?;
//! let body = read("As they say: the quick brown  fox jumps over the lazy cat.")?;
//! let runs = shared_runs(&quote, &body, 16, &mut || ())?;
//! assert_eq!((runs[0].a, runs[0].b, runs[0].length), (0, 13, 40));
//! assert_eq!(Sought::new(quote, 16, &mut || ())?.covered(&body, &mut || ())?, 40);
//! # Ok::<(), sketch::Error>(())
//! ```
//!
//! | file | what it does |
//! |---|---|
//! | `characters` | a normalised text, where its characters come from, and where they start |
//! | `hashes` | hashes of windows, and minima of them |
//! | `winnow` | fingerprints, which an index stores, and hashes of the windows that have them |
//! | `runs` | what two texts have in common |
//! | `sought` | how much of one passage is in each of many texts |
//! | `common` | runs of windows that many texts have, cut back to whole words |
//! | `bound` | which fingerprints a search must ask for |

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

/// `min_match` as a user writes it.
///
/// # Errors
/// [`Error::MinMatch`].
pub fn valid_min_match(min_match: i64) -> Result<usize> {
    usize::try_from(min_match)
        .ok()
        .filter(|valid| (MIN_MIN_MATCH..=MAX_MIN_MATCH).contains(valid))
        .ok_or(Error::MinMatch(min_match))
}

/// The steps of a normalisation of passages, whose places in the original can be told.
///
/// # Errors
/// [`Error::PassageTokens`] if a step drops tokens, or that of reading them.
pub fn valid_normalization(steps: &str) -> Result<Normalization> {
    let normalization: Normalization = steps.parse()?;
    match normalization.drops_tokens() {
        true => Err(Error::PassageTokens),
        false => Ok(normalization),
    }
}

/// A coverage as a user writes it.
///
/// # Errors
/// [`Error::Coverage`] unless it is above 0 and at most 1.
pub fn valid_coverage(coverage: f64) -> Result<f64> {
    if coverage > 0.0 && coverage <= 1.0 { Ok(coverage) } else { Err(Error::Coverage(coverage)) }
}
