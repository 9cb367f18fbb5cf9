//! Every level gives the signature that the portable one gives.
//!
//! `cargo +nightly fuzz run levels` in `crates/sketch`. The first four bytes choose the
//! configuration, the rest is the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use minlsh_sketch::{Config, Level, Sketcher};

fuzz_target!(|input: (u8, u8, u8, i8, &str)| {
    let (choice, num_perm, size, seed, text) = input;
    let scheme = ["fss", "permutations"][usize::from(choice & 1)];
    let unit = ["char", "word", "anchored"][usize::from(choice >> 1 & 3) % 3];
    let steps = ["none", "plain", "aggressive", "classic"][usize::from(choice >> 3 & 3)];
    let (num_perm, size) = (i64::from(num_perm) + 1, i64::from(size % 64) + 1);
    let Ok(config) = Config::new(scheme, num_perm, unit, size, i64::from(seed)) else {
        unreachable!("all choices are in range")
    };
    let config = config.with_bag(choice >> 5 & 1 == 1);
    let Ok(config) = steps.parse().and_then(|steps| config.with_normalization(steps)) else {
        unreachable!("no preset contradicts a unit")
    };
    let mut portable = Sketcher::with_level(config.clone(), Level::PORTABLE);
    let expected = portable.sketch(text, &mut || ()).unwrap();
    for level in Level::available() {
        let mut sketcher = Sketcher::with_level(config.clone(), level);
        assert_eq!(sketcher.sketch(text, &mut || ()).unwrap(), expected, "{level}, {config}");
    }
});
