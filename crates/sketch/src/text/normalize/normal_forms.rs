//! Normal forms of a text of any length.
//!
//! The crate unicode-normalization keeps all the marks of a letter in memory that it allocates by
//! itself, and some texts are nothing but marks. So only its tables are used here: of what a
//! character decomposes to, of combining classes, and of what two characters compose to
//! (Unicode Standard Annex 15, section 1.2 and definition D117 of chapter 3).

use unicode_normalization::char::{
    canonical_combining_class, compose, decompose_canonical, decompose_compatible,
};

use crate::error::Error;
use crate::limits::Check;
use crate::memory;

/// Characters between two calls of `check`.
const STRETCH: usize = 16 * 1024;

/// The characters of a text, with a call of `check` for every run of them that is short.
pub(super) fn checked<'a>(text: &'a str, check: Check<'a>) -> impl Iterator<Item = char> + 'a {
    let mut left = STRETCH;
    text.chars().inspect(move |_| {
        left -= 1;
        if left == 0 {
            left = STRETCH;
            check();
        }
    })
}

/// A character with its combining class, which is in the upper byte.
#[derive(Clone, Copy)]
struct Classed(u32);

impl Classed {
    fn new(class: u8, c: char) -> Self {
        Self(u32::from(class) << 24 | u32::from(c))
    }

    fn of(c: char) -> Self {
        Self::new(canonical_combining_class(c), c)
    }

    fn class(self) -> u8 {
        (self.0 >> 24) as u8
    }

    fn char(self) -> char {
        char::from_u32(self.0 & 0xff_ffff).unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

/// A decomposed text: characters with their combining classes, in canonical order.
pub(super) struct Decomposed(Vec<Classed>);

impl Decomposed {
    /// The canonical decomposition, NFD.
    pub(super) fn canonical(text: &str, check: Check) -> Result<Self, Error> {
        Self::by(text, |c, emit| decompose_canonical(c, emit), check)
    }

    /// The compatibility decomposition, NFKD.
    pub(super) fn compatible(text: &str, check: Check) -> Result<Self, Error> {
        Self::by(text, |c, emit| decompose_compatible(c, emit), check)
    }

    fn by(
        text: &str,
        decompose: impl Fn(char, &mut dyn FnMut(char)),
        check: Check,
    ) -> Result<Self, Error> {
        let mut chars = memory::with_capacity(text.chars().count())?;
        for c in checked(text, check) {
            let mut outcome = Ok(());
            decompose(c, &mut |part| {
                let pushed = memory::push(&mut chars, Classed::of(part));
                outcome = std::mem::replace(&mut outcome, Ok(())).and(pushed);
            });
            outcome?;
        }
        let mut done = 0;
        for marks in chars.split_mut(|c| c.class() == 0) {
            done += marks.len() + 1;
            if done >= STRETCH {
                done = 0;
                check();
            }
            order(marks, check)?;
        }
        Ok(Self(chars))
    }

    /// Drops the characters that are not `kept`.
    pub(super) fn retain(mut self, kept: impl Fn(char) -> bool, check: Check) -> Self {
        let mut done = 0;
        self.0.retain(|c| {
            done += 1;
            if done % STRETCH == 0 {
                check();
            }
            kept(c.char())
        });
        self
    }

    /// The composed text: NFC of a canonical decomposition, NFKC of a compatible one.
    pub(super) fn composed(mut self, check: Check) -> Result<String, Error> {
        let chars = &mut self.0;
        let mut starter: Option<usize> = None;
        let mut end = 0;
        for i in 0..chars.len() {
            if i % STRETCH == 0 {
                check();
            }
            let c = chars[i];
            if let Some(start) = starter {
                // Not blocked: next to the starter, or behind marks of lower classes.
                let reaches = end == start + 1 || chars[end - 1].class() < c.class();
                let both = if reaches { compose(chars[start].char(), c.char()) } else { None };
                if let Some(both) = both {
                    chars[start] = Classed::new(chars[start].class(), both);
                    continue;
                }
            }
            if c.class() == 0 {
                starter = Some(end);
            }
            chars[end] = c;
            end += 1;
        }
        let mut text = String::new();
        for part in chars[..end].chunks(STRETCH) {
            check();
            for c in part {
                memory::push_str(&mut text, c.char().encode_utf8(&mut [0; 4]))?;
            }
        }
        Ok(text)
    }
}

/// Sorts marks by class, those of one class as they stand.
fn order(marks: &mut [Classed], check: Check) -> Result<(), Error> {
    if marks.is_sorted_by_key(|mark| mark.class()) {
        return Ok(());
    }
    let before = memory::copied(marks)?;
    let mut places = [0_usize; 256];
    for part in before.chunks(STRETCH) {
        check();
        part.iter().for_each(|mark| places[usize::from(mark.class())] += 1);
    }
    let mut next = 0;
    for place in &mut places {
        next += std::mem::replace(place, next);
    }
    for part in before.chunks(STRETCH) {
        check();
        for mark in part {
            let place = &mut places[usize::from(mark.class())];
            marks[*place] = *mark;
            *place += 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    use super::*;

    fn forms(text: &str) -> [String; 4] {
        let plain = |decomposed: Decomposed| decomposed.0.into_iter().map(Classed::char).collect();
        [
            plain(Decomposed::canonical(text, &mut || ()).unwrap()),
            plain(Decomposed::compatible(text, &mut || ()).unwrap()),
            Decomposed::canonical(text, &mut || ()).unwrap().composed(&mut || ()).unwrap(),
            Decomposed::compatible(text, &mut || ()).unwrap().composed(&mut || ()).unwrap(),
        ]
    }

    fn expected(text: &str) -> [String; 4] {
        [text.nfd().collect(), text.nfkd().collect(), text.nfc().collect(), text.nfkc().collect()]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

        #[test]
        fn forms_are_those_of_the_crate(
            text in prop_oneof![
                "[a-cé\u{300}-\u{345}\u{5b0}-\u{5c7}\u{1100}-\u{1112}\u{1161}-\u{1175}\u{11a8}-\u{11c2}가ﬁ㎏]{0,40}",
                "\\PC{0,30}",
                prop::collection::vec(any::<char>(), 0..20)
                    .prop_map(|chars| chars.into_iter().collect::<String>()),
            ],
        ) {
            prop_assert_eq!(forms(&text), expected(&text));
        }

        /// Marks of all classes, in runs far beyond what people write.
        #[test]
        fn so_are_those_of_long_runs_of_marks(
            marks in prop::collection::vec(
                "[a\u{300}-\u{345}\u{5b0}-\u{5c7}\u{64b}-\u{652}\u{1161}\u{1d165}-\u{1d172}]",
                1..30,
            ),
            times in 1_usize..200,
        ) {
            let text = marks.concat().repeat(times);
            prop_assert_eq!(forms(&text), expected(&text));
        }
    }

    #[test]
    fn every_character_has_its_forms() {
        // All that have another form than themselves are below.
        for c in ('\0'..='\u{2ffff}').filter(|c| !('\u{4e00}'..='\u{9fff}').contains(c)) {
            if u32::from(c) > 0x1_ffff && u32::from(c) < 0x2_f800 {
                continue;
            }
            let text = format!("a{c}\u{301}{c}");
            assert_eq!(forms(&text), expected(&text), "{c:?}");
        }
    }
}
