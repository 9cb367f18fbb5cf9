//! Two texts side by side: the parts that both have, and those that one has alone.

use minlsh_sketch::{Comparison, Config, Normalization};

fn compare(a: &str, b: &str, examples: usize) -> Comparison {
    let config = Config::default().with_normalization(Normalization::plain()).unwrap();
    Comparison::new(&config, a, b, examples, &mut || ()).unwrap()
}

#[test]
fn parts_are_shown_as_they_stand_in_the_texts() {
    let a = "Preface. The quick brown  fox jumps over the lazy dog, and it slept all day long. End";
    let b = "the quick BROWN fox jumps over the lazy dog; and it slept all day long. The rest";
    let all = compare(a, b, 10);
    assert_eq!(all.shared, ["The quick brown  fox jumps over the lazy dog", "and it slept all day long."]);
    assert_eq!(all.only_a, ["Preface.", ",", "End"]);
    assert_eq!(all.only_b, [";", "The rest"]);
    assert_eq!(compare(a, b, 1).shared, ["The quick brown  fox jumps over the lazy dog"]);
    assert!(compare(a, b, 0).shared.is_empty());
}

#[test]
fn short_texts_share_short_parts() {
    let short = compare("to be or not", "not to be", 10);
    assert_eq!((short.shared, short.only_a), (vec!["to be".into(), "not".into()], vec!["or".into()]));
}

#[test]
fn what_one_text_has_alone_is_not_in_the_other() {
    let a = "Dear Ms Miller, your order has left our house today, and not later. Yours, Tom";
    let b = "Dear Mr Smith, your order has left our house today and will arrive later. Yours, Ann";
    let parts = compare(a, b, 10);
    assert_eq!(parts.only_a, ["Ms Miller", "not", "Tom"]);
    assert_eq!(parts.only_b, ["Mr Smith", "will arrive", "Ann"]);
    // What is only moved is in both.
    let moved = compare("one two three four five six", "six five four three two one", 10);
    assert!(moved.only_a.is_empty() && moved.only_b.is_empty());
}

#[test]
fn what_is_shown_of_a_long_part_is_its_start() {
    let long = "é".repeat(5000);
    let same = compare(&long, &long, 10);
    assert_eq!(same.shared, [&long[..2 * 1000]]);
    assert!(same.only_a.is_empty() && same.only_b.is_empty());
}

#[test]
fn a_text_without_shingles_shares_none() {
    let nothing = compare("", "hello", 10);
    assert!(nothing.overlap.a == 0 && nothing.shared.is_empty() && nothing.only_a.is_empty());
    assert_eq!(nothing.only_b, ["hello"]);
}
