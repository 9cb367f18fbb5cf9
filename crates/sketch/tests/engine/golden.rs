//! The known answers of the specification, on every level of the machine.

use crate::common::{config, signature, sketch};
use minlsh_sketch::self_test;

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
