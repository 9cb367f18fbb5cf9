//! An index of texts in memory, against a comparison of all texts.

use std::collections::{BTreeMap, HashSet};

use minlsh_sketch::{Config, Error, Lsh, Normalization};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::common::{cases, config, hashes};

fn configs() -> impl Strategy<Value = Config> {
    let plain = |config: Config| config.with_normalization(Normalization::plain()).unwrap();
    prop_oneof![
        Just(config("fss", 128, "char", 5, 0)),
        Just(plain(config("permutations", 128, "word", 2, 7))),
        Just(config("datasketch_affine32", 256, "char", 3, 1).with_bag(true)),
    ]
}

/// A text of one of four stories with some of its words changed, or a short one.
fn texts() -> impl Strategy<Value = String> {
    let edited = (0..4, prop::collection::vec((0_usize..60, 0..9), 0..9)).prop_map(|(story, edits)| {
        let mut words: Vec<String> = (0..60).map(|word| format!("w{}", (word * word + story * 7) % 97)).collect();
        edits.into_iter().for_each(|(place, word)| words[place] = format!("other{word}"));
        words.join(" ")
    });
    prop_oneof![9 => edited, 1 => "[ .ab]{0,7}"]
}

/// The right answer of an index: keys from the most similar on, and the least of equally similar ones first.
fn expected(config: &Config, texts: &BTreeMap<u32, String>, text: &str, threshold: f64) -> Vec<(u32, f64)> {
    let set = |text: &str| hashes(config, text).into_iter().collect::<HashSet<_>>();
    let a = set(text);
    let jaccard = |other: &str| {
        let b = set(other);
        a.intersection(&b).count() as f64 / a.union(&b).count() as f64
    };
    let all = texts.iter().map(|(key, other)| (*key, jaccard(other)));
    in_order(all.filter(|(_, jaccard)| *jaccard >= threshold).collect())
}

fn in_order(mut found: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found
}

proptest! {
    // One pair in 10,000 may be missed, so the texts are the same each time.
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..cases(1000) })]

    #[test]
    fn it_finds_what_a_comparison_of_all_texts_finds(
        config in configs(),
        threshold in prop_oneof![Just(0.8), Just(0.95), Just(1.0)],
        changes in prop::collection::vec((0_u32..12, prop::option::weighted(0.7, texts())), 0..40),
        strange in texts(),
    ) {
        let mut lsh = Lsh::with_recall(config.clone(), threshold, 0.9999).unwrap();
        let mut kept = BTreeMap::new();
        for (key, change) in changes {
            match change {
                None => prop_assert_eq!(lsh.remove(&key), kept.remove(&key).is_some()),
                Some(text) if kept.contains_key(&key) => {
                    prop_assert_eq!(lsh.insert(key, &text), Err(Error::KeyExists));
                }
                Some(text) => {
                    lsh.insert(key, &text).unwrap();
                    kept.insert(key, text);
                }
            }
            prop_assert_eq!((lsh.len(), lsh.is_empty()), (kept.len(), kept.is_empty()));
            prop_assert_eq!(lsh.contains_key(&key), kept.contains_key(&key));
        }
        for text in kept.values().chain([&strange]) {
            let found = lsh.query(text).unwrap();
            prop_assert!(found.is_sorted_by(|a, b| a.1 >= b.1));
            let found = in_order(found.into_iter().map(|(key, similarity)| (*key, similarity)).collect());
            prop_assert_eq!(found, expected(&config, &kept, text, threshold));
        }
    }
}

#[test]
fn an_empty_index_finds_nothing() {
    let mut lsh: Lsh<String> = Lsh::new(Config::default(), 0.8).unwrap();
    assert_eq!(lsh.query("some text"), Ok(vec![]));
    assert!(lsh.is_empty() && !lsh.remove("a key"));
}

#[test]
fn texts_without_shingles_have_a_key_and_are_never_found() {
    let mut lsh = Lsh::new(Config::default(), 0.8).unwrap();
    lsh.insert("empty".to_owned(), "").unwrap();
    lsh.insert("blank".to_owned(), " \n ").unwrap();
    assert_eq!(lsh.insert("empty".to_owned(), "a text"), Err(Error::KeyExists));
    for text in ["", " ", "a text"] {
        assert_eq!(lsh.query(text), Ok(vec![]));
    }
    assert!(lsh.remove("empty") && !lsh.contains_key("empty") && lsh.len() == 1);
    lsh.insert("empty".to_owned(), "a text").unwrap();
    assert_eq!(lsh.query("a text"), Ok(vec![(&"empty".to_owned(), 1.0)]));
}

#[test]
fn a_key_that_exists_keeps_its_text() {
    let mut lsh = Lsh::new(Config::default(), 0.8).unwrap();
    lsh.insert(1, "the first text").unwrap();
    let refused = lsh.insert(1, "another one").unwrap_err();
    assert_eq!((refused.clone(), refused.to_string()), (Error::KeyExists, "key already exists".to_owned()));
    assert!(!refused.hint().is_empty());
    assert_eq!(lsh.query("another one"), Ok(vec![]));
    assert_eq!(lsh.query("the first text"), Ok(vec![(&1, 1.0)]));
}

#[test]
fn copies_are_found_whatever_was_removed_among_them() {
    let mut lsh = Lsh::new(Config::default(), 1.0).unwrap();
    (0..1000).for_each(|key| lsh.insert(key, "a text that is there many times").unwrap());
    assert!((0..1000).filter(|key| key % 3 != 0).all(|key| lsh.remove(&key)));
    let mut found: Vec<u32> =
        lsh.query("a text that is there many times").unwrap().iter().map(|found| *found.0).collect();
    found.sort_unstable();
    assert!(found.into_iter().eq((0..1000).step_by(3)));
}

#[test]
fn it_finds_as_many_as_the_recall_promises() {
    // Pairs of texts of 100 words. The second begins 10 words later, so 90 of 110 single words are shared.
    let config = config("fss", 128, "word", 1, 0);
    let text = |pair: u32, from: u32| (from..from + 100).map(|word| format!("w{pair}_{word} ")).collect::<String>();
    let threshold = 90.0 / 110.0;
    for recall in [0.5, 0.9, 0.99] {
        let mut lsh = Lsh::with_recall(config.clone(), threshold, recall).unwrap();
        (0..2000).for_each(|pair| lsh.insert(pair, &text(pair, 0)).unwrap());
        let found = (0..2000).filter(|pair| !lsh.query(&text(*pair, 10)).unwrap().is_empty()).count() as f64 / 2000.0;
        // Four standard errors. Bands that reach the recall may exceed it.
        assert!(found > recall - 4.0 * (recall * (1.0 - recall) / 2000.0).sqrt(), "{found} of {recall}");
    }
}

#[test]
fn impossible_arguments_are_refused() {
    let lsh = |threshold, recall| Lsh::<u32>::with_recall(Config::default(), threshold, recall).err();
    assert_eq!(lsh(0.0, 0.99), Some(Error::Threshold(0.0)));
    assert_eq!(lsh(1.1, 0.99), Some(Error::Threshold(1.1)));
    assert_eq!(lsh(0.8, 1.0), Some(Error::Recall(1.0)));
    assert!(matches!(lsh(0.001, 0.99), Some(Error::RecallUnattainable { num_perm: 128, .. })));
    assert_eq!(lsh(1.0, 0.99), None);
}
