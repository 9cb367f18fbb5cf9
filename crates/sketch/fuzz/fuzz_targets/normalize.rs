//! Normalising twice is normalising once, and what is borrowed did not change.
//!
//! `cargo +nightly fuzz run normalize` in `crates/sketch`. The first byte chooses the
//! steps; the text is repeated, so that it also meets itself.
#![no_main]

use std::borrow::Cow;

use libfuzzer_sys::fuzz_target;
use minlsh_sketch::Normalization;

const STEPS: [&str; 8] = [
    "nfc",
    "nfkc",
    "plain",
    "aggressive",
    "diacritics",
    "nfc casefold punctuation",
    "casefold punctuation_basic digits whitespace",
    "nfkc casefold diacritics punctuation whitespace",
];

fuzz_target!(|input: (u8, &str)| {
    let Ok(steps) = STEPS[usize::from(input.0 % 8)].parse::<Normalization>() else {
        unreachable!("all steps are valid")
    };
    let text = input.1.repeat(1 + 100 / input.1.len().max(1));
    let once = steps.normalize(&text, &mut || ()).unwrap();
    assert_eq!(matches!(once, Cow::Borrowed(_)), once == text);
    let twice = steps.normalize(&once, &mut || ()).unwrap();
    assert_eq!(once, twice);
});
