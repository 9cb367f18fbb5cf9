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
use crate::memory;

/// A decomposed text: characters with their combining classes, in canonical order.
pub(super) struct Decomposed(Vec<(u8, char)>);

impl Decomposed {
    /// The canonical decomposition, NFD.
    pub(super) fn canonical(text: &str) -> Result<Self, Error> {
        Self::by(text, |c, emit| decompose_canonical(c, emit))
    }

    /// The compatibility decomposition, NFKD.
    pub(super) fn compatible(text: &str) -> Result<Self, Error> {
        Self::by(text, |c, emit| decompose_compatible(c, emit))
    }

    fn by(text: &str, decompose: impl Fn(char, &mut dyn FnMut(char))) -> Result<Self, Error> {
        let mut chars = memory::with_capacity(text.len())?;
        for c in text.chars() {
            let mut outcome = Ok(());
            decompose(c, &mut |part| {
                let pushed = memory::push(&mut chars, (canonical_combining_class(part), part));
                outcome = std::mem::replace(&mut outcome, Ok(())).and(pushed);
            });
            outcome?;
        }
        for marks in chars.split_mut(|(class, _)| *class == 0) {
            order(marks)?;
        }
        Ok(Self(chars))
    }

    /// Drops the characters that are not `kept`.
    pub(super) fn retain(mut self, kept: impl Fn(char) -> bool) -> Self {
        self.0.retain(|(_, c)| kept(*c));
        self
    }

    /// The composed text: NFC of a canonical decomposition, NFKC of a compatible one.
    pub(super) fn composed(mut self) -> Result<String, Error> {
        let chars = &mut self.0;
        let mut starter: Option<usize> = None;
        let mut end = 0;
        for i in 0..chars.len() {
            let (class, c) = chars[i];
            if let Some(start) = starter {
                // Not blocked: next to the starter, or behind marks of lower classes.
                let reaches = end == start + 1 || chars[end - 1].0 < class;
                if let Some(both) = if reaches { compose(chars[start].1, c) } else { None } {
                    chars[start].1 = both;
                    continue;
                }
            }
            if class == 0 {
                starter = Some(end);
            }
            chars[end] = (class, c);
            end += 1;
        }
        memory::text(chars[..end].iter().map(|(_, c)| *c))
    }
}

/// Sorts marks by class, those of one class as they stand.
fn order(marks: &mut [(u8, char)]) -> Result<(), Error> {
    if marks.is_sorted_by_key(|(class, _)| *class) {
        return Ok(());
    }
    let before = memory::copied(marks)?;
    let mut places = [0_usize; 256];
    for (class, _) in &before {
        places[usize::from(*class)] += 1;
    }
    let mut next = 0;
    for place in &mut places {
        next += std::mem::replace(place, next);
    }
    for mark in before {
        let place = &mut places[usize::from(mark.0)];
        marks[*place] = mark;
        *place += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    use super::*;

    fn forms(text: &str) -> [String; 4] {
        let plain = |decomposed: Decomposed| decomposed.0.into_iter().map(|(_, c)| c).collect();
        [
            plain(Decomposed::canonical(text).unwrap()),
            plain(Decomposed::compatible(text).unwrap()),
            Decomposed::canonical(text).unwrap().composed().unwrap(),
            Decomposed::compatible(text).unwrap().composed().unwrap(),
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
