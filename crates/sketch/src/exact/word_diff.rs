//! The word-by-word difference of two texts: words that only one of them has, and words of both, in order.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use ahash::RandomState;
use imara_diff::{Algorithm, Diff, Token};
use unicode_segmentation::UnicodeSegmentation;

use crate::hash::mix::GOLDEN;
use crate::hash::sort_by;
use crate::limits::checked;
use crate::text::Normalization;
use crate::{Check, Error, MAX_DIFF_WORDS, Result, memory};

/// Number of words between two calls of `check`.
const STRETCH: usize = 4096;

/// The texts that have a part of a [`word_diff`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FoundIn {
    /// Only the first text.
    A,
    /// Only the second text.
    B,
    /// Both; the part is as in the first text.
    Both,
}

impl FoundIn {
    /// Its name: `a`, `b` or `both`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
            Self::Both => "both",
        }
    }
}

/// Calls `visit` with the parts of two texts in order, each with the texts that have it. Together, the parts of `A` and
/// `Both` are the words of `a` with the text between them. The parts of `B` and the counterparts of `Both` are `b`.
///
/// Two words are equal if they are equal after `normalization`. A word is a segment of Unicode Standard Annex 29,
/// including punctuation, with the white space after it. The comparison is git's histogram diff, which prefers the
/// changes that people recognise over the least number of changes. Long texts are first cut at words that are unique in
/// both.
///
/// # Errors
/// [`Error::MarkupOfWords`] for a step that depends on more than words; [`Error::DiffWords`] for a text of more than
/// [`MAX_DIFF_WORDS`] words.
pub fn word_diff<E: From<Error>>(
    normalization: &Normalization,
    a: &str,
    b: &str,
    check: Check,
    visit: &mut dyn FnMut(FoundIn, &str) -> Result<(), E>,
) -> Result<(), E> {
    if normalization.html {
        return Err(Error::MarkupOfWords.into());
    }
    let mut vocabulary =
        Vocabulary { normalization, of_written: HashMap::default(), of_normalized: HashMap::default() };
    let words_a = vocabulary.words(a, check)?;
    let words_b = vocabulary.words(b, check)?;
    let distinct = vocabulary.of_normalized.len();
    let changes = changes(&words_a.tokens, &words_b.tokens, distinct, check)?;
    let mut part = |found_in, text: &str, words: &WordTokens, range: Range<usize>| {
        check();
        if range.is_empty() {
            return Ok(());
        }
        visit(found_in, &text[words.starts[range.start]..words.starts[range.end]])
    };
    let mut both = 0;
    for (only_a, only_b) in changes {
        part(FoundIn::Both, a, &words_a, both..only_a.start)?;
        both = only_a.end;
        part(FoundIn::A, a, &words_a, only_a)?;
        part(FoundIn::B, b, &words_b, only_b)?;
    }
    part(FoundIn::Both, a, &words_a, both..words_a.tokens.len())
}

struct WordTokens {
    tokens: Vec<u32>,
    /// The start of each word, after the previous one's white space. The end of the text comes last.
    starts: Vec<usize>,
}

/// Numbers for words, equal for equal words.
struct Vocabulary<'a> {
    normalization: &'a Normalization,
    /// By the original spelling, so that each is normalised once.
    of_written: HashMap<&'a str, u32, RandomState>,
    of_normalized: HashMap<Cow<'a, str>, u32, RandomState>,
}

impl<'a> Vocabulary<'a> {
    fn words(&mut self, text: &'a str, check: Check) -> Result<WordTokens> {
        let mut words = WordTokens { tokens: Vec::new(), starts: Vec::new() };
        for (place, piece) in text.split_word_bound_indices() {
            if words.tokens.len().is_multiple_of(STRETCH) {
                check();
            }
            if piece.trim().is_empty() && !words.tokens.is_empty() {
                continue;
            }
            if words.tokens.len() == MAX_DIFF_WORDS {
                return Err(Error::DiffWords);
            }
            memory::push(&mut words.tokens, self.number(piece, check)?)?;
            memory::push(&mut words.starts, place)?;
        }
        memory::push(&mut words.starts, text.len())?;
        Ok(words)
    }

    fn number(&mut self, word: &'a str, check: Check) -> Result<u32> {
        if let Some(number) = self.of_written.get(word) {
            return Ok(*number);
        }
        let next = self.of_normalized.len() as u32;
        let refused = |_| memory::refused::<(&str, u32)>(next as usize + 1);
        self.of_written.try_reserve(1).map_err(refused)?;
        self.of_normalized.try_reserve(1).map_err(refused)?;
        let number = match self.of_normalized.entry(self.normalization.normalize(word, check)?) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => *new.insert(next),
        };
        self.of_written.insert(word, number);
        Ok(number)
    }
}

