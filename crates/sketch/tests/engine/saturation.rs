//! Texts that are too long for their shingles: unrelated ones share more than a quarter of them.

use crate::common::{self, mix64};
use minlsh_sketch::{Config, ShingleSet, saturated};

/// Unrelated texts of letters of an alphabet, each as likely as any.
fn text(seed: u64, alphabet: &[u8], length: u64) -> String {
    let letter = |i| mix64(seed << 40 | i) as usize % alphabet.len();
    (0..length).map(|i| char::from(alphabet[letter(i)])).collect()
}

fn config(size: i64) -> Config {
    common::config("fss", 128, "char", size, 0)
}

fn needs(size: i64, text: &str) -> Option<usize> {
    saturated(&config(size), text, &mut || ()).unwrap()
}

#[test]
fn what_is_said_of_texts_is_true_of_pairs_of_them() {
    for (alphabet, length) in [(&b"acgt"[..], 80_000), (b"0123456789abcdef", 300_000), (b"0123456789abcdef", 70_000)] {
        let (a, b) = (text(1, alphabet, length), text(2, alphabet, length));
        for size in 4..=9 {
            let set = |text| ShingleSet::from_text(&config(size as i64), text, &mut || ()).unwrap();
            let similarity = set(&a).jaccard(&set(&b)).unwrap();
            match needs(size as i64, &a) {
                // The entropy is measured on a sample of 2,048 characters.
                None => assert!(similarity < 0.25 * 1.1, "{size} {similarity}"),
                Some(better) => {
                    assert!(similarity > 0.25 * 0.9, "{size} {similarity}");
                    assert!(better > size, "{size} {better}");
                }
            }
        }
    }
}

#[test]
fn dumps_of_megabytes_are_saturated_and_need_larger_shingles() {
    let hex = text(3, b"0123456789abcdef", 10_000_000);
    assert_eq!((needs(5, &hex), needs(9, &hex)), (Some(8), None));
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let base64 = text(4, letters, 10_000_000);
    // As it is written; in one case it has 5.2 bits for a character, and not 6.
    assert_eq!((needs(4, &base64), needs(5, &base64)), (Some(5), None));
}

#[test]
fn other_texts_are_not_looked_at() {
    let hex = text(5, b"0123456789abcdef", 1_000_000);
    assert_eq!(needs(5, &hex[..64 * 1024 - 1]), None);
    let words = common::config("fss", 128, "word", 1, 0);
    assert_eq!(saturated(&words, &hex, &mut || ()).unwrap(), None);
    // What repeats itself is not random.
    assert_eq!(needs(5, &"\u{5b57}\u{8a5e}".repeat(64 * 1024)), None);
}
