//! Texts are normalised as the tables of Unicode say, which are asked plainly here.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use crate::common::{cases, is_thorough};
use caseless::Caseless;
use proptest::prelude::*;
use sketch::Normalization;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// The steps on characters, one after the other on the whole text, until nothing changes.
fn defined(steps: &str, text: &str) -> String {
    let has = |step: &str| steps.split(' ').any(|written| written == step);
    let formed = |text: String| -> String {
        match () {
            () if has("nfkc") => text.nfkc().collect(),
            () if has("nfc") => text.nfc().collect(),
            () => text,
        }
    };
    let mut text = text.to_owned();
    loop {
        let mut next = formed(text.clone());
        if has("casefold") {
            next = formed(next.chars().default_case_fold().collect());
        }
        if has("diacritics") {
            let kept = |c: &char| c.general_category() != GeneralCategory::NonspacingMark;
            next = match has("nfkc") {
                true => next.nfkd().filter(kept).nfkc().collect(),
                false => next.nfd().filter(kept).nfc().collect(),
            };
        }
        next = next.chars().filter_map(|c| mapped(&has, c)).collect();
        if next == text {
            break;
        }
        text = next;
    }
    if has("whitespace") { text.split_whitespace().collect::<Vec<_>>().join(" ") } else { text }
}

/// Applies the steps after the normal form to a character.
fn mapped(has: &dyn Fn(&str) -> bool, c: char) -> Option<char> {
    use GeneralCategoryGroup::{Punctuation, Symbol};
    let punctuation = matches!(c.general_category_group(), Punctuation | Symbol);
    match c {
        _ if has("punctuation") && punctuation => None,
        _ if has("punctuation_space") && punctuation => Some(' '),
        '.' | ',' | ':' | ';' | '\'' if has("punctuation_basic") => None,
        // Soft hyphen, tatweel, zero-width characters, controls of direction, variation selectors.
        '\u{ad}'
        | '\u{640}'
        | '\u{61c}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{2069}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{e0100}'..='\u{e01ef}'
            if has("invisible") =>
        {
            None
        }
        _ if has("digits") && c.general_category() == GeneralCategory::DecimalNumber => Some('0'),
        _ if has("whitespace") && c.is_whitespace() => Some(' '),
        _ => Some(c),
    }
}

/// All that the steps on characters can be.
fn steps() -> impl Strategy<Value = String> {
    let form = prop::sample::select(vec!["", "nfc", "nfkc"]);
    let punctuation = ["", "punctuation", "punctuation_space", "punctuation_basic"];
    let punctuation = prop::sample::select(punctuation.to_vec());
    let switches = vec!["casefold", "diacritics", "invisible", "digits", "whitespace"];
    (form, punctuation, prop::sample::subsequence(switches, 0..=5)).prop_map(
        |(form, punctuation, switches)| [&[form, punctuation], &switches[..]].concat().join(" "),
    )
}

/// Texts in which neighbours act on each other: marks, jamo, ligatures, signs, spaces of every kind, long runs of
/// ASCII between, and marks of all classes in runs far beyond what people write.
fn texts() -> impl Strategy<Value = String> {
    let hard = "([aeiouE .!'\u{301}\u{323}\u{345}\u{308}\u{300}éÉßẞİıΐΣςﬁ½²Å\u{212b}가\u{1100}\u{1161}\
        \u{11a8}\u{ffa1}\u{ffc2}がか\u{3099}\u{ff76}\u{ff9e}٣५Ａ１！“”…—€😀\u{fe0f}\u{200d}\u{200b}\u{ad}\u{a0}\u{3000}\
        क\u{93c}\u{94d}\u{95c}न\u{e48}\u{e38}\u{64b}Ⱥ，½…\
        \u{a8}\u{b4}\u{37e}\u{1fee}\u{2000}\u{2029}\u{f900}\u{2f800}\u{1d400}ﷺǆ\u{640}\u{202e}\u{180b}]{0,4}\
        [a-zA-Z0-9 ,.]{0,2}){0,12}";
    let forms = "[a-cé\u{300}-\u{345}\u{5b0}-\u{5c7}\u{1100}-\u{1112}\u{1161}-\u{1175}\u{11a8}-\u{11c2}가ﬁ㎏]{0,40}";
    let marks = "[a\u{300}-\u{345}\u{5b0}-\u{5c7}\u{64b}-\u{652}\u{1161}\u{1d165}-\u{1d172}]{1,30}";
    prop_oneof![
        2 => hard,
        1 => forms,
        1 => "\\PC{0,40}",
        1 => "[ -~\n\r\t]{0,300}",
        1 => "([A-Za-z ,.]{60,140}[é\u{301}漢。 ]{1,3}){0,4}",
        1 => prop::collection::vec(any::<char>(), 0..30).prop_map(|chars| chars.into_iter().collect()),
        1 => (marks, 1_usize..200).prop_map(|(marks, times)| marks.repeat(times)),
    ]
}

