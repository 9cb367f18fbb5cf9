//! Words of text beyond ASCII, as far as no character in it has a rule of its
//! own: letters join, and others stand alone. What a character does is found
//! out by asking unicode-segmentation once, not at each occurrence.

use std::sync::OnceLock;

use unicode_segmentation::UnicodeSegmentation;

use crate::memory;

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

const PAGE: usize = 256;
const PAGES: usize = (char::MAX as usize + 1) / PAGE;

#[inline]
fn class(c: char) -> Class {
    static TABLE: [OnceLock<Box<[Class; PAGE]>>; PAGES] = [const { OnceLock::new() }; PAGES];
    let code = c as usize;
    let page = TABLE[code / PAGE].get().or_else(|| {
        let page = filled(code / PAGE)?;
        Some(TABLE[code / PAGE].get_or_init(|| page))
    });
    // Without memory for its page, a character is left to the tables of the crate.
    page.map_or(Other, |page| page[code % PAGE])
}

#[cold]
fn filled(page: usize) -> Option<Box<[Class; PAGE]>> {
    let class = |i| {
        let c = u32::try_from(page * PAGE + i).ok().and_then(char::from_u32);
        c.map_or(Other, found_out)
    };
    memory::collect((0..PAGE).map(class)).ok()?.into_boxed_slice().try_into().ok()
}

fn found_out(c: char) -> Class {
    let parts = |text: String| text.split_word_bounds().count();
    let word = c.to_string().unicode_words().count() == 1;
    match c {
        '0'..='9' => return Digit,
        '_' => return LowLine,
        ':' => return BetweenLetters,
        ',' | ';' => return BetweenDigits,
        '.' | '\'' => return Between,
        // It joins Hebrew letters, and those are left to the tables.
        '"' => return Nothing,
        _ => (),
    }
    // Hebrew letters join an apostrophe behind them, these do not.
    let letter = parts(format!("a:{c}:a")) == 1
        && parts(format!("1{c}1_{c}_")) == 1
        && parts(format!("{c}'")) == 2
        && parts(format!("ア{c}ア")) == 3;
    if letter && word {
        return Letter;
    }
    let alone = ["a", "1", "_", "ア", "א"].iter().all(|x| parts(format!("{x}{c}{x}")) == 3);
    match (alone && parts(format!("{c}{c}")) == 2, word) {
        (true, true) => Word,
        (true, false) => Nothing,
        // Spaces join only each other.
        (false, _) if c == ' ' => Nothing,
        (false, _) => Other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
