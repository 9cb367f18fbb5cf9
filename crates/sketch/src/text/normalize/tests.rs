use std::borrow::Cow;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::definition::settle;
use super::fates::FateTable;
use super::quick;
use super::steps::*;

/// All that the steps on characters can be.
fn steps() -> impl Strategy<Value = CharacterSteps> {
    let form = prop::sample::select(vec![NormalForm::AsWritten, NormalForm::Nfc, NormalForm::Nfkc]);
    let punctuation = prop::sample::select(vec![
        Punctuation::Kept,
        Punctuation::Removed,
        Punctuation::Space,
        Punctuation::BasicRemoved,
    ]);
    (form, punctuation, any::<[bool; 5]>()).prop_map(|(form, punctuation, switches)| {
        let [casefold, diacritics, invisible, digits, whitespace] = switches;
        CharacterSteps { form, casefold, diacritics, punctuation, invisible, digits, whitespace }
    })
}

/// Texts in which neighbours act on each other: marks, jamo, ligatures, signs,
/// spaces of every kind, and long runs of ASCII between.
fn texts() -> impl Strategy<Value = String> {
    let hard = "([aeiouE .!'\u{301}\u{323}\u{345}\u{308}\u{300}éÉßẞİıΐΣςﬁ½²Å\u{212b}가\u{1100}\u{1161}\
        \u{11a8}\u{ffa1}\u{ffc2}がか\u{3099}\u{ff76}\u{ff9e}٣५Ａ１！“”…—€😀\u{fe0f}\u{200d}\u{200b}\u{ad}\u{a0}\u{3000}\
        क\u{93c}\u{94d}\u{95c}न\u{e48}\u{e38}\u{64b}Ⱥ，½…\
        \u{a8}\u{b4}\u{37e}\u{1fee}\u{2000}\u{2029}\u{f900}\u{2f800}\u{1d400}ﷺǆ\u{640}\u{202e}\u{180b}]{0,4}\
        [a-zA-Z0-9 ,.]{0,2}){0,12}";
    prop_oneof![
        hard,
        "\\PC{0,40}",
        "[ -~\n\r\t]{0,300}",
        "([A-Za-z ,.]{60,140}[é\u{301}漢。 ]{1,3}){0,4}",
        prop::collection::vec(any::<char>(), 0..30).prop_map(|chars| chars.into_iter().collect()),
    ]
}

