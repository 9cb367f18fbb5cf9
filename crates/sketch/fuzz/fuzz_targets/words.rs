//! Cutting a text into pieces, ASCII or not, changes none of its words.
//!
//! `cargo +nightly fuzz run words` in `crates/sketch`. The text is repeated to be longer
//! than a piece.
#![no_main]

use libfuzzer_sys::fuzz_target;
use minlsh_sketch::{Config, for_each_shingle};
use unicode_segmentation::UnicodeSegmentation;

fuzz_target!(|text: &str| {
    let text = text.repeat(1 + 3000 / text.len().max(1));
    let Ok(config) = Config::new("fss", 128, "word", 1, 0) else {
        unreachable!("all arguments are in range")
    };
    let mut words = text.unicode_words();
    for_each_shingle(&config, &text, &mut || (), &mut |word| { assert_eq!(Some(word), words.next()); Ok(()) }).unwrap();
    assert_eq!(words.next(), None);
});
