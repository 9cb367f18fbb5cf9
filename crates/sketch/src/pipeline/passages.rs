//! Searches in the texts of a corpus on the way to their passages.

use std::ops::Range;
use std::sync::Arc;

use super::texts::{Finder, GivenText};
use crate::hash::{Element, ElementHash, sort_by_key};
use crate::passage::{
    Bound, CharacterOffsets, Characters, Fingerprints, Sought, covered, needed, shared_runs, whole_words,
};
use crate::text::Normalization;
use crate::{Check, Error, Result, memory};

/// The options by which texts are read for passages.
#[derive(Clone, Debug)]
pub struct PassageCut {
    /// The minimum length of a passage, in characters.
    pub min_match: usize,
    /// The steps that are applied to texts before.
    pub normalization: Normalization,
}

/// A test of hashes that threads share.
pub type Test = Arc<dyn Fn(u64) -> bool + Send + Sync>;

/// Finds the fingerprints of texts, which are read by `cut`, and kept as normalized if `keeps_texts`.
pub fn fingerprinting(cut: PassageCut, keeps_texts: bool) -> Result<Finder<Fingerprinted>> {
    let (mut fingerprints, mut own) = (Fingerprints::new()?, Vec::new());
    Ok(Box::new(move |given, found, check| {
        let text = Characters::of(&cut.normalization, given.text, check)?;
        own.clear();
        fingerprints.append(&text, cut.min_match, &mut own, check)?;
        sort_by_key(&mut own, check);
        own.dedup();
        memory::extend(&mut found.fingerprints, &own)?;
        if keeps_texts {
            memory::push_str(&mut found.normalized, text.text())?;
        }
        let of_text = OfText {
            number: given.number,
            hash: Element::Text(text.text()).hash(ElementHash::Xxh3) ^ given.salt,
            length: text.len() as u32,
            fingerprints: found.fingerprints.len(),
            normalized: found.normalized.len(),
        };
        memory::push(&mut found.texts, of_text)
    }))
}

/// The fingerprints of some texts.
#[derive(Default)]
pub struct Fingerprinted {
    /// Each text, in order.
    pub texts: Vec<OfText>,
    fingerprints: Vec<u64>,
    normalized: String,
}

/// The fingerprints of a text.
#[derive(Clone, Copy, Debug)]
pub struct OfText {
    /// The number by which the reader knows it.
    pub number: u32,
    /// A hash of the normalized text.
    pub hash: u64,
    /// The number of its characters.
    pub length: u32,
    fingerprints: usize,
    normalized: usize,
}

impl Fingerprinted {
    /// Each text with its distinct fingerprints, ascending, and with the normalized text, if that was asked for.
    pub fn each(&self) -> impl Iterator<Item = (OfText, &[u64], &str)> {
        let (mut from, mut start) = (0, 0);
        self.texts.iter().map(move |text| {
            let fingerprints = &self.fingerprints[from..text.fingerprints];
            let normalized = &self.normalized[start..text.normalized];
            (from, start) = (text.fingerprints, text.normalized);
            (*text, fingerprints, normalized)
        })
    }
}

/// A window of a text.
#[derive(Clone, Copy, Debug)]
pub struct TextWindow {
    /// The number of the text.
    pub number: u32,
    /// Its first character, as the text is normalized.
    pub place: u32,
    /// The hash of its characters, within its scope.
    pub hash: u64,
}

/// Finds the windows of frequent fingerprints.
pub struct Windowing {
    cut: PassageCut,
    frequent: Test,
    wanted: Test,
    fingerprints: Fingerprints,
}

impl Windowing {
    /// Those whose fingerprint is `frequent` and whose hash is `wanted`.
    pub fn new(cut: PassageCut, frequent: Test, wanted: Test) -> Result<Self> {
        Ok(Self { cut, frequent, wanted, fingerprints: Fingerprints::new()? })
    }

