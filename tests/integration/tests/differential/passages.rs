//! Passages: indexes of them, and what a text has of another by definition: every window is looked for.

use std::collections::HashSet;

use minlsh_integration::Random;
use sketch::Normalization;
use sketch::passage::needed;

use crate::scene::Of;

/// The definition of a passage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    pub min_match: usize,
    pub normalization: &'static str,
}

impl Cut {
    /// Passages short enough for the texts of the test.
    pub fn random(random: &mut Random) -> Self {
        Self {
            min_match: [16, 20, 25, 30, 50][random.below(5)],
            normalization: random.pick_static(&["plain", "plain", "none", "aggressive"]),
        }
    }

    pub fn characters(&self, text: &str) -> Vec<char> {
        let normalization: Normalization = self.normalization.parse().expect("a normalization");
        normalization.normalize(text, &mut || ()).expect("memory").chars().collect()
    }
}

/// The number of characters of `passage` that lie in windows that `body` has.
pub fn covered(passage: &[char], body: &[char], min_match: usize) -> usize {
    let length = min_match.min(passage.len());
    if length == 0 {
        return 0;
    }
    let windows: HashSet<&[char]> = body.windows(length).collect();
    let mut covered = vec![false; passage.len()];
    for (at, window) in passage.windows(length).enumerate() {
        if windows.contains(window) {
            covered[at..at + length].fill(true);
        }
    }
    covered.iter().filter(|covered| **covered).count()
}

/// True if `body` has enough of `passage`. Nothing has an empty one.
pub fn contains(passage: &[char], body: &[char], min_match: usize, coverage: f64) -> bool {
    let least = needed(coverage, passage.len());
    !passage.is_empty() && covered(passage, body, min_match) >= least
}

/// An index of passages.
#[derive(Clone, Debug)]
pub struct PassageIndex {
    pub of: Of,
    pub cut: Cut,
    pub scopes: Vec<usize>,
    /// After how many steps of the making of the table it is made.
    pub gap: usize,
    pub sql: String,
}
