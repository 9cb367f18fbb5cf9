//! Words are defined by Unicode Standard Annex 29, as the crate unicode-segmentation cuts them, wherever a text is cut
//! into pieces and whichever instructions are used.

use crate::common::{cases, config, found_tokens, is_thorough, signature, sketch};
use minlsh_sketch::{Config, Sketcher};
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

fn words() -> Config {
    config("fss", 64, "word", 1, 0)
}

/// Letters, digits and what joins or parts them, of several scripts.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~\n\r\t]{0,80}",
        "[\\x00-\\x7f]{0,200}",
        "([a-c0-2_]{0,9}[ .:,;'_\"-]{0,2}){0,60}",
        "[a_ ]{0,30}.{0}[a0.']{50,140}",
        "([a-c0-2éЖ漢か가—😀_]{0,5}[ .:,;'_\"\r\n-]{0,2}){0,12}",
        "([a1éアー漢か٣\u{301}\u{93f}\u{200d}\u{fe0f}\u{3099}कक्षि—😀❤👍🏽_]{0,7}[ .:,’·،'_\n\u{3000}ℹ]{0,2}){0,14}",
        "([a-z0-9'._:,;\"\u{300}\u{64d}\u{3000}\u{200d}😀🇦🇧漢かア\u{5d0}\r]{0,3}[ \n]{0,2}){0,20}",
        "\\PC{0,40}",
        prop::collection::vec(any::<char>(), 0..40).prop_map(|chars| chars.into_iter().collect::<String>()),
    ]
}

proptest! {
    #![proptest_config(cases(60_000))]

    #[test]
    fn words_are_those_of_the_tables(text in texts()) {
        let expected: Vec<&str> = text.unicode_words().collect();
        prop_assert_eq!(found_tokens(&words(), &text), expected);
        // On every level of the machine.
        prop_assert_eq!(sketch(&words(), &text), signature(&words(), &text));
    }
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn cutting_a_text_into_pieces_changes_no_word(text in texts()) {
        let text = text.repeat(1 + 5000 / text.len().max(1));
        prop_assert_eq!(found_tokens(&words(), &text), text.unicode_words().collect::<Vec<_>>());
    }
}

#[test]
fn every_character_next_to_every_kind_is_as_in_the_tables() {
    let words = words();
    // In `make test` one of 16 characters of the planes behind the first two, which have few kinds.
    let is_wanted = |c: &char| is_thorough() || *c < '\u{20000}' || u32::from(*c) % 16 == 1;
    for c in ('\0'..=char::MAX).filter(is_wanted) {
        for text in [
            format!("{c}a b{c} 1{c} ア{c} 漢{c}ア{c}漢 {c}{c}a{c}é{c}1{c}1"),
            format!("a{c}b'{c}.{c}1,{c}2{c}_{c} {c}:{c}漢{c}é"),
            format!("ア{c}イ.{c}{c}a\u{301}{c}\u{93f}1’{c}’a،{c}،1{c}\u{200d}a"),
            format!("{c}\u{200d}😀{c}\n{c}\r\n_\u{301}{c}\u{3000}{c}か\u{3099}{c}"),
            format!("{c}a"),
        ] {
            let expected: Vec<&str> = text.unicode_words().collect();
            assert_eq!(found_tokens(&words, &text), expected, "{c:?} {text:?}");
        }
    }
}

/// Sixteen characters at a time, each next to the others, on every level of the machine.
#[test]
fn every_character_is_cut_alike_on_every_level() {
    let words = words();
    let chars: Vec<char> = ('\0'..=char::MAX).collect();
    for chars in chars.chunks(16) {
        let text: String = chars.iter().map(|c| format!("a{c} {c}")).collect();
        assert_eq!(sketch(&words, &text), signature(&words, &text), "{text:?}");
    }
}

/// Wherever in a block of 64 bytes they come.
#[test]
fn pictures_that_are_joined_stay_one_word_with_a_mark() {
    for before in 0..80 {
        for joined in ["👍\u{200d}👍\u{93f}", "漢👍\u{200d}👍\u{200d}👍\u{93f}", "  👍\u{200d}\u{200d}👍\u{300}"]
        {
            let text = format!("{}{joined}a.1.b.2{}", "a".repeat(before), ".1".repeat(20));
            assert_eq!(found_tokens(&words(), &text), text.unicode_words().collect::<Vec<_>>(), "{text}");
        }
    }
}

#[test]
fn texts_of_several_scripts_have_these_words() {
    let words = |text| found_tokens(&words(), text).join("|");
    assert_eq!(
        words("I can't pay 3.14 e.g. snake_case,or \u{201c}na\u{ef}ve\u{201d}\u{2014}not 漢字!"),
        "I|can't|pay|3.14|e.g|snake_case|or|na\u{ef}ve|not|漢|字"
    );
    assert_eq!(words("我爱北京天安门。"), "我|爱|北|京|天|安|门");
    assert_eq!(words("私はカタカナを読みます"), "私|は|カタカナ|を|読|み|ま|す");
    assert_eq!(words("나는 학교에 갔습니다."), "나는|학교에|갔습니다");
    assert_eq!(words("ภาษาไทย"), "ภ|า|ษ|า|ไ|ท|ย");
    assert_eq!(words("ที่นี่"), "ที่|นี่");
    assert_eq!(words("مرحبا بالعالم، كيف"), "مرحبا|بالعالم|كيف");
    assert_eq!(words("עו\"ד צה״ל"), "עו\"ד|צה״ל");
    assert_eq!(words("😀 👨‍👩‍👧 🇩🇪 ok👍🏽"), "ok");
    assert_eq!(words("हिन्दी में"), "हिन्दी|में");
}

#[test]
fn a_long_word_can_be_cancelled() {
    let length = 1 << 20;
    let of_words = ["é", "é.", "א", "ア", "x\u{301}", "a", "é,", "a,", "漢\u{301}", "ab\u{93f}"];
    let of_none = ["\u{345}\u{301}", "_\u{301}", ".\u{301}", "😀\u{200d}", "🇦", "\u{3000}", "\"\u{e0041}"];
    for unit in of_words.into_iter().chain(of_none) {
        let text = unit.repeat(length / unit.len());
        let mut checks = 0;
        Sketcher::new(words()).sketch(&text, &mut || checks += 1).unwrap();
        assert!(checks >= 14, "{checks} checks of {unit:?}");
    }
}
