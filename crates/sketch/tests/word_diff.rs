//! The differences between two texts, word by word.

use proptest::prelude::*;
use sketch::{Error, FoundIn, MAX_DIFF_WORDS, Normalization, word_diff};

fn diff(normalization: &str, a: &str, b: &str) -> Result<Vec<(FoundIn, String)>, Error> {
    let normalization: Normalization = normalization.parse().unwrap();
    let mut parts = Vec::new();
    word_diff::<Error>(
        &normalization,
        a,
        b,
        |spawn| spawn(),
        &mut || (),
        &mut |found_in, part| {
            parts.push((found_in, part.to_owned()));
            Ok(())
        },
    )?;
    Ok(parts)
}

fn of(parts: &[(FoundIn, String)], wanted: &[FoundIn]) -> String {
    let wanted = parts.iter().filter(|(found_in, _)| wanted.contains(found_in));
    wanted.map(|(_, part)| part.as_str()).collect()
}

#[test]
fn a_changed_word_stands_between_what_both_have() {
    let parts = diff("plain", "The cat sat on the mat.", "the  dog sat on\nthe mat!").unwrap();
    let expected = [
        (FoundIn::Both, "The "),
        (FoundIn::A, "cat "),
        (FoundIn::B, "dog "),
        (FoundIn::Both, "sat on the mat"),
        (FoundIn::A, "."),
        (FoundIn::B, "!"),
    ];
    assert_eq!(parts, expected.map(|(found_in, part)| (found_in, part.to_owned())));
}

#[test]
fn words_are_compared_after_normalization() {
    assert_eq!(diff("plain", "Straße\u{301}", "STRASSE\u{301}").unwrap().len(), 1);
    assert_eq!(diff("none", "Straße", "STRASSE").unwrap().len(), 2);
    assert_eq!(diff("plain", "", "").unwrap(), []);
    assert_eq!(diff("plain", " ", "x").unwrap().len(), 2);
}

#[test]
fn a_text_of_too_many_words_is_refused() {
    let long = "a ".repeat(MAX_DIFF_WORDS + 1);
    assert_eq!(diff("plain", &long, "a"), Err(Error::DiffWords));
}

/// Runs of growing length between words that differ: the longest is last, so a recursion into what stands before it
/// is as deep as there are runs, and deeper with words that are rarer.
#[test]
fn adversarial_texts_do_not_overflow_the_stack() {
    let (mut a, mut b) = (String::new(), String::new());
    for rarity in (1..40).rev() {
        for run in 1..50 {
            for copy in 0..run {
                for text in [&mut a, &mut b] {
                    text.push_str(&format!(
                        "r{rarity}w{} ",
                        (run * 7 + copy) % (40 - rarity).max(1)
                    ));
                }
            }
            a.push_str(&format!("a{rarity}x{run} "));
            b.push_str(&format!("b{rarity}y{run} "));
        }
    }
    let parts = diff("plain", &a, &b).unwrap();
    assert_eq!(of(&parts, &[FoundIn::A, FoundIn::Both]), a);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn the_parts_of_a_text_are_the_text(a in "([abc]|[ \n]|é|中|\\PC){0,60}", b in "([abc]|[ \n]|é|中|\\PC){0,60}") {
        let parts = diff("plain", &a, &b).unwrap();
        prop_assert_eq!(of(&parts, &[FoundIn::A, FoundIn::Both]), &*a);
        // Written as they are, what both have is the same in both but for white space.
        let dense = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        let parts = diff("none", &a, &b).unwrap();
        prop_assert_eq!(dense(&of(&parts, &[FoundIn::B, FoundIn::Both])), dense(&b));
    }
}
