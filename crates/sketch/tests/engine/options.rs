//! Every way to cut a text gives what the specification says, plainly written.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::common::{cases, expected_tokens, found_shingles, found_tokens, hashes, is_thorough, shingles, sketch};
use crate::golden::OTHER_VALUES;
use minlsh_sketch::{
    Config, ElementHash, Normalization, Scheme, ShingleSet, Sketcher, StopWords, Unit, has_shingles, normalize_text,
    shingle_hashes,
};
use proptest::prelude::*;

fn config(unit: &str, size: i64, steps: &str) -> Config {
    let config = Config::new("fss", 64, unit, size, 0).unwrap();
    config.with_normalization(steps.parse().unwrap()).unwrap()
}

/// English and other words, with what normalisation is about between them.
fn texts() -> impl Strategy<Value = String> {
    let words = "((the|of|a|THE|Of|it|quick|Fox|naïve|cafe\u{301}|ÜBER|漢字かな|한글|3\\.14|don't|e-mail|_|😀\
        |c\u{200b}d|\u{301}|<b>|</b|&amp;|Łø|7f|x12)[ ,.\n\u{3000}]{0,2}){0,40}";
    prop_oneof![words, "[ -~\n]{0,200}", "\\PC{0,60}", "[ab .]{0,80}", "[ \t\n.,a]{0,9}"]
}

fn configs() -> impl Strategy<Value = Config> {
    let scheme = prop::sample::select(vec!["fss", "permutations"]);
    let unit = prop::sample::select(vec!["char", "word", "anchored"]);
    let size = prop_oneof![1_i64..=6, Just(64)];
    let steps = prop::sample::subsequence(
        vec![
            "nfkc",
            "casefold",
            "diacritics",
            "punctuation",
            "digits",
            "html",
            "letters",
            "numbers",
            "whitespace",
            "split_whitespace",
            "min_length=3",
            "stop_words=fox+caf\u{e9}+of",
        ],
        0..=12,
    );
    let steps = prop_oneof![
        steps.prop_map(|steps| steps.join(" ")),
        prop::sample::select(vec!["none", "plain", "aggressive", "classic", "stop_words"]).prop_map(str::to_owned),
    ];
    let list = prop::option::of(Just(["Über", "quick", "it", "", "two words"]));
    (scheme, unit, size, steps, list, any::<bool>(), prop_oneof![Just(0), any::<i64>()]).prop_map(
        |(scheme, unit, size, steps, list, bag, seed)| {
            let steps = if unit == "anchored" && steps == "stop_words" { "none" } else { &steps };
            let config = Config::new(scheme, 33, unit, size, seed).unwrap().with_bag(bag);
            let config = match list {
                Some(list) => config.with_stop_words(StopWords::new(list).unwrap()).unwrap(),
                None => config,
            };
            config.with_normalization(steps.parse().unwrap()).unwrap()
        },
    )
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn tokens_shingles_hashes_and_signatures_agree(config in configs(), text in texts()) {
        prop_assert_eq!(found_tokens(&config, &text), expected_tokens(&config, &text));

        let shingles = shingles(&config, &text);
        let between = if config.unit() == Unit::Char { "" } else { " " };
        let joined: Vec<String> = shingles.iter().map(|shingle| shingle.join(between)).collect();
        prop_assert_eq!(found_shingles(&config, &text), joined);

        let mut expected = hashes(&config, &text);
        let mut found = Vec::new();
        shingle_hashes(&config, &text, &mut found, &mut || ()).unwrap();
        if config.bag() {
            expected.sort_unstable();
            found.sort_unstable();
        }
        prop_assert_eq!(&found, &expected);
        // Whatever hashes them.
        for scheme in [config.scheme(), Scheme::DatasketchLegacy(ElementHash::Sha1)] {
            let has = has_shingles(&config.with_scheme(scheme), &text, &mut || ());
            prop_assert_eq!(has, Ok(!found.is_empty()));
        }

        let mut sketcher = Sketcher::new(config.clone());
        let of_hashes = sketcher.sketch_hashes(&expected, &mut || ()).unwrap().map(<[i32]>::to_vec);
        prop_assert_eq!(sketch(&config, &text), of_hashes);
    }

    #[test]
    fn a_normalised_text_is_compared_as_the_text(config in configs(), text in texts()) {
        let normalized = normalize_text(&config, &text, &mut || ()).unwrap();
        prop_assert_eq!(found_tokens(&config, &normalized), found_tokens(&config, &text));
        prop_assert_eq!(&normalize_text(&config, &normalized, &mut || ()).unwrap(), &normalized);
        prop_assert_eq!(sketch(&config, &normalized), sketch(&config, &text));
    }

    #[test]
    fn the_similarity_of_bags_is_the_weighted_one(a in "[ab ]{0,40}", b in "[ab ]{0,40}") {
        let config = config("char", 2, "none").with_bag(true);
        let count = |text: &str| {
            let mut counts = HashMap::<String, usize>::new();
            found_shingles(&config, text).into_iter().for_each(|shingle| *counts.entry(shingle).or_default() += 1);
            counts
        };
        let (x, y) = (count(&a), count(&b));
        let number = |counts: &HashMap<_, usize>, key| counts.get(key).copied().unwrap_or(0);
        let least: usize = x.keys().map(|key| number(&x, key).min(number(&y, key))).sum();
        let both: usize = x.values().sum::<usize>() + y.values().sum::<usize>();
        let expected = (both > 0).then(|| least as f64 / (both - least) as f64);
        let set = |text| ShingleSet::from_text(&config, text, &mut || ()).unwrap();
        prop_assert_eq!(set(&a).jaccard(&set(&b)), expected);
    }
}

