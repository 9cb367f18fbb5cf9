//! Two texts side by side: how many shingles they share, and which parts of them are the same.

use std::ops::Range;

use super::shingle_set::ShingleSet;
use crate::config::Config;
use crate::error::Error;
use crate::memory;
use crate::passage::{CharacterOffsets, Characters, Run, shared_runs};
use crate::scheme::Scheme;

/// A passage of fewer characters says little, unless texts are short.
const LEAST: usize = 16;

/// Characters that are shown of a passage.
const SHOWN: usize = 1000;

/// The comparison of two texts.
#[derive(Debug, Eq, PartialEq)]
pub struct Comparison {
    /// Distinct shingles of the first text.
    pub a: ShingleSet,
    /// Distinct shingles of the second text.
    pub b: ShingleSet,
    /// The longest passages that both have, as they stand in the first text, in its order.
    pub shared: Vec<String>,
    /// The longest parts that only the first has, in its order.
    pub only_a: Vec<String>,
    /// The longest parts that only the second has, in its order.
    pub only_b: Vec<String>,
}

impl Comparison {
    /// Compares two texts, with at most `examples` parts of each kind. Passages are of 16 characters or more; in
    /// short texts of a quarter of the shorter one.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(
        config: &Config,
        a: &str,
        b: &str,
        examples: usize,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Self, Error> {
        let shingles = &config.with_scheme(Scheme::Fss);
        let set_a = ShingleSet::from_text(shingles, a, check_interrupts)?;
        let set_b = ShingleSet::from_text(shingles, b, check_interrupts)?;
        let mut read =
            |text| Characters::with_places(config.normalization(), text, check_interrupts);
        let (read_a, read_b) = (read(a)?, read(b)?);
        let least = (read_a.len().min(read_b.len()) / 4).clamp(1, LEAST);
        let runs_a = shared_runs(&read_a, &read_b, least, check_interrupts)?;
        let runs_b = shared_runs(&read_b, &read_a, least, check_interrupts)?;
        let (part_a, part_b) = (Parts::of(a, &read_a)?, Parts::of(b, &read_b)?);
        Ok(Self {
            a: set_a,
            b: set_b,
            shared: part_a.show(runs_a.iter().map(range), examples)?,
            only_a: part_a.show(gaps(&runs_a, read_a.len()), examples)?,
            only_b: part_b.show(gaps(&runs_b, read_b.len()), examples)?,
        })
    }
}

fn range(run: &Run) -> Range<usize> {
    run.a..run.a + run.length
}

/// The ranges between runs.
fn gaps(runs: &[Run], length: usize) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    runs.iter().map(range).chain(std::iter::once(length..length)).filter_map(move |run| {
        let gap = end..run.start;
        end = run.end.max(end);
        (gap.start < gap.end).then_some(gap)
    })
}

/// A text of which parts are shown.
struct Parts<'a> {
    text: &'a str,
    characters: &'a Characters<'a>,
    offsets: CharacterOffsets<'a>,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str, characters: &'a Characters) -> Result<Self, Error> {
        Ok(Self { text, characters, offsets: CharacterOffsets::of(text)? })
    }

    /// The longest `count` of some ranges of characters as they stand in the text, in its order.
    fn show(
        &self,
        ranges: impl Iterator<Item = Range<usize>>,
        count: usize,
    ) -> Result<Vec<String>, Error> {
        let mut longest: Vec<(Range<usize>, &str)> = Vec::new();
        for range in ranges {
            let bytes = self.offsets.bytes(&self.characters.original(range.clone()));
            let part = self.text[bytes].trim();
            if !part.is_empty() {
                memory::push(&mut longest, (range, part))?;
            }
        }
        longest.sort_unstable_by_key(|(range, _)| (std::cmp::Reverse(range.len()), range.start));
        longest.truncate(count);
        longest.sort_unstable_by_key(|(range, _)| range.start);
        let mut shown = memory::with_capacity(longest.len())?;
        for (_, part) in longest {
            let end = part.char_indices().nth(SHOWN).map_or(part.len(), |(end, _)| end);
            shown.push(memory::owned(&part[..end])?);
        }
        Ok(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Normalization;

    fn compare(a: &str, b: &str, examples: usize) -> Comparison {
        let config = Config::default().with_normalization(Normalization::plain()).unwrap();
        Comparison::new(&config, a, b, examples, &mut || ()).unwrap()
    }

    #[test]
    fn parts_are_shown_as_they_stand_in_the_texts() {
        let a =
            "Preface. The quick brown  fox jumps over the lazy dog, and it slept all day long. End";
        let b = "the quick BROWN fox jumps over the lazy dog; and it slept all day long. The rest";
        let all = compare(a, b, 10);
        assert_eq!(
            all.shared,
            ["The quick brown  fox jumps over the lazy dog", "and it slept all day long."]
        );
        assert_eq!(all.only_a, ["Preface.", ",", "End"]);
        assert_eq!(all.only_b, [";", "The rest"]);
        assert_eq!(compare(a, b, 1).shared, ["The quick brown  fox jumps over the lazy dog"]);
        assert!(compare(a, b, 0).shared.is_empty());
    }

    #[test]
    fn short_texts_share_short_parts() {
        let short = compare("to be or not", "not to be", 10);
        assert_eq!(
            (short.shared, short.only_a),
            (vec!["to be".into(), "not".into()], vec!["or".into()])
        );
    }

    #[test]
    fn what_is_shown_of_a_long_part_is_its_start() {
        let long = "é".repeat(5000);
        let same = compare(&long, &long, 10);
        assert_eq!(same.shared, [&long[..2 * SHOWN]]);
        assert!(same.only_a.is_empty() && same.only_b.is_empty());
    }

    #[test]
    fn a_text_without_shingles_shares_none() {
        let nothing = compare("", "hello", 10);
        assert!(nothing.a.is_empty() && nothing.shared.is_empty() && nothing.only_a.is_empty());
        assert_eq!(nothing.only_b, ["hello"]);
    }
}
