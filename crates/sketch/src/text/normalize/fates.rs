//! What becomes of a character whatever stands around it, looked up instead of
//! worked out: Unicode's own tables are searched once per character and
//! process, not once per occurrence.

use std::sync::OnceLock;

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::definition::settle;
use super::steps::{Characters, Form, Punctuation};
use crate::error::Error;
use crate::memory;

/// What the steps make of a character.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fate {
    /// It becomes this character, and what stands before it cannot matter: a
    /// text can be cut before it.
    Becomes(char),
    /// It is removed; its neighbours become each other's.
    Removed,
    /// It becomes more than one character, and a text can be cut before it.
    Expands,
    /// It may act on what stands before it.
    Depends,
}

/// Characters per page. A page is filled when one of them is first looked up.
const PAGE: usize = 256;
const PAGES: usize = (char::MAX as usize + 1) / PAGE;

/// [`Fate`]s as one number: a character, or a number that is none.
type Page = Box<[u32; PAGE]>;
const REMOVED: u32 = u32::MAX;
const EXPANDS: u32 = u32::MAX - 1;
const DEPENDS: u32 = u32::MAX - 2;

/// The fates of all characters under some steps.
pub(super) struct Table {
    steps: Characters,
    pages: Box<[OnceLock<Page>]>,
}

impl Table {
    /// The table of some steps; there is one per process.
    pub(super) fn of(steps: Characters) -> Result<&'static Self, Error> {
        static TABLES: [OnceLock<Table>; COMBINATIONS] = [const { OnceLock::new() }; COMBINATIONS];
        let place = &TABLES[number(steps)];
        if let Some(table) = place.get() {
            return Ok(table);
        }
        let pages = memory::collect((0..PAGES).map(|_| OnceLock::new()))?.into_boxed_slice();
        Ok(place.get_or_init(|| Self { steps, pages }))
    }

    /// What the steps make of `c`. Without memory for its page, nothing is known of it.
    #[inline]
    pub(super) fn fate(&self, c: char) -> Fate {
        let code = c as usize;
        let page = self.pages[code / PAGE].get().or_else(|| self.fill(code / PAGE));
        match page.map_or(DEPENDS, |page| page[code % PAGE]) {
            REMOVED => Fate::Removed,
            EXPANDS => Fate::Expands,
            number => char::from_u32(number).map_or(Fate::Depends, Fate::Becomes),
        }
    }

    #[cold]
    fn fill(&self, page: usize) -> Option<&Page> {
        let mut fates = memory::filled(DEPENDS, PAGE).ok()?;
        for (i, fate) in fates.iter_mut().enumerate() {
            let c = u32::try_from(page * PAGE + i).ok().and_then(char::from_u32);
            let c = c.map_or(Ok(Fate::Depends), |c| fate_of(self.steps, c)).ok()?;
            *fate = match c {
                Fate::Becomes(c) => u32::from(c),
                Fate::Removed => REMOVED,
                Fate::Expands => EXPANDS,
                Fate::Depends => DEPENDS,
            };
        }
        let fates: Page = fates.into_boxed_slice().try_into().ok()?;
        Some(self.pages[page].get_or_init(|| fates))
    }
}

fn fate_of(steps: Characters, c: char) -> Result<Fate, Error> {
    let composing = steps.form != Form::AsWritten || steps.diacritics;
    if composing {
        let decomposed = match steps.form {
            Form::Nfkc => c.nfkd().next(),
            Form::AsWritten | Form::Nfc => c.nfd().next(),
        };
        if !decomposed.is_some_and(starts_anew) {
            return Ok(Fate::Depends);
        }
    }
    let settled = settle(steps, c.encode_utf8(&mut [0; 4]))?;
    let mut chars = settled.chars();
    Ok(match (chars.next(), chars.next()) {
        (None, _) => Fate::Removed,
        (Some(first), _) if composing && !starts_anew(first) => Fate::Depends,
        (Some(only), None) => Fate::Becomes(only),
        (Some(_), Some(_)) => Fate::Expands,
    })
}

/// Whether `c` neither composes with what stands before it nor changes places
/// with it.
fn starts_anew(c: char) -> bool {
    canonical_combining_class(c) == 0 && is_nfc_quick(std::iter::once(c)) == IsNormalized::Yes
}

/// Forms, kinds of punctuation, and five switches.
const COMBINATIONS: usize = 3 * 4 * 32;

fn number(steps: Characters) -> usize {
    let form = match steps.form {
        Form::AsWritten => 0,
        Form::Nfc => 1,
        Form::Nfkc => 2,
    };
    let punctuation = match steps.punctuation {
        Punctuation::Kept => 0,
        Punctuation::Removed => 1,
        Punctuation::Space => 2,
        Punctuation::BasicRemoved => 3,
    };
    let switches =
        [steps.casefold, steps.diacritics, steps.invisible, steps.digits, steps.whitespace];
    let switch = |number, on: bool| number * 2 + usize::from(on);
    switches.into_iter().fold(form * 4 + punctuation, switch)
}
