//! Texts of every kind give what the specification says, on every level.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common::{cases, config, exact_jaccard, found_shingles, hashes, mix64, shingles, signature, sketch};
use minlsh_sketch::{Config, ShingleSet, Sketcher, shingle_hashes};
use proptest::prelude::*;

/// ASCII, long runs of it between other characters, and anything.
fn texts() -> impl Strategy<Value = String> {
    let ascii = "[ -~\n\t]{0,300}";
    let accents = "([a-z ,.]{0,120}[éß漢😀\u{a0}\u{301}]){0,6}[a-z ]{0,99}";
    prop_oneof![ascii, accents, "\\PC{0,80}", "[\\s ]{0,9}", "[a-c]{0,200}"]
}

fn configs() -> impl Strategy<Value = Config> {
    let scheme = prop::sample::select(vec!["fss", "permutations"]);
    let num_perm = prop::sample::select(vec![1_i64, 4, 16, 33, 128, 300]);
    let unit = prop::sample::select(vec!["char", "word"]);
    let size = prop_oneof![1_i64..=20, Just(64)];
    let seed = prop_oneof![Just(0), any::<i64>()];
    (scheme, num_perm, unit, size, seed)
        .prop_map(|(scheme, num_perm, unit, size, seed)| config(scheme, num_perm, unit, size, seed))
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn signatures_follow_the_specification(config in configs(), text in texts()) {
        prop_assert_eq!(sketch(&config, &text), signature(&config, &text));
    }

    #[test]
    fn shingles_and_their_hashes_follow_the_specification(config in configs(), text in texts()) {
        let between = if config.unit() == minlsh_sketch::Unit::Word { " " } else { "" };
        let expected: Vec<String> = shingles(&config, &text).iter().map(|s| s.join(between)).collect();
        prop_assert_eq!(found_shingles(&config, &text), expected);
        let mut found = Vec::new();
        shingle_hashes(&config, &text, &mut found, &mut || ()).unwrap();
        prop_assert_eq!(found, hashes(&config, &text));
    }

    #[test]
    fn exact_similarity_is_the_one_of_sets_of_strings(
        config in configs(), a in texts(), b in texts(),
    ) {
        let set = |text: &str| ShingleSet::from_text(&config, text, &mut || ()).unwrap();
        prop_assert_eq!(set(&a).jaccard(&set(&b)), exact_jaccard(&config, &a, &b));
        prop_assert_eq!(set(&b).jaccard(&set(&a)), exact_jaccard(&config, &a, &b));
    }
}

/// Every shingle of a short text shows in a signature of many slots, so this asks each way to hash windows: of every
/// width and length, next to the end of the text and not.
#[test]
fn windows_of_every_width_and_length_are_hashed() {
    let ascii: String = (0..300).map(|i| char::from(b' ' + (mix64(i) % 95) as u8)).collect();
    for size in 1..=20 {
        let config = config("fss", 512, "char", size, 0);
        for length in (1..120).chain([255, 256, 300]) {
            for text in [&ascii[..length], &ascii[300 - length..]] {
                assert_eq!(sketch(&config, text), signature(&config, text), "{config}, {length}");
            }
        }
    }
}

/// Characters of all lengths, in texts that end anywhere in a block.
#[test]
fn windows_of_other_characters_are_hashed() {
    let unit = "aé漢😀\u{301}zß 0123456789abcdefÀ";
    for size in [1, 2, 3, 5, 9, 16] {
        let config = config("fss", 256, "char", size, 0);
        for length in 0..300 {
            let text: String = unit.chars().cycle().skip(length % 7).take(length).collect();
            assert_eq!(sketch(&config, &text), signature(&config, &text), "{config}, {length}");
        }
    }
}

#[test]
fn runs_of_ascii_end_before_the_first_other_character() {
    let config = config("fss", 16, "char", 5, 0);
    for length in 0..200 {
        for other in (0..=length).step_by(1 + length / 40) {
            let ascii = (0..other as u64).map(|i| char::from(b'a' + (mix64(i) % 26) as u8));
            let text: String = ascii.chain((other..length).map(|_| 'é')).chain("end".chars()).collect();
            let mut found = Vec::new();
            shingle_hashes(&config, &text, &mut found, &mut || ()).unwrap();
            assert_eq!(found, hashes(&config, &text), "{length}, {other}");
        }
    }
}

