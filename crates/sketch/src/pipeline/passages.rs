//! Searches texts of a corpus for fingerprints, windows and passages.

use std::ops::Range;
use std::sync::Arc;

use super::texts::{Finder, GivenText};
use crate::hash::{Element, ElementHash, sort_by_key};
use crate::passage::{
    Bound, CharacterOffsets, Characters, Fingerprints, Sought, covered, needed, shared_runs, whole_words,
};
use crate::text::Normalization;
use crate::{Check, Error, Result, memory};

/// The options for reading texts.
#[derive(Clone, Debug)]
pub struct PassageCut {
    /// The minimum length of a passage, in characters.
    pub min_match: usize,
    /// The steps that are applied to texts first.
    pub normalization: Normalization,
}

/// A predicate on hashes that threads share.
pub type Test = Arc<dyn Fn(u64) -> bool + Send + Sync>;

/// Finds the fingerprints of texts, which are normalized by `cut`; keeps the normalized texts if `keeps_texts`.
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

/// The fingerprints of a batch of texts.
#[derive(Default)]
pub struct Fingerprinted {
    /// The texts, in order.
    pub texts: Vec<OfText>,
    fingerprints: Vec<u64>,
    normalized: String,
}

/// A text with fingerprints.
#[derive(Clone, Copy, Debug)]
pub struct OfText {
    /// The reader's number for it.
    pub number: u32,
    /// A hash of the normalized text.
    pub hash: u64,
    /// Number of its characters.
    pub length: u32,
    fingerprints: usize,
    normalized: usize,
}

impl Fingerprinted {
    /// Each text with its distinct fingerprints, ascending, and the normalized text if it was kept.
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
    /// Number of the text.
    pub number: u32,
    /// Position of its first character in the normalized text.
    pub place: u32,
    /// Hash of its characters, specific to its scope.
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
    /// Finds windows with fingerprints that `frequent` accepts and hashes that `wanted` accepts.
    pub fn new(cut: PassageCut, frequent: Test, wanted: Test) -> Result<Self> {
        Ok(Self { cut, frequent, wanted, fingerprints: Fingerprints::new()? })
    }

    /// Calls `each` with the windows of a text, in order.
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

    /// Finds the windows of several texts.
    pub fn finder(mut self) -> Finder<Vec<TextWindow>> {
        Box::new(move |given, found, check| self.each(given, check, &mut |window| memory::push(found, window)))
    }
}

/// Removes the windows that `unwanted` accepts from texts; their fingerprints are `frequent`.
pub fn stripping(cut: PassageCut, frequent: Test, unwanted: Test) -> Result<Finder<Stripped>> {
    let mut fingerprints = Fingerprints::new()?;
    Ok(Box::new(move |given, found, check| {
        let (original, salt) = (given.text, given.salt);
        let text = Characters::with_places(&cut.normalization, original, check)?;
        let frequent = |entry: u64| frequent(entry ^ salt);
        // Consecutive windows are removed together: a word can lie in several of them, and completely in none.
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

/// Texts after the removal.
#[derive(Default)]
pub struct Stripped {
    text: String,
    /// The number of each text, its end, and the number of removed characters.
    ends: Vec<(u32, usize, u32)>,
}

impl Stripped {
    /// Each text: its number, the rest of it, and the number of removed characters.
    pub fn each(&self) -> impl Iterator<Item = (u32, &str, u32)> {
        let mut from = 0;
        self.ends.iter().map(move |&(number, end, removed)| {
            let text = &self.text[from..end];
            from = end;
            (number, text, removed)
        })
    }
}

/// Selects the fingerprints to look up, to find the texts that contain the share `coverage` of a normalized text.
/// [`GivenText::known`] has its fingerprints that other texts have too, with the number of these texts.
///
/// At most `limit` of the texts with a fingerprint are compared. A text with all of a stretch has its rarest
/// fingerprint too, so of fingerprints in more texts only the rarest one is looked up.
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

/// Fingerprints to look up.
#[derive(Default)]
pub struct Lookups {
    /// The fingerprints, specific to their scope, with the number of the text.
    pub entries: Vec<(u64, u32)>,
    /// Number of texts that are not compared with all others, and number of comparisons left out.
    pub left_out: (u64, u64),
}

/// Finds the texts of a batch that contain the share `coverage` of its first text. All are normalized.
pub fn containing(min_match: usize, coverage: f64) -> Finder<Containers> {
    let mut first: Option<(Sought, usize)> = None;
    Box::new(move |given, found, check| {
        if found.contained.is_none() {
            // Frees the first text of the previous batch, which may be as large.
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

/// The texts that contain enough of a batch's first text.
#[derive(Default)]
pub struct Containers {
    /// Number of the first text.
    pub contained: Option<u32>,
    /// (text, covered characters) of each text that covers enough.
    pub containers: Vec<(u32, u32)>,
}

/// Finds the passages that the first text of a batch shares with each other text, or with those that contain the share
/// `coverage` of it. [`GivenText::known`] of the first text has the windows that do not count: the first one of a
/// sequence, and their number.
pub fn sharing(cut: PassageCut, coverage: Option<f64>) -> Finder<Shared> {
    let mut first: Option<(Characters<'static>, Vec<Range<usize>>)> = None;
    Box::new(move |given, found, check| {
        if !found.has_first {
            // Frees the first text of the previous batch, which may be as large.
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

/// A passage that two texts share.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SharedPassage {
    /// Number of the second text.
    pub number: u32,
    /// Its characters in the first text, before normalization.
    pub a: Range<usize>,
    /// Its characters in the second text.
    pub b: Range<usize>,
}

/// The passages of a batch; its first text is kept once it was read.
#[derive(Default)]
pub struct Shared {
    has_first: bool,
    /// All passages.
    pub passages: Vec<SharedPassage>,
}