fn normalized(steps: &str, text: &str) -> String {
    let steps: Normalization = steps.parse().unwrap();
    steps.normalize(text, &mut || ()).unwrap().into_owned()
}

proptest! {
    #![proptest_config(cases(6000))]

    #[test]
    fn texts_are_normalised_as_the_tables_say(steps in steps(), text in texts()) {
        let parsed: Normalization = steps.parse().unwrap();
        let found = parsed.normalize(&text, &mut || ()).unwrap();
        prop_assert_eq!(&*found, defined(&steps, &text));
        prop_assert_eq!(matches!(found, Cow::Borrowed(_)), found == text);
        let twice = parsed.normalize(&found, &mut || ()).unwrap();
        prop_assert_eq!(&twice, &found);
        prop_assert!(matches!(twice, Cow::Borrowed(_)));
    }

    #[test]
    fn what_a_step_removes_does_not_matter(text in texts()) {
        prop_assert_eq!(
            normalized("nfc", &text.nfd().collect::<String>()), normalized("nfc", &text));
        prop_assert_eq!(
            normalized("nfkc", &text.nfkd().collect::<String>()), normalized("nfkc", &text));
        prop_assert_eq!(
            normalized("whitespace", &text.replace(' ', "\u{2003}\n ")),
            normalized("whitespace", &text));
        prop_assert_eq!(
            normalized("punctuation", &text.replace(' ', " ;")), normalized("punctuation", &text));
        prop_assert_eq!(
            normalized("digits", &text.replace(['1', '2'], "\u{661}")), normalized("digits", &text));
        prop_assert_eq!(
            normalized("casefold", &text.to_ascii_uppercase()), normalized("casefold", &text));
        // A mark on a space does not compose with it, but moves among others.
        let marked: String = text.nfd().flat_map(|c| [c, '\u{302}']).collect();
        prop_assert_eq!(normalized("diacritics", &marked), normalized("diacritics", &text));
    }
}

#[test]
fn every_character_between_letters_is_as_defined() {
    // All that have another form than themselves are here.
    let chars = || ('\u{80}'..'\u{32000}').chain('\u{e0000}'..'\u{e0200}');
    let all = [
        "nfc",
        "nfkc",
        "nfc casefold",
        "diacritics",
        "nfkc casefold whitespace",
        "nfkc casefold diacritics invisible punctuation_space digits whitespace",
        "nfkc casefold punctuation",
    ];
    for (at, written) in all.into_iter().enumerate() {
        let steps: Normalization = written.parse().unwrap();
        // Each by all of them, or by one in turn.
        let turn = |c: &char| is_thorough() || *c as usize % all.len() == at;
        for c in chars().filter(turn) {
            for text in [
                format!("o{c}"),
                format!("o{c}\u{301}{c}"),
                format!("\u{1100}{c}"),
                format!("か{c}\u{3099}x"),
                format!("क{c}\u{94d}{c}\u{e48}\u{e38}{c}\u{93c} {c}"),
            ] {
                let found = steps.normalize(&text, &mut || ()).unwrap();
                assert_eq!(found, defined(written, &text), "{c:?}");
                assert_eq!(steps.normalize(&found, &mut || ()).unwrap(), found, "{c:?}");
            }
        }
    }
}