/// The steps by definition, on the whole text.
fn defined(steps: CharacterSteps, text: &str) -> String {
    let settled = settle(steps, text, &mut || ()).unwrap();
    if !steps.whitespace {
        return settled;
    }
    settled.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn normalized(steps: &str, text: &str) -> String {
    let steps: Normalization = steps.parse().unwrap();
    steps.normalize(text, &mut || ()).unwrap().into_owned()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

    #[test]
    fn the_quick_paths_give_what_is_defined(steps in steps(), text in texts()) {
        let found = quick::normalize(steps, &text, None, &mut || ()).unwrap();
        prop_assert_eq!(&*found, defined(steps, &text));
        prop_assert_eq!(matches!(found, Cow::Borrowed(_)), found == text);
    }

    #[test]
    fn normalising_twice_changes_nothing(steps in steps(), text in texts()) {
        let once = quick::normalize(steps, &text, None, &mut || ()).unwrap();
        let twice = quick::normalize(steps, &once, None, &mut || ()).unwrap();
        prop_assert_eq!(&twice, &once);
        prop_assert!(matches!(twice, Cow::Borrowed(_)));
    }

    #[test]
    fn the_order_of_writing_does_not_matter(
        chosen in prop::sample::subsequence(
            vec!["nfkc", "casefold", "diacritics", "punctuation", "digits", "whitespace",
                "split_whitespace", "min_length=4", "stop_words=the+of"], 1..=9),
        shuffle in any::<u64>(),
        comma in any::<bool>(),
    ) {
        let mut shuffled = chosen.clone();
        shuffled.sort_by_key(|step| crate::hash::xxh3::hash(format!("{step}{shuffle}").as_bytes()));
        let read: Normalization = shuffled.join(if comma { " ,\t" } else { "  " }).parse().unwrap();
        let canonical = chosen.join(" ").replace("the+of", "of+the");
        prop_assert_eq!(read.to_string(), &*canonical);
        prop_assert_eq!(canonical.parse::<Normalization>(), Ok(read));
    }

    #[test]
    fn what_a_step_removes_does_not_matter(text in texts()) {
        use unicode_normalization::UnicodeNormalization;
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
    for steps in [
        "nfc",
        "nfkc",
        "nfc casefold",
        "diacritics",
        "plain",
        "aggressive",
        "nfkc casefold punctuation",
    ] {
        let steps = steps.parse::<Normalization>().unwrap().characters;
        let table = FateTable::of(steps).unwrap();
        for c in
            ('\u{80}'..=char::MAX).filter(|c| u32::from(*c) < 0x3_2000 || u32::from(*c) >= 0xE_0000)
        {
            if u32::from(c) >= 0xE_0200 {
                break;
            }
            // What is looked up must hold next to anything; what is not, is worked out anyway.
            let entry = table.entry(u32::from(c));
            let becomes = match entry.in_place() {
                Some((bytes, length)) => String::from_utf8(bytes[..length].to_vec()).unwrap(),
                None if entry.is_same() => c.to_string(),
                None => table.longer(c).to_owned(),
            };
            if entry.is_cut() && becomes.chars().count() == 1 {
                let text = format!("o{c}\u{301}");
                let alone = format!("{becomes}\u{301}");
                let alone = settle(steps, &alone, &mut || ()).unwrap();
                assert_eq!(settle(steps, &text, &mut || ()).unwrap(), format!("o{alone}"), "{c:?}");
            }
            for text in [
                format!("o{c}"),
                format!("\u{1100}{c}"),
                format!("か{c}\u{3099}x"),
                format!("क{c}\u{94d}{c}\u{e48}\u{e38}{c}\u{93c} {c}"),
            ] {
                let found = quick::normalize(steps, &text, None, &mut || ()).unwrap();
                assert_eq!(found, defined(steps, &text), "{c:?}");
                assert_eq!(
                    quick::normalize(steps, &found, None, &mut || ()).unwrap(),
                    found,
                    "{c:?}"
                );
            }
        }
    }
}

#[test]
fn presets_are_lists_of_steps() {
    for (preset, steps) in [
        ("none", "none"),
        ("plain", "nfkc casefold whitespace"),
        ("aggressive", "nfkc casefold diacritics invisible punctuation_space digits whitespace"),
        ("classic", "casefold punctuation_basic split_whitespace min_length=3 stop_words=the"),
    ] {
        let preset: Normalization = preset.parse().unwrap();
        assert_eq!(preset.to_string(), steps);
        assert_eq!(steps.parse(), Ok(preset));
    }
    assert_eq!("".parse(), Ok(Normalization::none()));
    assert_eq!("min_length=1".parse(), Ok(Normalization::none()));
}

#[test]
fn refusals_name_the_steps() {
    let refused = |steps: &str| steps.parse::<Normalization>().unwrap_err().to_string();
    let contradict =
        |a, b| format!("normalization steps \"{a}\" and \"{b}\" contradict each other");
    assert_eq!(refused("casefold stem"), "unknown normalization step \"stem\"");
    assert_eq!(refused("nfc=1"), "unknown normalization step \"nfc=1\"");
    assert_eq!(refused("stop_words="), "unknown normalization step \"stop_words=\"");
    assert_eq!(refused("nfc,nfkc"), contradict("nfc", "nfkc"));
    assert_eq!(
        refused("punctuation punctuation_space"),
        contradict("punctuation", "punctuation_space")
    );
    assert_eq!(refused("min_length=2 min_length=3"), contradict("min_length=2", "min_length=3"));
    assert_eq!(refused("classic punctuation"), contradict("punctuation_basic", "punctuation"));
    assert_eq!(refused("plain nfc"), contradict("nfkc", "nfc"));
    assert_eq!(refused("nfc nfc"), "normalization step \"nfc\" is specified more than once");
    for value in ["0", "65", "-1", "x", ""] {
        let expected = format!("min_length must be between 1 and 64, not \"{value}\"");
        assert_eq!(refused(&format!("min_length={value}")), expected);
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
        let steps: Normalization = steps.parse().unwrap();
        let borrowed = matches!(steps.normalize(text, &mut || ()).unwrap(), Cow::Borrowed(_));
        assert_eq!(borrowed, !steps.drops_tokens(), "{steps}");
    }
}

#[test]
fn long_texts_take_no_longer_than_many_short_ones_and_can_be_cancelled() {
    let steps: Normalization = "aggressive".parse().unwrap();
    for unit in ["a", "É", "漢", "\u{1f600}", "e\u{301}", "\u{1100}\u{1161}", ".", "\u{a0}", "ﬁ"]
    {
        let text = unit.repeat(10_000_000 / unit.len());
        let mut calls = 0;
        let start = std::time::Instant::now();
        let found = steps.normalize(&text, &mut || calls += 1).unwrap();
        let short = steps.normalize(unit, &mut || ()).unwrap().len();
        assert!(found.len() <= short * text.len() / unit.len(), "{unit:?}");
        println!("{unit:?}: {:?}, {calls} calls", start.elapsed());
        assert!(calls >= text.len() / (64 * 1024), "{unit:?}: {calls} calls");
    }
    // A letter with ten million bytes of marks: one step, but not a long one.
    let text = format!("a{}", "\u{301}\u{323}".repeat(2_500_000));
    let start = std::time::Instant::now();
    assert_eq!(steps.normalize(&text, &mut || ()).unwrap(), "a");
    assert!(Normalization::plain().normalize(&text, &mut || ()).unwrap().len() > 9_000_000);
    println!("marks: {:?}", start.elapsed());
}

/// docs/signatures.md has the number.
#[test]
fn the_normal_form_after_case_folding_changes_26_characters() {
    use caseless::Caseless;
    use unicode_normalization::UnicodeNormalization;

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