/// A word of each length, among others: each way to hash what stands between two places.
#[test]
fn words_of_every_length_are_hashed() {
    for longest in [1, 3, 8, 16, 17, 40, 300] {
        let config = config("fss", 256, "word", 1, 0);
        for count in [1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 200] {
            let word = |i: u64| {
                let length = mix64(i ^ longest << 20) % longest + 1;
                (0..length).map(|j| char::from(b'a' + (mix64(i << 9 | j) % 26) as u8)).collect()
            };
            let text = (0..count).map(word).collect::<Vec<String>>().join(" ");
            assert_eq!(sketch(&config, &text), signature(&config, &text), "{longest}, {count}");
        }
    }
}

#[test]
fn signatures_of_any_number_of_slots_follow_the_specification() {
    let texts: Vec<String> =
        [1, 9, 700, 5003].map(|count| (0..count).map(|i| char::from(b' ' + (mix64(i) % 95) as u8)).collect()).to_vec();
    for scheme in ["fss", "permutations"] {
        for num_perm in [1, 15, 16, 17, 48, 64, 80, 128, 176, 200, 256, 257, 1024] {
            let config = config(scheme, num_perm, "char", 5, 0);
            for text in &texts {
                assert_eq!(sketch(&config, text), signature(&config, text), "{config}");
            }
        }
    }
}

#[test]
fn shingles_are_windows_of_characters_or_of_words_with_spaces() {
    let found = |unit, size, text| found_shingles(&config("fss", 128, unit, size, 0), text);
    assert_eq!(found("char", 2, "naïf"), ["na", "aï", "ïf"]);
    assert_eq!(found("char", 1, "😀字é!"), ["😀", "字", "é", "!"]);
    let pairs = ["To be", "be or", "or not", "not to", "to be"];
    assert_eq!(found("word", 2, "To be, or not\nto be."), pairs);
    assert_eq!(found("word", 1, "one  two"), ["one", "two"]);
    // A text shorter than a window is its only shingle.
    assert_eq!(found("char", 5, "é字"), ["é字"]);
    assert_eq!(found("char", 5, "12345"), ["12345"]);
    assert_eq!(found("word", 3, "one, two!"), ["one two"]);
}

/// Longer than several chunks, and mostly but not only ASCII.
fn long_text() -> String {
    let word = |i: u64| {
        let accent = if mix64(i + 1).is_multiple_of(90) { "\u{2014}" } else { "" };
        format!("{accent}{:x} ", mix64(i) >> 40)
    };
    (0..3000).map(word).collect()
}

#[test]
fn a_text_of_several_chunks_is_read_again_for_every_round() {
    let text = long_text();
    for scheme in ["fss", "permutations"] {
        for (unit, num_perm) in [("char", 128), ("char", 4096), ("word", 4096)] {
            let num_perm = if scheme == "fss" { num_perm } else { 64 };
            let config = config(scheme, num_perm, unit, 3, 0);
            assert_eq!(sketch(&config, &text), signature(&config, &text), "{config}");
        }
    }
}

#[test]
fn a_text_without_tokens_has_no_signature() {
    for unit in ["char", "word"] {
        for scheme in ["fss", "permutations"] {
            for text in ["", " ", "\n\t \u{3000}", &" ".repeat(100_000)] {
                assert_eq!(sketch(&config(scheme, 16, unit, 5, 0), text), None);
            }
        }
    }
    assert_eq!(sketch(&config("fss", 16, "word", 2, 0), "?! -- ..."), None);
    assert!(sketch(&config("fss", 16, "char", 5, 0), "?").is_some());
}

#[test]
fn different_short_texts_have_different_signatures() {
    for unit in ["char", "word"] {
        let config = config("fss", 128, unit, 5, 0);
        assert_ne!(sketch(&config, "ab"), sketch(&config, "cd"));
        assert_eq!(sketch(&config, "ab"), sketch(&config, "ab"));
    }
}

#[test]
fn the_checkpoint_comes_often_and_may_unwind() {
    let text = long_text().repeat(20);
    for unit in ["char", "word"] {
        for scheme in ["fss", "permutations"] {
            let config = config(scheme, 128, unit, 5, 0);
            let mut sketcher = Sketcher::new(config.clone());
            let mut calls = 0;
            let expected = sketcher.sketch(&text, &mut || calls += 1).unwrap().map(<[i32]>::to_vec);
            assert!(calls >= text.len() / (64 * 1024), "{config}: {calls} calls");

            let mut left = 3;
            let mut cancel = || {
                left -= 1;
                if left == 0 {
                    std::panic::resume_unwind(Box::new("cancelled"));
                }
            };
            let cancelled = catch_unwind(AssertUnwindSafe(|| {
                sketcher.sketch(&text, &mut cancel).unwrap();
            }));
            assert!(cancelled.is_err());
            let again = sketcher.sketch(&text, &mut || ()).unwrap().map(<[i32]>::to_vec);
            assert_eq!(again, expected);
        }
    }
}
