//! The limits of the rule: which shingles do not count, and how much must be left of a document.
//!
//! Limits are hard. With soft ones, where the hash of a shingle decides within ten points of a limit, ads of one
//! company lose some wrong pairs (F1 0.992 and 0.998 at 0.7). But forms with paragraphs that a third of an office
//! shares lose copies (0.893 and 0.816), as do listings (0.936 and 0.900), and the ads at 0.8 (0.718 and 0.631).

use crate::{Config, Unit};

/// A shingle counts if fewer documents have it.
pub const LEAST: usize = 5;

/// Origins that must be judged before a shingle can be common to all.
pub(super) const ORIGINS: usize = 5;

/// The levels that an origin may have, in percent of its documents. The first one is that of all documents, too.
pub const LEVELS: [usize; 11] = [20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70];

/// The number of documents, of `documents`, that a shingle must have to be left out at the first level.
pub(super) fn least(documents: usize) -> usize {
    LEAST.max(documents * LEVELS[0] / 100 + 1)
}

/// The number of levels, from the first one on, at which a shingle does not count that `having` of `documents` have.
pub(super) fn levels(having: usize, documents: usize) -> usize {
    let exceeds = |level: &&usize| having >= LEAST && 100 * having > **level * documents;
    LEVELS.iter().take_while(exceeds).count()
}

/// The numbers of shingles that are enough of a document, by what its shingles are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enough {
    /// The level of an origin is high enough for a document that keeps this many of its shingles.
    pub plenty: usize,
    /// A document is compared for equality only if fewer of its shingles count.
    pub few: usize,
    /// The number of shingles that suffice if they are four fifths of a document.
    pub fewest: usize,
}

impl Enough {
    /// The numbers for shingles of several characters.
    pub const CHARACTERS: Self = Self { plenty: 150, few: 60, fewest: 20 };

    /// The numbers for words, and for elements of sets: a word is about five characters.
    pub const WORDS: Self = Self { plenty: 30, few: 12, fewest: 4 };

    /// The numbers for texts that are cut by `config`.
    pub fn of(config: &Config) -> Self {
        match config.unit() {
            Unit::Char => Self::CHARACTERS,
            Unit::Word | Unit::Anchored => Self::WORDS,
        }
    }

    /// True if four fifths of `shingles` are `counted`.
    fn is_nearly_all(shingles: usize, counted: usize) -> bool {
        5 * counted >= 4 * shingles
    }

    /// True if a level is high enough for a document: of its `shingles`, `counted` are kept.
    pub(super) fn is_kept(self, shingles: usize, counted: usize) -> bool {
        counted == shingles
            || counted >= self.plenty
            || counted >= self.fewest && Self::is_nearly_all(shingles, counted)
    }

    /// True if a document can be compared by the `counted` ones of its `shingles`.
    pub fn suffices(self, shingles: usize, counted: usize) -> bool {
        counted == shingles || counted >= self.few || counted >= self.fewest && Self::is_nearly_all(shingles, counted)
    }
}
