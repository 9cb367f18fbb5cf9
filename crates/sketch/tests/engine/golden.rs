//! The known answers of the specification, on every level of the machine.

use crate::common::{config, found_tokens, signature, sketch};
use minlsh_sketch::{Normalization, UNICODE_VERSIONS, self_test};
use xxhash_rust::xxh3::xxh3_64;

/// Advice for tests that find signatures which a new version of a dependency has changed.
pub const OTHER_VALUES: &str = "signatures of some texts are others, as with other tables of a dependency: keep its \
    former version by `cargo update -p NAME --precise VERSION`, or raise Config::VERSION and write the known answers \
    again (tests/golden/options.txt by MINLSH_WRITE_GOLDEN=1)";

#[test]
fn signatures_are_the_known_answers() {
    let texts = include_str!("../golden/golden_texts.txt");
    let mut answers = include_str!("../golden/golden.txt").lines();
    let mut compared = 0;
    for text in texts.split('\0') {
        for answer in answers.by_ref().take(8) {
            let fields: Vec<&str> = answer.split(' ').collect();
            let scheme = if fields[0] == "FSS" { "fss" } else { "permutations" };
            let (size, num_perm) = (fields[1].parse().unwrap(), fields[2].parse().unwrap());
            let expected = fields[3].split(',').map(|slot| slot.parse().unwrap()).collect();
            let config = config(scheme, num_perm, "char", size, 0);
            assert_eq!(sketch(&config, text), Some(expected), "{config}: {text}");
            compared += 1;
        }
    }
    assert_eq!((compared, answers.next()), (48, None));
}

#[test]
fn this_machine_gives_the_known_answers() {
    assert!(self_test().unwrap().iter().all(|answer| answer.passed));
}

#[test]
fn word_and_seeded_signatures_are_the_known_answers() {
    let text = "Don't panic: na\u{ef}ve caf\u{e9}s charge 3.14 \u{20ac} for \u{6f22}\u{5b57}, e.g. twice.";
    let answers = [
        (config("fss", 4, "word", 2, 0), WORDS),
        (config("fss", 4, "word", 1, 0), SINGLE_WORDS),
        (config("fss", 4, "char", 5, 42), SEEDED),
        (config("permutations", 4, "word", 3, -1), SEEDED_WORDS),
    ];
    for (config, answer) in answers {
        assert_eq!(sketch(&config, text).as_deref(), Some(&answer[..]), "{config}");
        assert_eq!(signature(&config, text).as_deref(), Some(&answer[..]), "{config}");
    }
}

const WORDS: [i32; 4] = [18206688, 188821169, 43345898, 10847901];
const SINGLE_WORDS: [i32; 4] = [289309909, 5200478, 166403109, 198738674];
const SEEDED: [i32; 4] = [10985906, 36777694, 45602441, 10527731];
const SEEDED_WORDS: [i32; 4] = [549622249, 1073307318, 39908101, 160366189];

#[test]
fn unicode_has_the_known_versions() {
    let known = "segmentation 17.0.0, normalization 18.0.0, general category 17.0.0, case folding 16.0.0";
    assert_eq!(UNICODE_VERSIONS, known, "{OTHER_VALUES}");
}

/// Hashes of what becomes of all characters: of their words without a normalisation, and of each step of it that rests
/// on Unicode's tables.
const OF_ALL_CHARACTERS: [(&str, u64); 8] = [
    ("none", 0x2cf4_3403_88ab_4a2b),
    ("nfc", 0x4449_16cb_1615_5975),
    ("nfkc", 0x4d17_71f7_9f81_83ae),
    ("casefold", 0x8bb8_2242_13ee_0c36),
    ("diacritics", 0xe32d_5480_6773_8473),
    ("punctuation", 0xab5e_10c9_4df3_fbaa),
    ("digits", 0x5a25_a566_e6ed_e68f),
    ("invisible", 0xcd9d_8d12_3e9e_c46c),
];

#[test]
fn every_character_is_cut_and_normalised_as_before() {
    let chars: Vec<char> = ('\0'..=char::MAX).collect();
    let around = |chars: &[char]| chars.iter().map(|c| format!("a{c}b {c}1 ")).collect::<String>();
    let texts: Vec<String> = chars.chunks(4096).map(around).collect();
    let words = config("fss", 1, "word", 1, 0);
    let found = OF_ALL_CHARACTERS.map(|(steps, _)| {
        let normalization: Normalization = steps.parse().unwrap();
        let hash = texts.iter().fold(0, |hash, text| {
            let made = match steps {
                "none" => found_tokens(&words, text).join("|"),
                _ => normalization.normalize(text, &mut || ()).unwrap().into_owned(),
            };
            xxh3_64(format!("{hash} {made}").as_bytes())
        });
        (steps, hash)
    });
    assert_eq!(found, OF_ALL_CHARACTERS, "{OTHER_VALUES}");
}
