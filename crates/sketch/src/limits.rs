//! Limits and defaults of arguments, with their reasons.

/// A callback that can stop long work. It is called often, at least once for every 64 KiB of text unless stated
/// otherwise, and may unwind.
pub type Check<'a> = &'a mut dyn FnMut();

/// Maximum number of slots in a signature. The error falls with the square root of the number of slots: with 4096 it is
/// below 0.8 % at any similarity.
pub const MAX_NUM_PERM: usize = 4096;
/// Default number of slots in a signature: an error of 0.027 at J = 0.9.
pub const DEFAULT_NUM_PERM: usize = 128;

/// Maximum length of a shingle, in characters or words.
pub const MAX_SHINGLE_SIZE: usize = 64;
/// Default length of a shingle, in characters or words.
pub const DEFAULT_SHINGLE_SIZE: usize = 5;

/// Default share of the pairs at the threshold that bands find.
pub const DEFAULT_RECALL: f64 = 0.99;
/// Default Jaccard similarity from which a pair is a near-duplicate.
pub const DEFAULT_THRESHOLD: f64 = 0.8;

/// Maximum `min_length` of a normalisation, in characters.
pub const MAX_MIN_LENGTH: usize = 64;
/// Maximum bytes of a list of stop words as text, which bounds everything that is made of it.
pub const MAX_STOP_WORDS: usize = 1 << 16;

/// Minimum length of a passage in characters; anything shorter is a phrase.
pub const MIN_MIN_MATCH: usize = 16;
/// Maximum `min_match`: blocks of windows are hashed in scratch memory of this size.
pub const MAX_MIN_MATCH: usize = 1000;
/// Default length of a passage. Shorter passages are found even if words around them were changed; longer ones take a
/// smaller index.
pub const DEFAULT_MIN_MATCH: usize = 50;
/// Default share of a passage that a text must contain.
pub const DEFAULT_COVERAGE: f64 = 0.8;

/// Maximum number of words in a word-by-word comparison: about 6 MB of English.
pub const MAX_DIFF_WORDS: usize = 1 << 20;

/// Minimum positive weight of an element.
pub const MIN_WEIGHT: f64 = 1e-100;
/// Maximum weight of an element.
pub const MAX_WEIGHT: f64 = 1e100;

/// Iterates over items, and calls `check` often.
pub(crate) fn checked<T>(items: impl Iterator<Item = T>, check: Check) -> impl Iterator<Item = T> {
    const RUN: usize = 4096;
    let mut left = RUN;
    items.inspect(move |_| {
        left -= 1;
        if left == 0 {
            left = RUN;
            check();
        }
    })
}

pub(crate) fn in_range(value: i64, max: usize) -> Option<usize> {
    usize::try_from(value).ok().filter(|value| (1..=max).contains(value))
}
