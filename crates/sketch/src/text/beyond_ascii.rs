//! Words of text beyond ASCII, as far as no character in it has a rule of its
//! own: letters join, and others stand alone. What a character does was asked of
//! unicode-segmentation when this crate was built (`build.rs`).

/// What a character does to word boundaries.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Class {
    /// Joins letters, digits and low lines (ALetter).
    Letter,
    Digit,
    LowLine,
    /// Joins letters that it is between.
    BetweenLetters,
    /// Joins digits that it is between.
    BetweenDigits,
    /// Joins both.
    Between,
    /// Joins nothing, and is a word by itself: ideographs, hiragana.
    Word,
    /// Joins nothing, and is no word.
    Nothing,
    /// Has rules of its own: marks, katakana, Hebrew, joiners.
    Other,
}

use Class::{Between, BetweenDigits, BetweenLetters, Digit, Letter, LowLine, Nothing, Other, Word};

/// Calls `f` for each word of `text`, if it has only characters without rules
/// of their own; returns whether it has. If not, `f` is not called.
pub(crate) fn each(text: &str, f: &mut impl FnMut(&str)) -> bool {
    if text.chars().any(|c| class(c) == Other) {
        return false;
    }
    let mut chars = text.char_indices().map(|(at, c)| (at, class(c))).peekable();
    let mut start = None;
    let mut before = Nothing;
    while let Some((at, here)) = chars.next() {
        let after = chars.peek().map_or(Nothing, |(_, after)| *after);
        let joins = match here {
            Letter | Digit | LowLine => true,
            BetweenLetters => before == Letter && after == Letter,
            BetweenDigits => before == Digit && after == Digit,
            Between => before == after && matches!(before, Letter | Digit),
            Word | Nothing | Other => false,
        };
        before = here;
        if joins {
            start = start.or(Some(at));
            continue;
        }
        if let Some(start) = start.take() {
            run(&text[start..at], f);
        }
        if here == Word {
            let end = chars.peek().map_or(text.len(), |(end, _)| *end);
            f(&text[at..end]);
        }
    }
    if let Some(start) = start {
        run(&text[start..], f);
    }
    true
}

/// Calls `f` for a run, if it has more than low lines.
fn run(run: &str, f: &mut impl FnMut(&str)) {
    if !run.starts_with('_') || run.bytes().any(|byte| byte != b'_') {
        f(run);
    }
}

// `KIND_OF_PAGE`: of each page of characters, which of the pages of `CLASSES` it is.
include!(concat!(env!("OUT_DIR"), "/word_classes.rs"));

#[inline]
fn class(c: char) -> Class {
    /// Characters of a page.
    const PAGE: usize = CLASSES[0].len();
    let code = c as usize;
    KIND_OF_PAGE.get(code / PAGE).map_or(Other, |&kind| CLASSES[usize::from(kind)][code % PAGE])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_segmentation::UnicodeSegmentation;

    use super::*;

    #[test]
    fn classes_are_those_of_annex_29() {
        for (c, expected) in [
            ('a', Letter),
            ('é', Letter),
            ('Ж', Letter),
            ('가', Letter),
            ('ب', Letter),
            ('漢', Word),
            ('か', Word),
            ('ก', Word),
            ('—', Nothing),
            ('😀', Nothing),
            (' ', Nothing),
            ('\n', Nothing),
            ('"', Nothing),
            ('ア', Other),
            ('א', Other),
            ('\u{301}', Other),
            ('\u{200d}', Other),
            ('’', Other),
            ('٣', Other),
            ('\u{ad}', Other),
            ('🇩', Other),
        ] {
            assert_eq!(class(c), expected, "{c:?}");
        }
    }

    #[test]
    fn every_character_next_to_every_kind_is_as_in_the_tables() {
        for c in ('\0'..=char::MAX).filter(|c| class(*c) != Other) {
            let text = format!("a{c}b'{c}.{c}1,{c}2{c}_{c} {c}:{c}漢{c}é");
            let mut found = Vec::new();
            assert!(each(&text, &mut |word: &str| found.push(word.to_owned())));
            assert_eq!(found, text.unicode_words().collect::<Vec<_>>(), "{c:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

        #[test]
        fn words_are_those_of_the_tables(
            text in prop_oneof![
                "([a-c0-2éЖ漢か가—😀_]{0,5}[ .:,;'_\"\r\n-]{0,2}){0,12}",
                "\\PC{0,12}",
                prop::collection::vec(any::<char>(), 0..8)
                    .prop_map(|chars| chars.into_iter().collect::<String>()),
            ],
        ) {
            let mut found = Vec::new();
            let complete = each(&text, &mut |word: &str| found.push(word.to_owned()));
            let expected: Vec<&str> =
                if complete { text.unicode_words().collect() } else { Vec::new() };
            prop_assert_eq!(found, expected);
        }
    }
}
