//! Searches for a passage in one text after another.

use std::ops::Range;

use super::characters::{Characters, common};
use super::hashes::{BLOCK, Scratch, each_hash, hash};
use super::runs::{Classes, Filter, covered, runs_of};
use crate::simd::Level;
use crate::{Check, Error, Result, memory};

/// Length from which a passage has no table, which takes up to 34 bytes for each character. Such a passage is compared
/// with each text, which is slower for many texts.
const LONG: usize = 1 << 19;

/// A passage, prepared to find out how much of it other texts contain.
pub struct Sought {
    passage: Vec<u32>,
    /// Length of a window; a passage shorter than `min_match` is a single window.
    t: usize,
    /// `None` for a long passage.
    table: Option<WindowTable>,
}

impl Sought {
    /// Prepares a passage.
    pub fn new(passage: Characters, min_match: usize, check: Check) -> Result<Self> {
        let passage = passage.into_codes();
        let t = min_match.min(passage.len());
        let is_long = passage.len() > LONG;
        let table = if is_long { None } else { Some(WindowTable::new(&passage, t, check)?) };
        Ok(Self { passage, t, table })
    }

    /// True if the passage has no characters.
    pub fn is_empty(&self) -> bool {
        self.passage.is_empty()
    }

    /// Number of characters of the passage that lie in windows of `body`.
    pub fn covered(&mut self, body: &Characters, check: Check) -> Result<usize> {
        let Self { passage, t, table } = self;
        if *t == 0 || body.len() < *t {
            return Ok(0);
        }
        match table {
            Some(table) => Ok(table.covered(passage, body.codes(), check)),
            None => Ok(covered(&runs_of(passage, body.codes(), *t, check)?)),
        }
    }
}

/// The windows of a passage: a filter of their grams, and classes of equal windows.
struct WindowTable {
    t: usize,
    k: usize,
    filter: Filter,
    classes: Classes,
    class: Vec<u32>,
    /// The classes that the current text has.
    seen: Vec<bool>,
    scratch: Scratch,
}

impl WindowTable {
    fn new(text: &[u32], t: usize, check: Check) -> Result<Self> {
        let k = t.div_ceil(2).clamp(1, 16);
        let grams = 0..(text.len() + 1).saturating_sub(k);
        let windows = if t == 0 { 0 } else { text.len() - t + 1 };
        let mut scratch = Scratch::new(Level::best())?;
        let mut filter = Filter::new((text.len() * 32).next_power_of_two().max(1024))?;
        each_hash(text, k, grams, &mut scratch, check, |_, hash| {
            filter.insert(hash);
            Ok::<_, Error>(())
        })?;
        let mut classes = Classes::new(windows)?;
        let mut class = memory::with_capacity(windows)?;
        each_hash(text, t, 0..windows, &mut scratch, check, |i, hash| {
            let equal = |first: usize| text[first..first + t] == text[i..i + t];
            class.push(classes.add(hash, i, equal));
            Ok::<_, Error>(())
        })?;
        let seen = memory::filled(false, classes.first.len())?;
        Ok(Self { t, k, filter, classes, class, seen, scratch })
    }

    /// Number of characters of `passage` that lie in windows of `body`.
    fn covered(&mut self, passage: &[u32], body: &[u32], check: Check) -> usize {
        let t = self.t;
        self.see(passage, body, check);
        let (mut covered, mut end) = (0, 0);
        for (from, class) in self.class.iter().enumerate() {
            if self.seen[*class as usize] {
                covered += from + t - end.max(from);
                end = from + t;
            }
        }
        covered
    }

    /// Finds the classes of the passage `a` that the text `b` has.
    fn see(&mut self, a: &[u32], b: &[u32], check: Check) {
        self.seen.fill(false);
        let (t, k) = (self.t, self.k);
        let (stride, windows) = (t - k + 1, b.len() - t + 1);
        let mut left = self.classes.first.len();
        // Consecutive windows to look up; windows below `done` are decided.
        let (mut done, mut region) = (0, 0..0);
        // Each window of `b` has exactly one gram at a multiple of the stride.
        for (n, q) in (0..=b.len() - k).step_by(stride).enumerate() {
            if n % BLOCK == 0 {
                check();
            }
            if !self.filter.has(hash(&b[q..q + k])) {
                continue;
            }
            let (from, to) = (q.saturating_sub(t - k).max(done), (q + 1).min(windows));
            if from > region.end || region.len() >= 4 * BLOCK {
                self.look_up(a, b, region, &mut left, check);
                if left == 0 {
                    return;
                }
                region = from..from;
            }
            if region.is_empty() {
                region = from..from;
            }
            region.end = to.max(region.end);
            done = to.max(done);
        }
        self.look_up(a, b, region, &mut left, check);
    }

    /// Marks the classes of the passage `a` that windows in a region of `b` have.
    fn look_up(&mut self, a: &[u32], b: &[u32], region: Range<usize>, left: &mut usize, check: Check) {
        let Self { t, classes, class, seen, scratch, .. } = self;
        let t = *t;
        let (end, mut at) = (region.end + t - 1, region.start);
        while at < region.end {
            check();
            let (first, n) = (at, BLOCK.min(region.end - at));
            at += n;
            // After a common window, the next ones are usually common too: comparing is faster than looking up.
            let mut known = first;
            for (j, &hash) in (first..).zip(scratch.hashes(b, first, n, t)) {
                let equal = |first: usize| a[first..first + t] == b[j..j + t];
                if j >= known
                    && let Some(found) = classes.find(hash, equal)
                {
                    let first = classes.first[found] as usize;
                    let more = common(&a[first + t..], &b[j + t..end]);
                    known = j + more + 1;
                    for class in &class[first..=first + more] {
                        *left -= usize::from(!std::mem::replace(&mut seen[*class as usize], true));
                    }
                }
            }
            at = at.max(known);
        }
    }
}
