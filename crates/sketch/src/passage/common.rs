//! Passages that many texts have, made of windows in order.

use std::cmp::Reverse;
use std::ops::Range;

use crate::{Result, memory};

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
    pub fn new(min_match: usize) -> Self {
        Self { min_match, runs: Vec::new(), before: 0, listed: Vec::new() }
    }

    /// Adds the window at a place, behind those before, which so many documents have.
    pub fn push(&mut self, place: usize, documents: u32) -> Result<()> {
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
    pub fn mark(&mut self, place: usize) -> Result<()> {
        let before = place.max(self.listed.len());
        memory::resize(&mut self.listed, before, false)?;
        memory::resize(&mut self.listed, place + self.min_match, true)
    }

    /// The runs, in order.
    pub fn finish(self) -> Vec<CommonRun> {
        self.runs
    }

    /// The runs that are worth to be listed, in order: those that most documents have first, each if it has `min_match`
    /// characters that are not listed yet. So what some documents happen to have next to a passage is not listed.
    pub fn unlisted(self) -> Result<Vec<CommonRun>> {
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
