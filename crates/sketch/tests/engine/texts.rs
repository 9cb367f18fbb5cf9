//! Texts of every kind give what the specification says, on every level.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common::{config, exact_jaccard, hashes, shingles, signature, sketch};
use proptest::prelude::*;
use sketch::{Config, ShingleSet, Sketcher, for_each_shingle, shingle_hashes};

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
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn signatures_follow_the_specification(config in configs(), text in texts()) {
        prop_assert_eq!(sketch(&config, &text), signature(&config, &text));
    }

    #[test]
    fn shingles_and_their_hashes_follow_the_specification(config in configs(), text in texts()) {
        let mut found = Vec::new();
        for_each_shingle(&config, &text, &mut || (), &mut |shingle| {
            found.push(shingle.to_owned());
            Ok(())
        }).unwrap();
        let between = if config.unit() == sketch::Unit::Word { " " } else { "" };
        let expected: Vec<String> = shingles(&config, &text).iter().map(|s| s.join(between)).collect();
        prop_assert_eq!(found, expected);
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

/// Longer than several chunks, and mostly but not only ASCII.
fn long_text() -> String {
    let word = |i: u64| {
        let accent = if crate::common::mix64(i + 1).is_multiple_of(90) { "\u{2014}" } else { "" };
        format!("{accent}{:x} ", crate::common::mix64(i) >> 40)
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
