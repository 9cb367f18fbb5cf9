//! A table of the steps' results for characters regardless of their neighbours. Unicode's own tables are searched once
//! for each character and process.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::definition::settle;
use super::steps::{CharacterSteps, NormalForm};
use crate::simd::{CharSet, SINGLE};
use crate::{Result, memory};

/// The result of the steps for a character. Unless stated otherwise, a text can be cut before the character, and
/// neighbours do not matter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fate {
    /// It stays, like nearly all characters.
    Same,
    /// It becomes one character of the same size or smaller.
    Becomes([u8; 4], u8),
    /// It becomes several characters of the same total size or smaller.
    Expands([u8; 4], u8),
    /// It is removed, and its neighbours become adjacent. No text is cut before it.
    Removed,
    /// A mark that does not compose with anything, with its combining class. It stays if it follows a character that
    /// stays unchanged, and perhaps such marks with classes that are not greater, and is followed by a character before
    /// which a text can be cut. No text is cut before it.
    Follows(u8),
    /// It becomes larger: the text with this number in the page.
    Grows(u32),
    /// It may affect the character before it. No text is cut before it.
    Depends,
    /// Like [`Self::Depends`], but alone it stays unchanged.
    Stays,
}

impl Fate {
    /// The bytes that replace the character and their number, if they fit into its place.
    pub(super) const fn in_place(self) -> Option<([u8; 4], usize)> {
        match self {
            Self::Becomes(bytes, length) | Self::Expands(bytes, length) => Some((bytes, length as usize)),
            Self::Removed => Some(([0; 4], 0)),
            _ => None,
        }
    }

    /// True if a mark of combining class `class` can follow this and stay.
    pub(super) const fn precedes(self, class: u8) -> bool {
        match self {
            Self::Same | Self::Becomes(..) => true,
            Self::Follows(own) => own <= class,
            _ => false,
        }
    }

    /// True if a text can be cut before such a character.
    pub(super) const fn is_cut(self) -> bool {
        matches!(self, Self::Same | Self::Becomes(..) | Self::Expands(..) | Self::Grows(_))
    }
}

/// Number of characters in a page. A page is filled when one of them is first looked up.
const PAGE: usize = 256;
const PAGES: usize = (char::MAX as usize + 1) / PAGE;

struct FatePage {
    entries: [Fate; PAGE],
    /// The results that are larger than their characters.
    longer: Vec<String>,
}

/// The page for characters that all stay.
static SAME: FatePage = FatePage { entries: [Fate::Same; PAGE], longer: Vec::new() };

/// Number of characters in a word of [`FateTable::same`].
const WORD: usize = u64::BITS as usize;

/// Number of characters of at most three bytes.
const THREE_BYTES: usize = 1 << 16;

/// The fates of all characters for a set of steps.
pub(super) struct FateTable {
    steps: CharacterSteps,
    pages: Box<[OnceLock<&'static FatePage>]>,
    /// A bit for each character of at most three bytes that is known to stay regardless of its neighbours.
    same: Box<[AtomicU64]>,
    /// A bit for each word of `same` with all bits set.
    all_same: [AtomicU64; THREE_BYTES / WORD / WORD],
}

impl FateTable {
    /// The table for `steps`, which is shared in the process.
    pub(super) fn of(steps: CharacterSteps) -> Result<&'static Self> {
        static TABLES: [OnceLock<FateTable>; COMBINATIONS] = [const { OnceLock::new() }; COMBINATIONS];
        let place = &TABLES[number(steps)];
        if let Some(table) = place.get() {
            return Ok(table);
        }
        let pages = memory::collect((0..PAGES).map(|_| OnceLock::new()))?.into_boxed_slice();
        let same = (0..THREE_BYTES / WORD).map(|_| AtomicU64::new(0));
        let same = memory::collect(same)?.into_boxed_slice();
        Ok(place.get_or_init(|| Self { steps, pages, same, all_same: [const { AtomicU64::new(0) }; _] }))
    }

    /// The characters that are already known to stay, as far as a set of characters can represent them.
    pub(super) fn known(&self) -> CharSet {
        let mut set = CharSet::EMPTY;
        let words = set.two.iter_mut().zip(&self.same);
        let words = words.chain(set.three.iter_mut().zip(&self.all_same));
        for (word, same) in words.chain(set.single.iter_mut().zip(&self.same[SINGLE])) {
            *word = same.load(Ordering::Relaxed);
        }
        set
    }

    /// True if a character of at most three bytes is known to stay.
    #[inline(always)]
    pub(super) fn is_known_to_stay(&self, code: u32) -> bool {
        let word = self.same.get(code as usize / WORD);
        word.is_some_and(|word| word.load(Ordering::Relaxed) >> (code as usize % WORD) & 1 == 1)
    }

