//! The options as users write them: what is read, what it is called, and what is refused.

use crate::common::cases;
use minlsh_sketch::{Config, Error, Normalization, Scheme, StopWords, Unit};
use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

#[test]
fn the_default_is_what_the_names_say() {
    assert_eq!(Config::new("fss", 128, "char", 5, 0), Ok(Config::default()));
    assert_eq!(Config::default().to_string(), "fss, num_perm 128, char 5-shingles, seed 0");
}

#[test]
fn names_are_read_back() {
    for scheme in Scheme::ALL {
        assert_eq!(scheme.to_string().parse(), Ok(scheme));
    }
    assert!("datasketch".parse::<Scheme>().is_err());
    assert!("fss_sha1".parse::<Scheme>().is_err());
    for unit in [Unit::Char, Unit::Word, Unit::Anchored] {
        assert_eq!(unit.to_string().parse(), Ok(unit));
    }
}

#[test]
fn refusals_name_the_value_and_the_range() {
    let refused =
        |scheme, num_perm, unit, size, seed| Config::new(scheme, num_perm, unit, size, seed).unwrap_err().to_string();
    assert_eq!(refused("foo", 128, "char", 5, 0), "unknown scheme \"foo\"");
    assert_eq!(refused("fss", 0, "char", 5, 0), "num_perm must be between 1 and 4096, not 0");
    assert_eq!(refused("fss", i64::MIN, "char", 5, 0), "num_perm must be between 1 and 4096, not -9223372036854775808");
    assert_eq!(refused("fss", 128, "line", 5, 0), "unknown shingle unit \"line\"");
    assert_eq!(refused("fss", 128, "word", 65, 0), "shingle_size must be between 1 and 64, not 65");
    assert_eq!(refused("datasketch_legacy", 128, "char", 5, -1), "seed must be between 0 and 4294967295, not -1");
}

#[test]
fn presets_are_lists_of_steps() {
    for (preset, steps) in [
        ("none", "none"),
        ("plain", "nfkc casefold whitespace"),
        ("aggressive", "nfkc letters casefold diacritics invisible punctuation_space digits whitespace"),
        ("classic", "casefold punctuation_basic split_whitespace min_length=3 stop_words=the"),
    ] {
        let preset: Normalization = preset.parse().unwrap();
        assert_eq!(preset.to_string(), steps);
        assert_eq!(steps.parse(), Ok(preset));
    }
    assert_eq!("".parse(), Ok(Normalization::none()));
    assert_eq!("min_length=1".parse(), Ok(Normalization::none()));
}

proptest! {
    #![proptest_config(cases(4000))]

    #[test]
    fn the_order_of_writing_does_not_matter(
        chosen in prop::sample::subsequence(
            vec!["nfkc", "casefold", "diacritics", "punctuation", "digits", "whitespace",
                "split_whitespace", "min_length=4", "stop_words=the+of"], 1..=9),
        shuffle in any::<u64>(),
        comma in any::<bool>(),
    ) {
        let mut shuffled = chosen.clone();
        shuffled.sort_by_key(|step| xxh3_64(format!("{step}{shuffle}").as_bytes()));
        let read: Normalization = shuffled.join(if comma { " ,\t" } else { "  " }).parse().unwrap();
        let canonical = chosen.join(" ").replace("the+of", "of+the");
        prop_assert_eq!(read.to_string(), &*canonical);
        prop_assert_eq!(canonical.parse::<Normalization>(), Ok(read));
    }
}

#[test]
fn refusals_name_the_steps() {
    let refused = |steps: &str| steps.parse::<Normalization>().unwrap_err().to_string();
    let contradict = |a, b| format!("normalization steps \"{a}\" and \"{b}\" contradict each other");
    assert_eq!(refused("casefold stem"), "unknown normalization step \"stem\"");
    assert_eq!(refused("nfc=1"), "unknown normalization step \"nfc=1\"");
    assert_eq!(refused("stop_words="), "unknown normalization step \"stop_words=\"");
    assert_eq!(refused("nfc,nfkc"), contradict("nfc", "nfkc"));
    assert_eq!(refused("punctuation punctuation_space"), contradict("punctuation", "punctuation_space"));
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
fn lists_of_stop_words_are_read_back() {
    for text in ["english", "", "a the und", " der  die das "] {
        let list = StopWords::named(text).unwrap();
        assert_eq!(StopWords::named(&list.to_string()), Ok(list));
    }
    assert_eq!(StopWords::named("the a the").unwrap().to_string(), "a the");
    assert_eq!(StopWords::new(["b", "", "a", "b"]), StopWords::new(["a", "b"]));
    assert!(StopWords::new([""; 2]).unwrap().is_empty());
}

#[test]
fn the_english_list_has_its_127_words() {
    let english = StopWords::named("english").unwrap();
    assert_eq!((english.len(), &english), (127, &StopWords::english()));
    let first: Vec<&str> = english.iter().take(4).collect();
    assert_eq!(first, ["a", "about", "above", "after"]);
}

#[test]
fn a_list_of_stop_words_is_short() {
    let list = "a ".repeat(65_536 / 2);
    assert_eq!(StopWords::named(&list).unwrap().len(), 1);
    let list = format!("{list} bc");
    let refused = StopWords::named(&list).unwrap_err();
    assert_eq!(refused, Error::StopWords(65_539));
    assert_eq!(refused.to_string(), "stop words must have at most 65536 bytes, not 65539");
    assert!(StopWords::new(list.split(' ')).is_err());
}
