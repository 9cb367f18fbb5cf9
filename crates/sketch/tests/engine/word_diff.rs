//! The differences between two texts, word by word.

use std::time::{Duration, Instant};

use minlsh_sketch::{Error, FoundIn, MAX_DIFF_WORDS, Normalization, word_diff};
use proptest::prelude::*;

use crate::common::cases;

fn diff(normalization: &str, a: &str, b: &str) -> Result<Vec<(FoundIn, String)>, Error> {
    let normalization: Normalization = normalization.parse().unwrap();
    let mut parts = Vec::new();
    word_diff::<Error>(&normalization, a, b, &mut || (), &mut |found_in, part| {
        parts.push((found_in, part.to_owned()));
        Ok(())
    })?;
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
                    text.push_str(&format!("r{rarity}w{} ", (run * 7 + copy) % (40 - rarity).max(1)));
                }
            }
            a.push_str(&format!("a{rarity}x{run} "));
            b.push_str(&format!("b{rarity}y{run} "));
        }
    }
    let parts = diff("plain", &a, &b).unwrap();
    assert_eq!(of(&parts, &[FoundIn::A, FoundIn::Both]), a);
}

/// Texts of few words in other orders, which are the worst for algorithms that look for the least number of changes.
#[test]
fn the_work_on_long_texts_is_bounded_and_looks_for_interrupts() {
    let texts = [
        ("a b ".repeat(50_000), "b a c ".repeat(50_000)),
        ("a ".repeat(200_000), "a b ".repeat(100_000)),
        (scrambled(1, 7), scrambled(2, 7)),
        (scrambled(1, 3000), scrambled(2, 3000)),
    ];
    for (a, b) in texts {
        let (mut parts, mut longest, mut last) = (0, Duration::ZERO, Instant::now());
        let mut check = || {
            longest = longest.max(last.elapsed());
            last = Instant::now();
        };
        let mut whole = 0;
        word_diff::<Error>(&Normalization::plain(), &a, &b, &mut check, &mut |found_in, part| {
            parts += 1;
            whole += if found_in == FoundIn::B { 0 } else { part.len() };
            Ok(())
        })
        .unwrap();
        assert_eq!(whole, a.len());
        // Far above what it takes, and far below what it took.
        assert!(longest < Duration::from_secs(5), "{longest:?} without a look, {parts} parts");
    }
}

/// A text of 100,000 words, `distinct` of them different.
fn scrambled(seed: u64, distinct: u64) -> String {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("w{} ", (state >> 33) % distinct)
    };
    (0..100_000).map(|_| next()).collect()
}

#[test]
fn a_long_text_with_small_changes_differs_in_these_alone() {
    let a = scrambled(3, 20_000);
    let words: Vec<&str> = a.split(' ').collect();
    let mut changed = words.clone();
    for place in (500..words.len()).step_by(1000) {
        changed[place] = "changed";
    }
    let b = changed.join(" ");
    let parts = diff("plain", &a, &b).unwrap();
    let only: Vec<&str> =
        (parts.iter().filter(|(found_in, _)| *found_in == FoundIn::B)).map(|(_, part)| part.trim()).collect();
    assert!(only.iter().all(|part| *part == "changed"), "{only:?}");
    assert_eq!(only.len(), (500..words.len()).step_by(1000).count());
    assert_eq!(of(&parts, &[FoundIn::A, FoundIn::Both]), a);
    assert_eq!(of(&parts, &[FoundIn::B, FoundIn::Both]), b);
}

proptest! {
    #![proptest_config(cases(500))]

    /// Few words, often repeated, in texts that are longer than what is compared in one piece.
    #[test]
    fn the_parts_of_long_texts_are_the_texts(
        a in prop::collection::vec(0_u16..400, 0..6000),
        edits in prop::collection::vec((0_usize..6000, 0_u16..400, 0_usize..3000), 0..20),
        distinct in prop::sample::select(vec![2_u16, 10, 400]),
    ) {
        let mut b = a.clone();
        for (place, word, removed) in edits {
            let place = place.min(b.len());
            let end = (place + removed).min(b.len());
            b.splice(place..end, [word, word / 2]);
        }
        let text = |words: &[u16]| words.iter().map(|word| format!("{} ", word % distinct)).collect::<String>();
        let (a, b) = (text(&a), text(&b));
        let parts = diff("none", &a, &b).unwrap();
        prop_assert_eq!(of(&parts, &[FoundIn::A, FoundIn::Both]), a);
        prop_assert_eq!(of(&parts, &[FoundIn::B, FoundIn::Both]), b);
    }

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
