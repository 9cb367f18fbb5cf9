//! Winnowing (Schleimer, Wilkerson and Aiken, SIGMOD 2003): keeps the least hash of the grams in each window of a text.
//! Two texts with a common window share its minimum.

use super::characters::Characters;
use super::hashes::{BLOCK, Scratch, each_hash};
use crate::hash::mix::fmix64;
use crate::simd::Level;
use crate::{Check, Error, Result, memory};

/// Length of the hashed grams for windows of `min_match` characters: about a third, so that few minima are kept and
/// they are rare. Stored entries of indexes depend on it.
pub fn gram_length(min_match: usize) -> usize {
    match min_match {
        0..24 => min_match.div_ceil(2).max(1),
        24..48 => 8,
        48..96 => 16,
        96.. => 32,
    }
}

/// The stored part of a minimum. Minima are near zero, and an index keeps the upper bits, so the finaliser spreads them
/// over all bits.
#[inline(always)]
fn entry(minimum: u64) -> u64 {
    fmix64(minimum)
}

/// Makes fingerprints of texts.
pub struct Fingerprints {
    scratch: Scratch,
}

impl Fingerprints {
    /// Uses the best instructions of the machine.
    pub fn new() -> Result<Self> {
        Self::with_level(Level::best())
    }

    /// Uses these instructions.
    pub fn with_level(level: Level) -> Result<Self> {
        Ok(Self { scratch: Scratch::new(level)? })
    }

    /// Appends the fingerprint of each window of `min_match` characters to `out`; consecutive equal ones count once. A
    /// shorter text has none.
    pub fn append(&mut self, text: &Characters, min_match: usize, out: &mut Vec<u64>, check: Check) -> Result<()> {
        self.each(text, min_match, check, &mut |stretch| memory::push(out, stretch.entry))
    }

    /// The fingerprints of a text with their windows: the first window, and the one after the last, of consecutive
    /// windows with the same fingerprint.
    pub fn stretches(&mut self, text: &Characters, min_match: usize, check: Check) -> Result<Vec<Stretch>> {
        let mut stretches = Vec::new();
        self.each(text, min_match, check, &mut |stretch| memory::push(&mut stretches, stretch))?;
        Ok(stretches)
    }

    /// Calls `each` with the position and hash of every window of `min_match` characters whose fingerprint `wanted`
    /// accepts, in order.
    pub fn windows<E: From<Error>>(
        &mut self,
        text: &Characters,
        min_match: usize,
        wanted: impl Fn(u64) -> bool,
        check: Check,
        each: &mut dyn FnMut(usize, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let stretches = self.stretches(text, min_match, check)?;
        let mut wanted = stretches.iter().filter(|stretch| wanted(stretch.entry)).peekable();
        while let Some(first) = wanted.next() {
            let mut windows = first.from..first.to;
            while let Some(next) = wanted.next_if(|next| next.from == windows.end) {
                windows.end = next.to;
            }
            each_hash(text.codes(), min_match, windows, &mut self.scratch, check, &mut *each)?;
        }
        Ok(())
    }

    /// Calls `each` with the fingerprints of a text and their windows, in order.
    fn each(
        &mut self,
        text: &Characters,
        t: usize,
        check: Check,
        each: &mut dyn FnMut(Stretch) -> Result<()>,
    ) -> Result<()> {
        let windows = (text.len() + 1).saturating_sub(t);
        if t == 0 || windows == 0 {
            return Ok(());
        }
        // The current minimum, and its first window.
        let (mut last, mut from) = (None, 0);
        let stretch = |minimum, from, to| Stretch { entry: entry(minimum), from, to };
        for start in (0..windows).step_by(BLOCK) {
            check();
            let n = BLOCK.min(windows - start);
            let minima = self.scratch.minima(text.codes(), start, n, t, gram_length(t));
            for (at, &minimum) in (start..).zip(minima) {
                match last {
                    Some(last) if last == minimum => continue,
                    Some(last) => each(stretch(last, from, at))?,
                    None => (),
                }
                (last, from) = (Some(minimum), at);
            }
        }
        last.map_or(Ok(()), |last| each(stretch(last, from, windows)))
    }
}

/// Consecutive windows of a text with the same fingerprint.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Stretch {
    /// The fingerprint.
    pub entry: u64,
    /// The first of the windows.
    pub from: usize,
    /// The window after the last.
    pub to: usize,
}
