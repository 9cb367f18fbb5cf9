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
    /// The number of a window that no more documents have.
    pub rarest: u32,
    /// True if it has a window that no earlier text has, so no earlier text has all of the run.
    pub is_first: bool,
}

/// Joins the windows of one text after another to runs, and lists each run once. A run ends where the number of
/// documents becomes half or double of what it was: there another passage begins.
pub struct CommonRuns {
    min_match: usize,
    /// The windows of all texts, by number.
    windows: Vec<SeenWindow>,
    /// The runs of the text at hand, in order, and the number of the first window of each in `numbers`.
    runs: Vec<(CommonRun, usize)>,
    /// The windows of these runs, in order.
    numbers: Vec<u32>,
    before: u32,
    has_unlisted: bool,
}

#[derive(Clone, Copy, Default)]
struct SeenWindow {
    is_seen: bool,
    /// True if it lies in a run that is listed.
    is_listed: bool,
}

impl CommonRuns {
    /// No text yet; texts have `windows` different windows of `min_match` characters.
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

    /// Adds the window `number` of the text at hand, which `documents` have. It is at `place`, behind those before.
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

    /// Ends the text at hand. Returns the runs of it that are worth to be listed, in order: those that most documents
    /// have first, each if `min_match` of its characters are in no run that is listed already. So what some documents
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

    /// The number of characters of a run of the text at hand that lie in no window that is listed.
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
