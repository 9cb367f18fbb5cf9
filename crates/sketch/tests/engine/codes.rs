//! The codes of a text: what `docs/reference/text.md` says, against a naive copy of it.

use crate::common::{cases, visited};
use minlsh_sketch::{Error, Normalization};
use proptest::prelude::*;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;

fn codes(text: &str, min_length: i64) -> Vec<String> {
    visited(|f| minlsh_sketch::codes(text, min_length, &mut || (), f))
}

/// The definition, by `unicode-segmentation` and strings of its own for each token.
fn defined(text: &str, min_length: usize) -> Vec<String> {
    let text = Normalization::plain().normalize(text, &mut || ()).unwrap().into_owned();
    let ends = |part: &str| {
        part.chars().any(|c| {
            let category = c.general_category();
            c.is_whitespace()
                || category == GeneralCategory::OpenPunctuation
                || category == GeneralCategory::ClosePunctuation
        })
    };
    let is_digit = |c: char| c.general_category() == GeneralCategory::DecimalNumber;
    let mut tokens = vec![String::new()];
    let mut after_word = false;
    for part in text.split_word_bounds() {
        let is_word = part.contains(char::is_alphanumeric);
        if is_word && after_word || ends(part) {
            tokens.push(String::new());
        }
        if is_word {
            tokens.last_mut().unwrap().extend(part.chars().filter(|c| c.is_alphanumeric()));
        }
        after_word = is_word;
    }
    let mut codes: Vec<String> = Vec::new();
    for token in tokens {
        let long = token.chars().count() >= min_length;
        if long && token.contains(is_digit) && !codes.contains(&token) {
            codes.push(token);
        }
    }
    codes
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~\n\r\t]{0,80}",
        "([A-Ca-c0-2]{0,5}[ .,;:/()_\"'-]{0,2}){0,30}",
        "([a1é２٣²①Ⅷアー漢か\u{301}\u{93f}\u{200d}क्ษ—😀_]{0,6}[ .:,’（）「」\n\u{3000}-]{0,2}){0,14}",
        "\\PC{0,40}",
    ]
}

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn codes_are_as_defined(text in texts(), min_length in 1_usize..6) {
        prop_assert_eq!(codes(&text, min_length as i64), defined(&text, min_length));
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn long_texts_have_the_codes_of_their_pieces(text in texts()) {
        let text = format!("{text} ").repeat(1 + 5000 / (text.len() + 1));
        prop_assert_eq!(codes(&text, 1), defined(&text, 1));
    }
}

#[test]
fn a_space_with_a_mark_ends_a_token_wherever_a_piece_ends() {
    // The mark is a letter to Unicode, and one word with the space before it.
    for count in [1, 5000] {
        assert_eq!(codes(&"7, \u{93f} ".repeat(count), 1), ["7"]);
    }
}

#[test]
fn a_token_ends_at_white_space_brackets_and_other_words() {
    let all = |text: &str| codes(text, 1).join(" ");
    assert_eq!(all("Sony PS-LX350H, ps.lx.350h (LX350H) PSLX350H"), "pslx350h lx350h");
    assert_eq!(all("42\" 1,000 1000 ３.０ 2019-03-04 2019/3/4"), "42 1000 30 20190304 201934");
    assert_eq!(all("型号HF-10的产品 3,000円"), "hf10 3000");
    assert_eq!(all("no digit, ½ dozen, Ⅷ"), "12");
    assert_eq!(codes("GTK 3, 1080p, 8GB, 60\", KDL-46", 4), ["1080p", "kdl46"]);
    assert_eq!(codes("abc1 abc12", i64::MAX), Vec::<String>::new());
    for min_length in [0, -1, i64::MIN] {
        let refused = minlsh_sketch::codes("a1", min_length, &mut || (), &mut |_| Ok(()));
        assert_eq!(refused, Err(Error::CodeLength(min_length)));
    }
}