/// Maximum number of tokens of both sequences for a histogram diff.
const PIECE: usize = 2048;

/// Lengths of windows that are tried as anchors.
const WIDTHS: [usize; 4] = [1, 4, 16, 64];

/// Maximum depth of cutting at anchors again between anchors.
const DEPTH: usize = 4;

/// A range of each of two sequences.
type Ranges = (Range<usize>, Range<usize>);

/// Finds the ranges where two sequences of tokens below `distinct` differ, in order, by a bounded amount of work.
/// Between them both have the same tokens.
///
/// Short sequences are compared by git's histogram diff, which takes quadratic time at worst, recurses as deep as they
/// are long, and cannot be interrupted. Longer ones are first cut at anchors: windows of tokens that occur once in
/// both, as many of them as are in the same order. Without anchors they are cut at regular distances. So the result
/// depends only on the sequences.
fn changes(a: &[u32], b: &[u32], distinct: usize, check: Check) -> Result<Vec<Ranges>> {
    let mut comparison = TokenComparison {
        a,
        b,
        changes: Vec::new(),
        numbers: memory::filled(NONE, distinct)?,
        diff: Diff::default(),
        check,
    };
    comparison.compare(0..a.len(), 0..b.len(), DEPTH)?;
    Ok(comparison.changes)
}

/// Stands for no number.
const NONE: u32 = u32::MAX;

struct TokenComparison<'a> {
    a: &'a [u32],
    b: &'a [u32],
    changes: Vec<Ranges>,
    /// The tokens of the current piece, by number.
    numbers: Vec<u32>,
    diff: Diff,
    check: Check<'a>,
}