    /// Looks up the result for a code point. `Depends` if there is no memory for its page, or if it is not a character.
    #[inline(always)]
    pub(super) fn entry(&self, code: u32) -> Fate {
        let code = code as usize;
        let Some(page) = self.pages.get(code / PAGE) else { return Fate::Depends };
        match page.get() {
            Some(page) => page.entries[code % PAGE],
            None => self.filled(code),
        }
    }

    /// The result that is larger than its character; empty for other results.
    pub(super) fn longer(&self, c: char) -> &str {
        let entry = self.entry(u32::from(c));
        let Fate::Grows(number) = entry else { return "" };
        let page = self.pages[c as usize / PAGE].get();
        page.and_then(|page| page.longer.get(number as usize)).map_or("", String::as_str)
    }

    #[cold]
    fn filled(&self, code: usize) -> Fate {
        let Ok(made) = self.page(code / PAGE) else { return Fate::Depends };
        // Tables are never freed, nor are their pages.
        let page = self.pages[code / PAGE].get_or_init(|| made.leak().first().unwrap_or(&SAME));
        let words = (code / PAGE * (PAGE / WORD)..).zip(page.entries.chunks(WORD));
        for (word, entries) in words.take_while(|(word, _)| *word < self.same.len()) {
            let bit = |bits, fate: &Fate| bits << 1 | u64::from(*fate == Fate::Same);
            let same = entries.iter().rev().fold(0, bit);
            self.same[word].store(same, Ordering::Relaxed);
            let all = u64::from(same == u64::MAX) << (word % WORD);
            self.all_same[word / WORD].fetch_or(all, Ordering::Relaxed);
        }
        page.entries[code % PAGE]
    }

    /// Makes a page; none if all its characters stay.
    fn page(&self, number: usize) -> Result<Vec<FatePage>> {
        let mut page = FatePage { entries: [Fate::Same; PAGE], longer: Vec::new() };
        for (code, entry) in (number * PAGE..).zip(&mut page.entries) {
            let c = u32::try_from(code).ok().and_then(char::from_u32);
            let made = c.map_or(Ok(Fate::Depends), |c| fate_of(self.steps, c, &mut page.longer));
            *entry = made?;
        }
        let mut pages = Vec::new();
        if page.entries != [Fate::Same; PAGE] {
            memory::push(&mut pages, page)?;
        }
        Ok(pages)
    }
}

fn fate_of(steps: CharacterSteps, c: char, longer: &mut Vec<String>) -> Result<Fate> {
    let composing = steps.form != NormalForm::AsWritten || steps.diacritics;
    let settled = settle(steps, c.encode_utf8(&mut [0; 4]), &mut || ())?;
    let stays = settled.chars().eq([c]);
    if composing {
        let decomposed = match steps.form {
            NormalForm::Nfkc => c.nfkd().next(),
            NormalForm::AsWritten | NormalForm::Nfc => c.nfd().next(),
        };
        if !decomposed.is_some_and(starts_anew) {
            return Ok(match canonical_combining_class(c) {
                class if !stays || class == 0 => Fate::Depends,
                class if composes_with_nothing(c) => Fate::Follows(class),
                _ => Fate::Stays,
            });
        }
    }
    if stays {
        return Ok(Fate::Same);
    }
    let mut chars = settled.chars();
    let Some(first) = chars.next() else { return Ok(Fate::Removed) };
    if composing && !starts_anew(first) {
        return Ok(Fate::Depends);
    }
    if settled.len() <= c.len_utf8() {
        let mut bytes = [0; 4];
        bytes[..settled.len()].copy_from_slice(settled.as_bytes());
        let fate = if chars.next().is_none() { Fate::Becomes } else { Fate::Expands };
        return Ok(fate(bytes, settled.len() as u8));
    }
    memory::push(longer, settled)?;
    Ok(Fate::Grows(longer.len() as u32 - 1))
}

/// True if `c` neither composes with the character before it nor is reordered with it.
fn starts_anew(c: char) -> bool {
    canonical_combining_class(c) == 0 && composes_with_nothing(c)
}

fn composes_with_nothing(c: char) -> bool {
    is_nfc_quick(std::iter::once(c)) == IsNormalized::Yes
}

/// Three forms, four kinds of punctuation, and six switches.
const COMBINATIONS: usize = 3 * 4 * 64;

fn number(steps: CharacterSteps) -> usize {
    let CharacterSteps { letters, casefold, diacritics, invisible, digits, whitespace, .. } = steps;
    let switches = [letters, casefold, diacritics, invisible, digits, whitespace];
    let switch = |number, on: bool| number * 2 + usize::from(on);
    switches.into_iter().fold(steps.form as usize * 4 + steps.punctuation as usize, switch)
}
