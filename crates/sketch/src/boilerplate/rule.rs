//! The limits of the rule: which shingles do not count, and how much of a document must be left.
//!
//! Limits are hard. With soft limits, where the hash of a shingle decides within ten points of a limit, ads of one
//! company lose some wrong pairs (F1 0.992 and 0.998 at 0.7). But forms with paragraphs that a third of an office
//! shares lose copies (0.893 and 0.816), and so do listings (0.936 and 0.900), and the ads at 0.8 (0.718 and 0.631).

use crate::{Config, Unit};

/// Number of documents below which a shingle counts.
pub const LEAST: usize = 5;

/// Minimum number of judged origins for shingles that are common to all.
pub(super) const ORIGINS: usize = 5;

/// The possible levels of an origin, in percent of its documents. The first also applies to all documents.
pub const LEVELS: [usize; 11] = [20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70];

/// Number of documents, out of `documents`, with which a shingle is left out at the first level.
pub(super) fn least(documents: usize) -> usize {
    LEAST.max(documents * LEVELS[0] / 100 + 1)
}

/// Number of levels, from the first, at which a shingle in `having` of `documents` documents does not count.
pub(super) fn levels(having: usize, documents: usize) -> usize {
    let exceeds = |level: &&usize| having >= LEAST && 100 * having > **level * documents;
    LEVELS.iter().take_while(exceeds).count()
}

/// The numbers of shingles that are enough for a document, by the kind of its shingles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enough {
    /// Number of kept shingles with which a level is high enough for a document.
    pub plenty: usize,
    /// Number of counted shingles below which a document is compared for equality only.
    pub few: usize,
    /// Number of shingles that suffice if they are four fifths of a document.
    pub fewest: usize,
}

impl Enough {
    /// The numbers for shingles of characters.
    pub const CHARACTERS: Self = Self { plenty: 150, few: 60, fewest: 20 };

    /// The numbers for words, and for elements of sets: a word is about five characters.
    pub const WORDS: Self = Self { plenty: 30, few: 12, fewest: 4 };

    /// The numbers for texts that are split by `config`.
    pub fn of(config: &Config) -> Self {
        match config.unit() {
            Unit::Char => Self::CHARACTERS,
            Unit::Word | Unit::Anchored => Self::WORDS,
        }
    }

    /// True if `counted` are at least four fifths of `shingles`.
    fn is_nearly_all(shingles: usize, counted: usize) -> bool {
        5 * counted >= 4 * shingles
    }

    /// True if a level is high enough for a document with `shingles` shingles that keeps `counted` of them.
    pub(super) fn is_kept(self, shingles: usize, counted: usize) -> bool {
        counted == shingles
            || counted >= self.plenty
            || counted >= self.fewest && Self::is_nearly_all(shingles, counted)
    }

    /// True if a document can be compared by `counted` of its `shingles` shingles.
    pub fn suffices(self, shingles: usize, counted: usize) -> bool {
        counted == shingles || counted >= self.few || counted >= self.fewest && Self::is_nearly_all(shingles, counted)
    }
}
