//! Passages that many texts have, made of consecutive windows.

use std::cmp::Reverse;
use std::ops::Range;

use crate::{Result, memory};

/// Consecutive characters of a text that enough documents have.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CommonRun {
    /// The characters, in the normalised text.
    pub range: Range<usize>,
    /// Minimum number of documents over its windows.
    pub documents: u32,
    /// Number of the window with the fewest documents.
    pub rarest: u32,
    /// True if it has a window that is in no earlier text, so no earlier text has all of the run.
    pub is_first: bool,
}

/// Joins the windows of each text to runs, and lists each run once. A run ends where the number of documents halves or
/// doubles: another passage begins there.
pub struct CommonRuns {
    min_match: usize,
    /// The windows of all texts, by number.
    windows: Vec<SeenWindow>,
    /// The runs of the current text, in order, each with its first window's position in `numbers`.
    runs: Vec<(CommonRun, usize)>,
    /// The windows of these runs, in order.
    numbers: Vec<u32>,
    before: u32,
    has_unlisted: bool,
}

#[derive(Clone, Copy, Default)]
struct SeenWindow {
    is_seen: bool,
    /// True if it lies in a listed run.
    is_listed: bool,
}

impl CommonRuns {
    /// No texts yet; texts have `windows` different windows of `min_match` characters.
    pub fn new(min_match: usize, windows: usize) -> Result<Self> {
        Ok(Self {
            min_match,
            windows: memory::filled(SeenWindow::default(), windows)?,
            runs: Vec::new(),
            numbers: Vec::new(),
            before: 0,
            has_unlisted: false,
        })
    }

    /// Adds a window of the current text, which `documents` documents have. It starts at `place`, after the previous
    /// ones.
    pub fn push(&mut self, place: usize, number: u32, documents: u32) -> Result<()> {
        let window = &mut self.windows[number as usize];
        let is_new = !std::mem::replace(&mut window.is_seen, true);
        self.has_unlisted |= !window.is_listed;
        let before = std::mem::replace(&mut self.before, documents);
        let is_alike = documents < before.saturating_mul(2) && before < documents.saturating_mul(2);
        match self.runs.last_mut() {
            Some((last, _)) if is_alike && last.range.end == place + self.min_match - 1 => {
                last.range.end += 1;
                last.is_first |= is_new;
                if documents < last.documents {
                    (last.documents, last.rarest) = (documents, number);
                }
            }
            _ => {
                let range = place..place + self.min_match;
                let run = CommonRun { range, documents, rarest: number, is_first: is_new };
                memory::push(&mut self.runs, (run, self.numbers.len()))?;
            }
        }
        memory::push(&mut self.numbers, number)
    }

    /// Ends the current text. Returns its runs that are worth listing, in order. A run is listed if `min_match` of its
    /// characters are not in listed runs, and runs in most documents are considered first. So text that some documents
    /// happen to have next to a passage is not listed.
    pub fn unlisted(&mut self) -> Result<Vec<CommonRun>> {
        let mut listed = Vec::new();
        if std::mem::take(&mut self.has_unlisted) {
            let mut order = memory::collect(0..self.runs.len())?;
            order.sort_unstable_by_key(|run| (Reverse(self.runs[*run].0.documents), *run));
            for run in order {
                if self.unlisted_characters(run) >= self.min_match {
                    let (run, first) = &self.runs[run];
                    let windows = run.range.len() - self.min_match + 1;
                    for number in &self.numbers[*first..*first + windows] {
                        self.windows[*number as usize].is_listed = true;
                    }
                    memory::push(&mut listed, run.clone())?;
                }
            }
            listed.sort_unstable_by_key(|run| run.range.start);
        }
        (self.runs, self.numbers, self.before) = (Vec::new(), Vec::new(), 0);
        Ok(listed)
    }

    /// Number of characters in a run of the current text that lie in no listed window.
    fn unlisted_characters(&self, run: usize) -> usize {
        let Range { start, end } = self.runs[run].0.range;
        let near = self.runs.partition_point(|(other, _)| other.range.end <= start);
        let (mut unlisted, mut done) = (end - start, start);
        for (other, first) in &self.runs[near..] {
            let own = &other.range;
            if own.start >= end {
                break;
            }
            let least = own.start.max((start + 1).saturating_sub(self.min_match));
            for place in least..end.min(own.end - self.min_match + 1) {
                let number = self.numbers[first + place - own.start];
                if self.windows[number as usize].is_listed {
                    let to = end.min(place + self.min_match);
                    unlisted -= to - done.max(place);
                    done = to;
                }
            }
        }
        unlisted
    }
}

/// Shrinks a byte range of a text to whole words, since parts of words would be new words. `None` if nothing is left.
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
