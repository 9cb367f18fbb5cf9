//! A passage that is sought in one text after another.

use std::ops::Range;

use super::characters::{Characters, Units};
use super::characters::{CodePoint, common, same};
use super::hashes::{BLOCK, Scratch, each_hash, hash};
use super::runs::{Classes, Filter};
use crate::error::Error;
use crate::limits::Check;
use crate::memory;
use crate::simd::Level;

/// A passage and how much of it must be in a text: its grams as a filter, its windows as classes
/// of equal ones.
pub struct Sought<'a> {
    passage: Characters<'a>,
    /// The length of a window; a passage that is shorter than `min_match` is one.
    t: usize,
    k: usize,
    filter: Filter,
    classes: Classes,
    /// The class of each window.
    class: Vec<u32>,
    seen: Vec<bool>,
    scratch: Scratch,
}

impl<'a> Sought<'a> {
    /// Prepares a passage.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(passage: Characters<'a>, min_match: usize, check: Check) -> Result<Self, Error> {
        let t = min_match.min(passage.len());
        let k = t.div_ceil(2).clamp(1, 16);
        let windows = if t == 0 { 0 } else { passage.len() - t + 1 };
        let mut scratch = Scratch::new(Level::best())?;
        let mut filter = Filter::new((passage.len() * 16).next_power_of_two().max(1024))?;
        let mut classes = Classes::new(windows)?;
        let mut class = memory::with_capacity(windows)?;
        if t > 0 {
            let make = Making { t, k, scratch: &mut scratch, filter: &mut filter };
            match passage.units() {
                Units::Bytes(text) => make.of(text, &mut classes, &mut class, check)?,
                Units::Wide(text) => make.of(text, &mut classes, &mut class, check)?,
            }
        }
        let seen = memory::filled(false, classes.first.len())?;
        Ok(Self { passage, t, k, filter, classes, class, seen, scratch })
    }

    /// The passage.
    #[must_use]
    pub fn passage(&self) -> &Characters<'a> {
        &self.passage
    }

    /// The number of characters of the passage that lie in windows that `body` has.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn covered(&mut self, body: &Characters, check: Check) -> Result<usize, Error> {
        if self.t == 0 || body.len() < self.t {
            return Ok(0);
        }
        let Self { passage, t, k, filter, classes, class, seen, scratch } = self;
        seen.fill(false);
        let mut look = Look { t: *t, k: *k, filter, classes, class, seen, scratch };
        match (passage.units(), body.units()) {
            (Units::Bytes(a), Units::Bytes(b)) => look.at(a, b, check)?,
            (Units::Bytes(a), Units::Wide(b)) => look.at(a, b, check)?,
            (Units::Wide(a), Units::Bytes(b)) => look.at(a, b, check)?,
            (Units::Wide(a), Units::Wide(b)) => look.at(a, b, check)?,
        }
        let (mut covered, mut end) = (0, 0);
        for (from, class) in class.iter().enumerate() {
            if seen[*class as usize] {
                covered += from + *t - end.max(from);
                end = from + *t;
            }
        }
        Ok(covered)
    }
}

/// The tables of a passage in the making.
struct Making<'a> {
    t: usize,
    k: usize,
    scratch: &'a mut Scratch,
    filter: &'a mut Filter,
}

impl Making<'_> {
    fn of<U: CodePoint>(
        self,
        text: &[U],
        classes: &mut Classes,
        class: &mut Vec<u32>,
        check: Check,
    ) -> Result<(), Error> {
        let Self { t, k, scratch, filter } = self;
        let grams = 0..text.len() - k + 1;
        each_hash(text, k, grams, scratch, check, |_, hash| {
            filter.insert(hash);
            Ok(())
        })?;
        each_hash(text, t, 0..text.len() - t + 1, scratch, check, |i, hash| {
            class
                .push(classes.add(hash, i, |first| same(&text[first..first + t], &text[i..i + t])));
            Ok(())
        })
    }
}

/// A look at one text.
struct Look<'a> {
    t: usize,
    k: usize,
    filter: &'a Filter,
    classes: &'a Classes,
    class: &'a [u32],
    seen: &'a mut [bool],
    scratch: &'a mut Scratch,
}

impl Look<'_> {
    /// Marks the classes of `a` that `b` has.
    fn at<U: CodePoint, V: CodePoint>(
        &mut self,
        a: &[U],
        b: &[V],
        check: Check,
    ) -> Result<(), Error> {
        let Self { t, k, filter, .. } = *self;
        let (stride, windows) = (t - k + 1, b.len() - t + 1);
        let mut left = self.classes.first.len();
        // Neighbouring windows to be looked up; those below `done` are, or need not be.
        let (mut done, mut region) = (0, 0..0);
        // Each window of `b` has exactly one gram at a multiple of the stride.
        for (n, q) in (0..=b.len() - k).step_by(stride).enumerate() {
            if n % BLOCK == 0 {
                check();
            }
            if !filter.has(hash(&b[q..q + k])) {
                continue;
            }
            let (from, to) = (q.saturating_sub(t - k).max(done), (q + 1).min(windows));
            if from > region.end || region.len() >= 4 * BLOCK {
                self.windows(a, b, region, &mut left, check)?;
                if left == 0 {
                    return Ok(());
                }
                region = from..from;
            }
            if region.is_empty() {
                region = from..from;
            }
            region.end = to.max(region.end);
            done = to.max(done);
        }
        self.windows(a, b, region, &mut left, check)
    }

    fn windows<U: CodePoint, V: CodePoint>(
        &mut self,
        a: &[U],
        b: &[V],
        region: Range<usize>,
        left: &mut usize,
        check: Check,
    ) -> Result<(), Error> {
        let Self { t, classes, class, .. } = *self;
        let (seen, scratch) = (&mut *self.seen, &mut *self.scratch);
        // Behind a window that both have, most have the next ones, too: comparing is quicker than looking up.
        let (mut known, end) = (region.start, region.end + t - 1);
        each_hash(b, t, region, scratch, check, |j, hash| {
            let equal = |first: usize| same(&a[first..first + t], &b[j..j + t]);
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
            Ok(())
        })
    }
}