#[test]
fn anchored_shingles_are_those_of_the_book() {
    // Mining of Massive Datasets, section 3.2.4.
    let text = "A spokesperson for the Sudzo Corporation revealed today that studies have shown it \
        is good for people to buy Sudzo products.";
    assert_eq!(
        found_shingles(&config("anchored", 3, "casefold"), text),
        [
            "a spokesperson for",
            "for the sudzo",
            "the sudzo corporation",
            "that studies have",
            "have shown it",
            "it is good",
            "is good for",
            "for people to",
            "to buy sudzo",
        ]
    );
}

#[test]
fn a_text_without_anchors_resembles_only_its_copies() {
    let config = config("anchored", 3, "plain");
    assert_eq!(sketch(&config, "Buy Sudzo now!!"), sketch(&config, "buy  sudzo, NOW"));
    let navigation = "home products contact imprint";
    assert_ne!(sketch(&config, navigation), sketch(&config, "home products contact"));
    assert!(sketch(&config, navigation).is_some());
    assert_eq!(sketch(&config, "?!"), None);
}

#[test]
fn a_list_of_ones_own_makes_anchors() {
    let german = StopWords::new(["Der", "die", "das", "und"]).unwrap();
    let config = config("anchored", 2, "plain").with_stop_words(german).unwrap();
    let found = found_shingles(&config, "Der Hund und DIE Katze");
    assert_eq!(found, ["der hund", "und die", "die katze"]);
}

#[test]
fn classic_keeps_what_the_course_system_keeps() {
    let config = config("word", 2, "classic");
    let text = "The U.S.A. isn't an e-mail: \"The\" is (the) 3.14; ab abc.";
    let expected = ["usa", "isnt", "e-mail", "\"the\"", "(the)", "314", "abc"];
    assert_eq!(found_tokens(&config, text), expected);
}

#[test]
fn configurations_say_what_is_not_default() {
    let config = config("word", 3, "whitespace,casefold");
    let written = "fss, num_perm 64, word 3-shingles, seed 0, normalization casefold whitespace";
    assert_eq!(config.to_string(), written);
    let all = config.with_stop_words(StopWords::new(["x"]).unwrap()).unwrap().with_bag(true);
    assert_eq!(all.to_string(), format!("{written}, stop_words 1, bag"));
    assert_eq!(all.with_bag(false).with_stop_words(StopWords::english()).unwrap().to_string(), written);
}

#[test]
fn anchors_that_are_dropped_are_refused() {
    let config = Config::new("fss", 64, "anchored", 3, 0).unwrap();
    let steps: Normalization = "stop_words".parse().unwrap();
    let refused = config.clone().with_normalization(steps).unwrap_err();
    assert_eq!(refused.to_string(), "normalization step \"stop_words\" contradicts the shingle unit \"anchored\"");
    assert!(!refused.hint().is_empty());
    assert!(config.with_normalization("classic".parse().unwrap()).is_ok());
}

#[test]
fn megabytes_without_a_space_are_no_trouble() {
    let bytes = if is_thorough() { 10_000_000 } else { 2_000_000 };
    let units = ["a", "A", "漢", "ab.", "a_", "\u{301}", "\u{200d}", "😀", "カ", "가", "ก", "a\u{301}:"];
    for unit in units {
        let text = unit.repeat(bytes / unit.len());
        for (kind, steps) in [("char", "plain"), ("word", "none"), ("anchored", "plain")] {
            let mut sketcher = Sketcher::new(config(kind, 3, steps));
            let start = Instant::now();
            sketcher.sketch(&text, &mut || ()).unwrap();
            let time = start.elapsed();
            println!("{unit:?} {kind} {steps}: {time:?}");
            assert!(time < Duration::from_secs(60), "{unit:?} {kind}: {time:?}");
        }
    }
}

#[test]
fn signatures_of_every_option_are_the_known_answers() {
    let usual = "The Café\u{301}s of T\u{fc}bingen: don't panic, it's ﬁne! ٤٢ Ｅuros — 漢字かな한글 \
        and the end of the story, the end of the story.";
    let marked = "<p>The <b>Łódź</b> of &quot;R&amp;D&quot; &#8211; أحمد at 0x7f on 2026-11-28, worker12 and the end.";
    let lines: Vec<String> = golden_configs()
        .map(|config| {
            let steps = config.normalization().to_string();
            let is_marked = ["html", "letters", "numbers"].contains(&&*steps);
            let text = if is_marked { marked } else { usual };
            let signature = sketch(&config, text).unwrap();
            let slots: Vec<String> = signature.iter().map(i32::to_string).collect();
            format!("{config}: {}", slots.join(","))
        })
        .collect();
    let found = lines.join("\n") + "\n";
    if std::env::var_os("MINLSH_WRITE_GOLDEN").is_some() {
        std::fs::write("golden/options.txt", &found).unwrap();
    }
    let known = std::fs::read_to_string("golden/options.txt").unwrap();
    for (found, known) in found.lines().zip(known.lines()) {
        assert_eq!(found, known, "{OTHER_VALUES}");
    }
    assert_eq!(found, known);
}

fn golden_configs() -> impl Iterator<Item = Config> {
    let steps = "none nfc nfkc casefold diacritics punctuation punctuation_space punctuation_basic \
                 digits whitespace split_whitespace min_length=4 stop_words=the+of plain aggressive classic \
                 html letters numbers";
    steps.split(' ').flat_map(|steps| {
        [("char", 5), ("word", 2), ("anchored", 3)].into_iter().flat_map(move |(unit, size)| {
            [false, true].map(|bag| {
                let config = Config::new("fss", 4, unit, size, 0).unwrap().with_bag(bag);
                config.with_normalization(steps.parse().unwrap()).unwrap()
            })
        })
    })
}
