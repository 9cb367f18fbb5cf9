//! The signature of a text's frequent words equals the signature of Apache Nutch.

use crate::common::bytes;
use minlsh_sketch::{Error, text_profile, text_profile_signature};

fn profile(text: &str, min_token_len: i64, quant_rate: f64) -> Vec<(String, u32)> {
    tried(text, min_token_len, quant_rate).unwrap()
}

fn tried(text: &str, min_token_len: i64, quant_rate: f64) -> Result<Vec<(String, u32)>, Error> {
    let mut profile = Vec::new();
    let mut visit = |token: &str, count| {
        profile.push((token.to_owned(), count));
        Ok(())
    };
    text_profile(text, min_token_len, quant_rate, &mut || (), &mut visit).map(|()| profile)
}

fn hexadecimal(text: &str, min_token_len: i64, quant_rate: f64) -> Option<String> {
    let md5 = text_profile_signature(text, min_token_len, quant_rate, &mut || ()).unwrap();
    md5.map(|md5| md5.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Made by Nutch's own class (commit 790694141, Java 17, with stand-ins for Hadoop's): fields are `min_token_len`,
/// `quant_rate`, the text in hexadecimal and the MD5. `MINLSH_PROFILE_ANSWERS` names a file with others.
#[test]
fn signatures_are_those_of_java() {
    let answers = match std::env::var("MINLSH_PROFILE_ANSWERS") {
        Ok(file) => std::fs::read_to_string(file).unwrap(),
        Err(_) => include_str!("../golden/text_profile.txt").to_owned(),
    };
    for line in answers.lines() {
        let [min_token_len, quant_rate, text, md5, ..] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let text = String::from_utf8(bytes(text)).unwrap();
        let found = hexadecimal(&text, min_token_len.parse().unwrap(), quant_rate.parse().unwrap());
        // The empty profile's MD5.
        let md5 = (md5 != "d41d8cd98f00b204e9800998ecf8427e").then(|| md5.to_owned());
        assert_eq!(found, md5, "{line}");
    }
}

#[test]
fn only_repeated_tokens_count_if_there_are_any() {
    let entries = |text: &str| {
        let entries = profile(text, 2, 0.01).into_iter();
        entries.map(|(token, count)| format!("{token} {count}")).collect::<Vec<_>>()
    };
    assert_eq!(entries("The cat; the DOG, the cat's a cat! It"), ["cat 2", "the 2"]);
    assert_eq!(entries("some words, once each"), ["each 1", "once 1", "some 1", "words 1"]);
    assert!(entries("of no to -- it").is_empty());
    // Combining marks and characters of other planes end a token.
    assert_eq!(entries("nai\u{308}ve x\u{1d400}yz"), ["nai 1"]);
    assert_eq!(entries("İSTANBUL"), ["istanbul 1"]);
}

#[test]
fn the_quantum_is_rounded_half_up_in_single_precision() {
    // Of a token that comes so often, the count that is left.
    let left = |count: usize, rate| profile(&"token ".repeat(count), 2, rate)[0].1;
    assert_eq!(left(1, 1.0), 1);
    assert_eq!(left(5, 0.01), 4);
    assert_eq!(left(7, 0.5), 4);
    assert_eq!(left(249, 0.01), 248);
    assert_eq!(left(250, 0.01), 249);
    // As a double the product would be 16.4999..., and the quantum 16.
    assert_eq!(left(1650, 0.01), 97 * 17);
}

#[test]
fn a_text_without_tokens_has_no_signature() {
    assert_eq!(hexadecimal("", 2, 0.01), None);
    assert_eq!(hexadecimal("a bc ... \u{1f600}", 2, 0.01), None);
    // md5 of "bc 1".
    assert_eq!(hexadecimal("bc", 1, 0.0).as_deref(), Some("43c7e099a0a46f70fc7a9edc7af3869a"));
}

#[test]
fn refusals_name_the_value() {
    let refused = |min_token_len, quant_rate| tried("text", min_token_len, quant_rate).unwrap_err().to_string();
    assert_eq!(refused(-1, 0.01), "min_token_len must be at least 0, not -1");
    assert_eq!(refused(2, 1.5), "quant_rate must be between 0 and 1, not 1.5");
    assert_eq!(refused(2, f64::NAN), "quant_rate must be between 0 and 1, not NaN");
}
