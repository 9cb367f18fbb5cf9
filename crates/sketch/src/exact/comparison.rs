//! Compares two texts: the number of shingles that they share, and their common and different parts.

use std::ops::Range;

use ahash::AHashSet;
use unicode_segmentation::UnicodeSegmentation;

use super::overlap::Overlap;
use super::shingle_set::ShingleSet;
use crate::hash::{sort_by, xxh3};
use crate::limits::checked;
use crate::passage::{CharacterOffsets, Characters, Run, shared_runs};
use crate::text::words;
use crate::{Check, Config, Result, memory};

/// Minimum length of a passage. Shorter ones mean little, unless texts are short.
const LEAST: usize = 16;

/// Maximum number of characters shown of a passage.
const SHOWN: usize = 1000;

/// The comparison of two texts.
#[derive(Debug, Eq, PartialEq)]
pub struct Comparison {
    /// The distinct shingles of the two texts.
    pub overlap: Overlap,
    /// The longest passages that both texts have, as in the first text, in its order.
    pub shared: Vec<String>,
    /// The longest parts that only the first text has, in its order. A part consists of words between the shared
    /// passages. It is left out if the second text has all its words.
    pub only_a: Vec<String>,
    /// The longest parts that only the second text has, in its order.
    pub only_b: Vec<String>,
}

impl Comparison {
    /// Compares two texts, with at most `examples` parts of each kind. Passages have at least 16 characters; in short
    /// texts a quarter of the shorter one suffices.
    pub fn new(config: &Config, a: &str, b: &str, examples: usize, check: Check) -> Result<Self> {
        let set_a = ShingleSet::from_text(config, a, check)?;
        let overlap = set_a.overlap(&ShingleSet::from_text(config, b, check)?, check);
        let mut read = |text| Characters::with_places(config.normalization(), text, check);
        let (read_a, read_b) = (read(a)?, read(b)?);
        let least = (read_a.len().min(read_b.len()) / 4).clamp(1, LEAST);
        let runs_a = shared_runs(&read_a, &read_b, least, check)?;
        let runs_b = shared_runs(&read_b, &read_a, least, check)?;
        let (words_a, words_b) = (WordGaps::of(&read_a, &runs_a)?, WordGaps::of(&read_b, &runs_b)?);
        let only_a = words_a.apart(&words_b, check)?;
        let only_b = words_b.apart(&words_a, check)?;
        Ok(Self {
            overlap,
            shared: shown(a, &read_a, runs_a.iter().map(range), examples, check)?,
            only_a: shown(a, &read_a, only_a.into_iter(), examples, check)?,
            only_b: shown(b, &read_b, only_b.into_iter(), examples, check)?,
        })
    }
}

/// The words of a normalised text, including punctuation.
struct WordGaps<'a> {
    text: &'a str,
    /// The ranges of characters outside of passages.
    gaps: Vec<Range<usize>>,
}

impl<'a> WordGaps<'a> {
    fn of(characters: &'a Characters, runs: &[Run]) -> Result<Self> {
        let gaps = memory::collect(gaps(runs, characters.len()))?;
        Ok(Self { text: characters.text(), gaps })
    }

    /// Calls `f` with the characters and the hash of each word, and true if part of it is in a gap. A very long word is
    /// cut.
    fn each(&self, check: Check, f: &mut dyn FnMut(Range<usize>, u64, bool) -> Result<()>) -> Result<()> {
        let mut at = 0;
        let mut gaps = self.gaps.iter().peekable();
        for piece in short_pieces(self.text) {
            check();
            for word in piece.split_word_bounds() {
                let end = at + word.chars().count();
                while gaps.next_if(|gap| gap.end <= at).is_some() {}
                if !word.trim_start().is_empty() {
                    let is_between = gaps.peek().is_some_and(|gap| gap.start < end);
                    f(at..end, xxh3::hash(word.as_bytes()), is_between)?;
                }
                at = end;
            }
        }
        Ok(())
    }

    /// The runs of words in the gaps that the other text's gaps do not have. A run is left out if the other text has
    /// all its words anywhere.
    fn apart(&self, other: &WordGaps, check: Check) -> Result<Vec<Range<usize>>> {
        if self.gaps.is_empty() {
            return Ok(Vec::new());
        }
        let (mut between, mut all) = (AHashSet::default(), AHashSet::default());
        other.each(check, &mut |_, word, is_between| {
            memory::insert(&mut all, word)?;
            if is_between { memory::insert(&mut between, word).map(|_| ()) } else { Ok(()) }
        })?;
        let mut runs: Vec<(Range<usize>, bool)> = Vec::new();
        let mut goes_on = false;
        self.each(check, &mut |place, word, is_between| {
            let is_apart = is_between && !between.contains(&word);
            let is_new = !all.contains(&word);
            match runs.last_mut() {
                Some((run, has_new)) if is_apart && goes_on => {
                    run.end = place.end;
                    *has_new |= is_new;
                }
                _ if is_apart => memory::push(&mut runs, (place, is_new))?,
                _ => (),
            }
            goes_on = is_apart;
            Ok(())
        })?;
        memory::collect(runs.into_iter().filter_map(|(run, has_new)| has_new.then_some(run)))
    }
}

/// Splits words into pieces, so that none is long.
fn short_pieces(text: &str) -> impl Iterator<Item = &str> {
    const LONG: usize = 64 * 1024;
    words::pieces(text).flat_map(|mut rest| {
        std::iter::from_fn(move || {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(LONG));
            rest = after;
            (!piece.is_empty()).then_some(piece)
        })
    })
}

fn range(run: &Run) -> Range<usize> {
    run.a..run.a + run.length
}

fn gaps(runs: &[Run], length: usize) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    runs.iter().map(range).chain(std::iter::once(length..length)).filter_map(move |run| {
        let gap = end..run.start;
        end = run.end.max(end);
        (gap.start < gap.end).then_some(gap)
    })
}

/// The longest `count` of some ranges of characters, as in the text, in its order.
fn shown(
    text: &str,
    characters: &Characters,
    ranges: impl Iterator<Item = Range<usize>>,
    count: usize,
    check: Check,
) -> Result<Vec<String>> {
    let offsets = CharacterOffsets::of(text)?;
    let mut longest: Vec<(Range<usize>, &str)> = Vec::new();
    for range in checked(ranges, check) {
        let bytes = offsets.bytes(&characters.original(range.clone()));
        let part = text[bytes].trim();
        if !part.is_empty() {
            memory::push(&mut longest, (range, part))?;
        }
    }
    let rank = |range: &Range<usize>| (std::cmp::Reverse(range.len()), range.start);
    sort_by(&mut longest, |(a, _), (b, _)| rank(a).cmp(&rank(b)), check);
    longest.truncate(count);
    longest.sort_unstable_by_key(|(range, _)| range.start);
    let mut shown = memory::with_capacity(longest.len())?;
    for (_, part) in longest {
        let end = part.char_indices().nth(SHOWN).map_or(part.len(), |(end, _)| end);
        shown.push(memory::owned(&part[..end])?);
    }
    Ok(shown)
}