    /// Calls `each` with those of one text, in order.
    pub fn each<E: From<Error>>(
        &mut self,
        given: GivenText,
        check: Check,
        each: &mut dyn FnMut(TextWindow) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { cut, frequent, wanted, fingerprints } = self;
        let text = Characters::of(&cut.normalization, given.text, check)?;
        let salt = given.salt;
        let frequent = |entry: u64| frequent(entry ^ salt);
        fingerprints.windows(&text, cut.min_match, frequent, check, &mut |place, hash| {
            let hash = hash ^ salt;
            if !wanted(hash) {
                return Ok(());
            }
            each(TextWindow { number: given.number, place: place as u32, hash })
        })
    }

    /// Finds those of several texts.
    pub fn finder(mut self) -> Finder<Vec<TextWindow>> {
        Box::new(move |given, found, check| self.each(given, check, &mut |window| memory::push(found, window)))
    }
}

/// Makes texts without the windows that are `unwanted`, which have `frequent` fingerprints.
pub fn stripping(cut: PassageCut, frequent: Test, unwanted: Test) -> Result<Finder<Stripped>> {
    let mut fingerprints = Fingerprints::new()?;
    Ok(Box::new(move |given, found, check| {
        let (original, salt) = (given.text, given.salt);
        let text = Characters::with_places(&cut.normalization, original, check)?;
        let frequent = |entry: u64| frequent(entry ^ salt);
        // Neighbouring windows are removed as one: a word can lie in several of them, and in none as a whole.
        let mut runs: Vec<Range<usize>> = Vec::new();
        fingerprints.windows(&text, cut.min_match, frequent, check, &mut |place, hash| {
            let end = place + cut.min_match;
            match runs.last_mut() {
                _ if !unwanted(hash ^ salt) => Ok(()),
                Some(last) if place <= last.end => {
                    last.end = end;
                    Ok(())
                }
                _ => memory::push(&mut runs, place..end),
            }
        })?;
        let offsets = CharacterOffsets::of(original)?;
        let (mut end, mut removed) = (0, 0);
        for run in runs {
            check();
            let bytes = offsets.bytes(&text.original(run));
            let Some(bytes) = whole_words(original, bytes.start.max(end)..bytes.end) else {
                continue;
            };
            memory::push_str(&mut found.text, &original[end..bytes.start])?;
            memory::push_str(&mut found.text, " ")?;
            removed += original[bytes.clone()].chars().count();
            end = bytes.end;
        }
        memory::push_str(&mut found.text, &original[end..])?;
        memory::push(&mut found.ends, (given.number, found.text.len(), removed as u32))
    }))
}

/// Texts without what was removed.
#[derive(Default)]
pub struct Stripped {
    text: String,
    /// Of each text its number, where it ends, and how many characters were removed.
    ends: Vec<(u32, usize, u32)>,
}

impl Stripped {
    /// Each text: its number, what is left of it, and how many characters were removed.
    pub fn each(&self) -> impl Iterator<Item = (u32, &str, u32)> {
        let mut from = 0;
        self.ends.iter().map(move |&(number, end, removed)| {
            let text = &self.text[from..end];
            from = end;
            (number, text, removed)
        })
    }
}

/// Finds the fingerprints by which the texts that contain the share `coverage` of a normalized text are looked up.
/// [`GivenText::known`] has those that other texts have too, each with the number of these texts.
///
/// At most `limit` of the texts that have a fingerprint are compared. A text that has all of a stretch has the rarest
/// of its fingerprints too, so of those that more texts have only the rarest one is asked for.
pub fn asking(min_match: usize, coverage: f64, limit: usize) -> Finder<Lookups> {
    Box::new(move |given, found, check| {
        let text = Characters::of(&Normalization::none(), given.text, check)?;
        let bound = Bound::new(&text, coverage, min_match, min_match, check)?;
        let others = |place: usize| {
            let entry = bound.entries()[place] ^ given.salt;
            let known = given.known.binary_search_by_key(&entry, |known| known.0);
            known.map_or(0, |at| given.known[at].1)
        };
        if !bound.is_possible(|place| others(place) == 0) {
            return Ok(());
        }
        let Some(mut cheapest) = bound.cheapest(|place| Some(others(place).into()))? else {
            return Ok(());
        };
        cheapest.sort_unstable_by_key(|place| others(*place));
        let (mut compared, mut left_out) = (limit, 0);
        for place in cheapest.into_iter().filter(|place| others(*place) > 0) {
            let count = others(place) as usize;
            if count <= limit || compared > 0 {
                let entry = bound.entries()[place] ^ given.salt;
                memory::push(&mut found.entries, (entry, given.number))?;
            }
            if count > limit {
                left_out += count - std::mem::take(&mut compared);
            }
        }
        let (texts, comparisons) = &mut found.left_out;
        *texts += u64::from(left_out > 0);
        *comparisons += left_out as u64;
        Ok(())
    })
}