#[test]
fn scripts_become_what_the_documentation_says() {
    let plain = |text| normalized("plain", text);
    assert_eq!(plain("  Ｆｕｌｌ\u{3000}Width ﬁ ①  "), "full width fi 1");
    assert_eq!(plain("STRASSE Straße"), "strasse strasse");
    assert_eq!(plain("ΌΣΟΣ όσος"), "όσοσ όσοσ");
    assert_eq!(plain("İstanbul"), "i\u{307}stanbul");
    assert_eq!(plain("ΐ \u{3b9}\u{308}\u{301}"), "ΐ ΐ");
    assert_eq!(plain("ｶﾞ 한글 \u{1112}\u{1161}\u{11ab}"), "ガ 한글 한");
    let aggressive = |text| normalized("aggressive", text);
    assert_eq!(aggressive("Café—naïve, №42 (Ünïcödé)!"), "cafe naive no00 unicode");
    assert_eq!(aggressive("12.5 € ١٢ १२ 😀👍🏽"), "00 0 00 00");
    assert_eq!(aggressive("שָׁלוֹם مَرْحَبًا"), "שלום مرحبا");
    assert_eq!(aggressive("が ガ 한글 漢字。"), "か カ 한글 漢字");
    assert_eq!(aggressive("Tiếng Việt Đà Nẵng"), "tieng viet đa nang");
    assert_eq!(aggressive("Ёлка й"), "елка и");
    // Zero-width characters are neither white space nor punctuation.
    let zero = "a\u{200b}b\u{200d}c\u{ad}d\u{feff}e";
    assert_eq!(normalized("plain", zero), zero);
    assert_eq!(aggressive(zero), "abcde");
    assert_eq!(normalized("invisible", "\u{2067}مـر\u{2069}\u{fe0e}!\u{e0101}"), "مر!");
    // What they separated composes, and is one run of white space.
    assert_eq!(normalized("nfc invisible", "e\u{200d}\u{301}"), "\u{e9}");
    assert_eq!(normalized("invisible whitespace", "a \u{200b} b"), "a b");
    // Marks without a letter, before anything and after a space.
    assert_eq!(normalized("nfc", "\u{301}a \u{301}"), "\u{301}a \u{301}");
    assert_eq!(aggressive("\u{301}a \u{301} \u{20dd}"), "a \u{20dd}");
    // What is removed makes neighbours.
    assert_eq!(normalized("nfc punctuation", "e.\u{301}"), "é");
    assert_eq!(normalized("nfc punctuation_space", "e.\u{301}"), "e \u{301}");
    assert_eq!(normalized("punctuation_basic", "a.b,c:d;e'f!g\"h’"), "abcdef!g\"h’");
}

#[test]
fn a_text_that_changes_nothing_is_borrowed() {
    let text = "plain words, in one line 0\u{e9}\u{6f22}. ".repeat(3000);
    let text = text.trim_end();
    for steps in ["nfc", "nfkc casefold", "plain", "digits", "none", "classic"] {
        let parsed: Normalization = steps.parse().unwrap();
        let borrowed = matches!(parsed.normalize(text, &mut || ()).unwrap(), Cow::Borrowed(_));
        assert_eq!(borrowed, steps != "classic", "{steps}");
    }
}

#[test]
fn long_texts_take_no_longer_than_many_short_ones_and_can_be_cancelled() {
    let steps: Normalization = "aggressive".parse().unwrap();
    for unit in ["a", "É", "漢", "\u{1f600}", "e\u{301}", "\u{1100}\u{1161}", ".", "\u{a0}", "ﬁ"]
    {
        let text = unit.repeat(10_000_000 / unit.len());
        let mut calls = 0;
        let start = Instant::now();
        let found = steps.normalize(&text, &mut || calls += 1).unwrap();
        let short = steps.normalize(unit, &mut || ()).unwrap().len();
        assert!(found.len() <= short * text.len() / unit.len(), "{unit:?}");
        println!("{unit:?}: {:?}, {calls} calls", start.elapsed());
        assert!(calls >= text.len() / (64 * 1024), "{unit:?}: {calls} calls");
    }
    // A letter with ten million bytes of marks: one step, but not a long one.
    let text = format!("a{}", "\u{301}\u{323}".repeat(2_500_000));
    let start = Instant::now();
    assert_eq!(steps.normalize(&text, &mut || ()).unwrap(), "a");
    assert!(Normalization::plain().normalize(&text, &mut || ()).unwrap().len() > 9_000_000);
    println!("marks: {:?}", start.elapsed());
}

/// docs/signatures.md has the number.
#[test]
fn the_normal_form_after_case_folding_changes_26_characters() {
    let changes = |c: &char| {
        let folded: String = c.nfkc().default_case_fold().collect();
        let formed: String = folded.nfkc().collect();
        if formed != folded {
            assert_eq!(normalized("plain", &c.to_string()), formed, "{c:?}");
        }
        formed != folded
    };
    let changed: Vec<char> = ('\0'..=char::MAX).filter(changes).collect();
    assert_eq!(changed.len(), 26, "{changed:?}");
    assert!(changed.contains(&'ǰ') && changed.contains(&'ΐ'));
}

/// One letter with all its marks is a step of the work, but not one without a look at interrupts.
#[test]
fn a_long_run_of_marks_can_be_cancelled() {
    let text = "\u{323}\u{301}\u{345}".repeat(1 << 20);
    for steps in ["nfc", "plain", "aggressive"] {
        let (mut last, mut longest, mut looks) = (Instant::now(), Duration::ZERO, 0);
        let steps: Normalization = steps.parse().unwrap();
        let mut check = || {
            looks += 1;
            longest = longest.max(last.elapsed());
            last = Instant::now();
        };
        steps.normalize(&text, &mut check).unwrap();
        assert!(looks > 500, "{looks}");
        // Ten times what it is on a loaded machine, and a tenth of what the whole takes without a look.
        assert!(longest < Duration::from_secs(1), "{steps}: {longest:?}");
    }
}