impl TokenComparison<'_> {
    /// Compares two ranges, which are cut at anchors up to `depth` times.
    fn compare(&mut self, a: Range<usize>, b: Range<usize>, depth: usize) -> Result<()> {
        (self.check)();
        let (tokens_a, tokens_b) = (&self.a[a.clone()], &self.b[b.clone()]);
        let same = |(a, b): &(&u32, &u32)| a == b;
        let before = tokens_a.iter().zip(tokens_b).take_while(same).count();
        let (tokens_a, tokens_b) = (&tokens_a[before..], &tokens_b[before..]);
        let behind = tokens_a.iter().rev().zip(tokens_b.iter().rev()).take_while(same).count();
        let (a, b) = (a.start + before..a.end - behind, b.start + before..b.end - behind);
        if a.is_empty() || b.is_empty() || a.len() + b.len() <= PIECE {
            return self.piece(a, b);
        }
        let (width, anchors) = match depth {
            0 => (0, Vec::new()),
            _ => self.anchors(&a, &b)?,
        };
        if anchors.is_empty() {
            return self.even_pieces(&a, &b);
        }
        let (mut from_a, mut from_b) = (a.start, b.start);
        for (at_a, at_b) in anchors {
            // Windows may overlap.
            if at_a >= from_a && at_b >= from_b {
                self.compare(from_a..at_a, from_b..at_b, depth - 1)?;
                (from_a, from_b) = (at_a + width, at_b + width);
            }
        }
        self.compare(from_a..a.end, from_b..b.end, depth - 1)
    }

    /// Compares ranges without anchors, cut at regular distances.
    fn even_pieces(&mut self, a: &Range<usize>, b: &Range<usize>) -> Result<()> {
        let count = (a.len() + b.len()).div_ceil(PIECE);
        let part = |of: &Range<usize>, n| of.start + of.len() * n / count..of.start + of.len() * (n + 1) / count;
        (0..count).try_for_each(|n| self.piece(part(a, n), part(b, n)))
    }

    /// Compares two ranges that are both short, or one of them empty.
    fn piece(&mut self, a: Range<usize>, b: Range<usize>) -> Result<()> {
        if a.is_empty() || b.is_empty() {
            return self.change(a, b);
        }
        (self.check)();
        let (tokens_a, tokens_b) = (&self.a[a.clone()], &self.b[b.clone()]);
        let (numbers, mut next) = (&mut self.numbers, 0);
        let mut number = |token: &u32| {
            let number = &mut numbers[*token as usize];
            if *number == NONE {
                *number = next;
                next += 1;
            }
            Token(*number)
        };
        let before = memory::collect(tokens_a.iter().map(&mut number))?;
        let after = memory::collect(tokens_b.iter().map(&mut number))?;
        self.diff.compute_with(Algorithm::Histogram, &before, &after, next);
        for token in tokens_a.iter().chain(tokens_b) {
            self.numbers[*token as usize] = NONE;
        }
        for hunk in memory::collect(self.diff.hunks())? {
            let part =
                |of: &Range<usize>, part: Range<u32>| of.start + part.start as usize..of.start + part.end as usize;
            self.change(part(&a, hunk.before), part(&b, hunk.after))?;
        }
        Ok(())
    }

    /// Records that two ranges differ. They lie after all earlier ones, or are adjacent to the last.
    fn change(&mut self, a: Range<usize>, b: Range<usize>) -> Result<()> {
        match self.changes.last_mut() {
            Some((last_a, last_b)) if last_a.end == a.start && last_b.end == b.start => {
                (last_a.end, last_b.end) = (a.end, b.end);
                Ok(())
            }
            _ if a.is_empty() && b.is_empty() => Ok(()),
            _ => memory::push(&mut self.changes, (a, b)),
        }
    }

    /// The anchors of two ranges, with the length that gives most of them.
    fn anchors(&mut self, a: &Range<usize>, b: &Range<usize>) -> Result<(usize, Vec<(usize, usize)>)> {
        let mut best = (0, Vec::new());
        for width in WIDTHS {
            let found = self.windows_of_both(a, b, width)?;
            let found = in_order(&found, self.check)?;
            if found.len() > best.1.len() {
                best = (width, found);
            }
        }
        Ok(best)
    }

    /// The windows that occur once in both ranges, by position in the first.
    fn windows_of_both(&mut self, a: &Range<usize>, b: &Range<usize>, width: usize) -> Result<Vec<(usize, usize)>> {
        /// The position of a window in each range.
        #[derive(Default)]
        struct WindowPlaces([Option<u32>; 2]);
        /// Marks a window that occurs several times.
        const SEVERAL: u32 = u32::MAX;

        let mut windows: HashMap<u64, WindowPlaces, RandomState> = HashMap::default();
        for (side, tokens, range) in [(0, self.a, a), (1, self.b, b)] {
            let all = tokens[range.clone()].windows(width);
            for (n, window) in checked(all, self.check).enumerate() {
                let hash = window
                    .iter()
                    .fold(0, |hash: u64, token| (hash.rotate_left(23) ^ u64::from(*token)).wrapping_mul(GOLDEN));
                windows.try_reserve(1).map_err(|_| memory::refused::<(u64, WindowPlaces)>(n + 1))?;
                let place = &mut windows.entry(hash).or_default().0[side];
                *place = Some(place.map_or((range.start + n) as u32, |_| SEVERAL));
            }
        }
        let mut found = Vec::new();
        for places in checked(windows.into_values(), self.check) {
            let WindowPlaces([Some(at_a), Some(at_b)]) = places else { continue };
            let (at_a, at_b) = (at_a as usize, at_b as usize);
            // Neither is SEVERAL, and not only the hashes are equal.
            let window_a = self.a.get(at_a..at_a + width);
            if window_a.is_some() && window_a == self.b.get(at_b..at_b + width) {
                memory::push(&mut found, (at_a, at_b))?;
            }
        }
        sort_by(&mut found, Ord::cmp, self.check);
        Ok(found)
    }
}

/// Selects as many pairs as possible with ascending second numbers, from pairs with ascending first numbers: patience
/// sorting.
fn in_order(pairs: &[(usize, usize)], check: Check) -> Result<Vec<(usize, usize)>> {
    // The last pair of the best run of each length, and the predecessor of each pair.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = memory::with_capacity(pairs.len())?;
    for (n, (_, at)) in checked(pairs.iter(), check).enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *at);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = n,
            None => memory::push(&mut ends, n)?,
        }
    }
    let mut run = memory::with_capacity(ends.len())?;
    let mut last = ends.last().copied();
    while let Some(pair) = last {
        run.push(pairs[pair]);
        last = before[pair];
    }
    run.reverse();
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_in_order_are_the_longest() {
        let run = |places: &[usize]| {
            let pairs: Vec<_> = places.iter().copied().enumerate().collect();
            in_order(&pairs, &mut || ()).unwrap().into_iter().map(|(_, at)| at).collect::<Vec<_>>()
        };
        assert_eq!(run(&[]), []);
        assert_eq!(run(&[5, 1, 6, 2, 7, 3, 4]), [1, 2, 3, 4]);
        assert_eq!(run(&[3, 2, 1]), [1]);
    }
}
