//! Passages that many texts have, made of windows in order.

use std::ops::Range;

use crate::error::Error;
use crate::memory;

/// Neighbouring characters of a text that enough documents have.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CommonRun {
    /// The characters, as the text is normalised.
    pub range: Range<usize>,
    /// The least number of documents that have any window of it.
    pub documents: u32,
}

/// Joins windows to runs. A run ends where the number of documents becomes half or double of what it was: there
/// another passage begins.
pub struct CommonRuns {
    min_match: usize,
    runs: Vec<CommonRun>,
    before: u32,
}

impl CommonRuns {
    /// No window yet.
    #[must_use]
    pub fn new(min_match: usize) -> Self {
        Self { min_match, runs: Vec::new(), before: 0 }
    }

    /// Adds the window at a place, behind those before, which so many documents have.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn push(&mut self, place: usize, documents: u32) -> Result<(), Error> {
        let before = std::mem::replace(&mut self.before, documents);
        let is_alike = documents < before.saturating_mul(2) && before < documents.saturating_mul(2);
        match self.runs.last_mut() {
            Some(last) if is_alike && last.range.end == place + self.min_match - 1 => {
                last.range.end += 1;
                last.documents = last.documents.min(documents);
                Ok(())
            }
            _ => {
                let range = place..place + self.min_match;
                memory::push(&mut self.runs, CommonRun { range, documents })
            }
        }
    }

    /// The runs, in order.
    #[must_use]
    pub fn finish(self) -> Vec<CommonRun> {
        self.runs
    }
}

/// A range of the bytes of a text cut back to where words begin and end: glued words would be new ones. `None` if
/// nothing is left.
#[must_use]
pub fn whole_words(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let Range { mut start, mut end } = range;
    if start >= end {
        return None;
    }
    if is_word(text[..start].chars().next_back()) {
        start += text[start..end].find(|c: char| !c.is_alphanumeric()).unwrap_or(end - start);
    }
    if is_word(text[end..].chars().next()) {
        let last = text[start..end].char_indices().rfind(|(_, c)| !c.is_alphanumeric());
        end = last.map_or(start, |(at, c)| start + at + c.len_utf8());
    }
    (start < end).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole() {
        let text = "one two three";
        assert_eq!(whole_words(text, 1..13), Some(3..13));
        assert_eq!(whole_words(text, 0..6), Some(0..4));
        assert_eq!(whole_words(text, 5..6), None);
        assert_eq!(whole_words(text, 4..4), None);
    }

    #[test]
    fn a_run_ends_where_others_have_the_next_window() {
        let mut runs = CommonRuns::new(10);
        for (place, documents) in [(3, 5), (4, 6), (5, 12), (6, 12), (9, 12)] {
            runs.push(place, documents).unwrap();
        }
        let run = |range, documents| CommonRun { range, documents };
        assert_eq!(runs.finish(), [run(3..14, 5), run(5..16, 12), run(9..19, 12)]);
    }
}