/// The fingerprints that texts ask for.
#[derive(Default)]
pub struct Lookups {
    /// Each within its scope, and the number of the text.
    pub entries: Vec<(u64, u32)>,
    /// The number of texts that are not compared with all, and of comparisons that are left out.
    pub left_out: (u64, u64),
}

/// Finds the texts of a batch that have the share `coverage` of its first one. All are normalized.
pub fn containing(min_match: usize, coverage: f64) -> Finder<Containers> {
    let mut first: Option<(Sought, usize)> = None;
    Box::new(move |given, found, check| {
        if found.contained.is_none() {
            // The first text of the batch before may be as large.
            first = None;
        }
        let text = Characters::of(&Normalization::none(), given.text, check)?;
        let (Some(_), Some((sought, least))) = (found.contained, &mut first) else {
            found.contained = Some(given.number);
            let least = needed(coverage, text.len());
            first = Some((Sought::new(text, min_match, check)?, least));
            return Ok(());
        };
        let covered = sought.covered(&text, check)?;
        if covered >= *least {
            memory::push(&mut found.containers, (given.number, covered as u32))?;
        }
        Ok(())
    })
}

/// The texts that have enough of the first one of a batch.
#[derive(Default)]
pub struct Containers {
    /// The number of the first text of the batch.
    pub contained: Option<u32>,
    /// Of each text that has enough of it its number, and how many of the characters it has.
    pub containers: Vec<(u32, u32)>,
}

/// Finds the passages that the first text of a batch has in common with each other one, or with those that have the
/// share `coverage` of it. [`GivenText::known`] of the first has the windows that do not count: the first of
/// neighbours, and their number.
pub fn sharing(cut: PassageCut, coverage: Option<f64>) -> Finder<Shared> {
    let mut first: Option<(Characters<'static>, Vec<Range<usize>>)> = None;
    Box::new(move |given, found, check| {
        if !found.has_first {
            // The first text of the batch before may be as large.
            first = None;
        }
        let text = Characters::with_places(&cut.normalization, given.text, check)?.without_text();
        let (true, Some((first, left_out))) = (found.has_first, &first) else {
            let windows = |&(from, count): &(u64, u32)| from as usize..from as usize + count as usize;
            let left_out = memory::collect(given.known.iter().map(windows))?;
            first = Some((text, left_out));
            found.has_first = true;
            return Ok(());
        };
        let runs = shared_runs(first, &text, cut.min_match, check)?;
        if coverage.is_some_and(|share| covered(&runs) < needed(share, first.len())) {
            return Ok(());
        }
        for run in runs {
            for part in run.without(left_out, cut.min_match)? {
                let a = first.original(part.a..part.a + part.length);
                let b = text.original(part.b..part.b + part.length);
                let passage = SharedPassage { number: given.number, a, b };
                memory::push(&mut found.passages, passage)?;
            }
        }
        Ok(())
    })
}

/// A passage that two texts have in common.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SharedPassage {
    /// The number of the second text.
    pub number: u32,
    /// Its characters in the first text, as that was given.
    pub a: Range<usize>,
    /// Its characters in the second.
    pub b: Range<usize>,
}

/// The passages of a batch, whose first text may have been read.
#[derive(Default)]
pub struct Shared {
    has_first: bool,
    /// All of them.
    pub passages: Vec<SharedPassage>,
}
