//! The limits and the defaults of what a caller may ask for, with the reason of each.

/// The means to stop what takes long: it is called often, at least every 64 KiB of text unless said otherwise, and may
/// unwind.
pub type Check<'a> = &'a mut dyn FnMut();

/// The most slots a signature may have. The error falls with the square root of the slots: at
/// 4096 it is below 0.8 % everywhere.
pub const MAX_NUM_PERM: usize = 4096;
/// The default number of slots of a signature: an error of 0.027 at J = 0.9.
pub const DEFAULT_NUM_PERM: usize = 128;

/// The longest shingle, in characters or words.
pub const MAX_SHINGLE_SIZE: usize = 64;
/// The default length of a shingle, in characters or words.
pub const DEFAULT_SHINGLE_SIZE: usize = 5;

/// The fraction of the pairs at the threshold that bands are chosen to find.
pub const DEFAULT_RECALL: f64 = 0.99;
/// The Jaccard similarity from which on a pair counts as near-duplicate.
pub const DEFAULT_THRESHOLD: f64 = 0.8;

/// The largest `min_length` of a normalisation, in characters.
pub const MAX_MIN_LENGTH: usize = 64;
/// The most bytes that a list of stop words may have as a text: with it, all that is made of a list is bounded.
pub const MAX_STOP_WORDS: usize = 1 << 16;

/// The shortest passage that is looked for, in characters: what is shorter is a phrase.
pub const MIN_MIN_MATCH: usize = 16;
/// The longest `min_match`: blocks of windows are hashed in scratch memory of this size.
pub const MAX_MIN_MATCH: usize = 1000;
/// Length of a passage unless you specify another: shorter ones are found where words were changed
/// around them, longer ones take a smaller index.
pub const DEFAULT_MIN_MATCH: usize = 50;
/// The share of a passage that a text must have unless you specify another.
pub const DEFAULT_COVERAGE: f64 = 0.8;

/// The most words of a text that is compared word by word: about 6 MB of English.
pub const MAX_DIFF_WORDS: usize = 1 << 20;

/// The least weight of an element but 0.
pub const MIN_WEIGHT: f64 = 1e-100;
/// The greatest weight of an element.
pub const MAX_WEIGHT: f64 = 1e100;

/// Some items, with a call of `check` for every run of them that is short.
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
