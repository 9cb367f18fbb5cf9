//! Passages that many texts have, made of windows in order.

use std::cmp::Reverse;
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
    /// The characters of windows that are listed, as far as there are any.
    listed: Vec<bool>,
}

impl CommonRuns {
    /// No window yet.
    #[must_use]
    pub fn new(min_match: usize) -> Self {
        Self { min_match, runs: Vec::new(), before: 0, listed: Vec::new() }
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

    /// Marks the window at a place, behind those before, as one that is listed.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn mark(&mut self, place: usize) -> Result<(), Error> {
        let before = place.max(self.listed.len());
        memory::resize(&mut self.listed, before, false)?;
        memory::resize(&mut self.listed, place + self.min_match, true)
    }

    /// The runs, in order.
    #[must_use]
    pub fn finish(self) -> Vec<CommonRun> {
        self.runs
    }

    /// The runs that are worth to be listed, in order: those that most documents have first, each if it has `min_match`
    /// characters that are not listed yet. So what some documents happen to have next to a passage is not listed.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn unlisted(self) -> Result<Vec<CommonRun>, Error> {
        let Self { min_match, mut runs, mut listed, .. } = self;
        let end = runs.last().map_or(0, |last| last.range.end);
        memory::resize(&mut listed, end, false)?;
        runs.sort_unstable_by_key(|run| (Reverse(run.documents), run.range.start));
        runs.retain(|run| {
            let own = &mut listed[run.range.clone()];
            let is_new = own.iter().filter(|listed| !**listed).count() >= min_match;
            if is_new {
                own.fill(true);
            }
            is_new
        });
        runs.sort_unstable_by_key(|run| run.range.start);
        Ok(runs)
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

    #[test]
    fn edges_of_a_passage_are_not_listed() {
        // Few documents go on as this text does, and before it some begin in the same way.
        let mut runs = CommonRuns::new(10);
        let counts =
            [(3, 40), (4, 40), (5, 500), (30, 500), (31, 100), (32, 40), (45, 40), (46, 40)];
        let mut before = 0;
        for (end, documents) in counts {
            (before..end).for_each(|place| runs.push(place, documents).unwrap());
            before = end;
        }
        let run = |range, documents| CommonRun { range, documents };
        let all = [run(0..13, 40), run(4..39, 500), run(30..40, 100), run(31..55, 40)];
        assert_eq!(runs.runs, all);
        assert_eq!(runs.unlisted().unwrap(), [run(4..39, 500), run(31..55, 40)]);
        // What is listed already is not listed again, unless it is part of a longer one.
        let again = |marked: std::ops::Range<usize>| {
            let mut runs = CommonRuns::new(10);
            marked.for_each(|place| runs.mark(place).unwrap());
            (0..30).for_each(|place| runs.push(place, 7).unwrap());
            runs.unlisted().unwrap()
        };
        assert_eq!(again(0..30), []);
        assert_eq!(again(1..22), []);
        assert_eq!(again(0..20), [run(0..39, 7)]);
    }
}
