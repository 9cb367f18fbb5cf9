//! Known-answer tests of the running machine: a fault of its processor, of the compiler or of a dependency would
//! otherwise show as entries that no search finds.

use std::fmt::Write;

use crate::hash::xxh3;
use crate::signature::Sketcher;
use crate::simd::Level;
use crate::text::Normalization;
use crate::{Config, Result};

/// The result of a kind of signature with a set of instructions.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The instructions: `portable`, `avx2` or `avx512`.
    pub instructions: String,
    /// The options of the signature.
    pub options: String,
    /// True if the signature is the known one.
    pub passed: bool,
}

/// Scheme, num_perm, unit, shingle_size, and XXH3_64 of the slots in little-endian bytes.
const KNOWN: [(&str, i64, &str, i64, u64); 4] = [
    ("fss", 128, "char", 5, 0x4b8c_3f51_944c_6b6b),
    ("fss", 64, "word", 3, 0x6630_9107_d085_a83a),
    ("permutations", 128, "char", 9, 0x81c1_5a2b_bc2e_7591),
    ("datasketch_affine32_xxh3", 128, "char", 5, 0xd5f1_f3be_a924_febf),
];

/// Signs a text in several scripts, longer than every block of the kernels, with each set of instructions of this
/// machine. Compares the signatures with the known ones.
pub fn self_test() -> Result<Vec<Answer>> {
    let text = text();
    let mut answers = Vec::new();
    for (scheme, num_perm, unit, shingle_size, known) in KNOWN {
        let config = Config::new(scheme, num_perm, unit, shingle_size, 1)?;
        let config = config.with_normalization(Normalization::plain())?;
        for level in Level::available() {
            let mut sketcher = Sketcher::with_level(config.clone(), level);
            let signature = sketcher.sketch(&text, &mut || ())?.unwrap_or_default();
            let bytes: Vec<u8> = signature.iter().flat_map(|slot| slot.to_le_bytes()).collect();
            answers.push(Answer {
                instructions: level.to_string(),
                options: config.to_string(),
                passed: xxh3::hash(&bytes) == known,
            });
        }
    }
    Ok(answers)
}

/// Four kilobytes of English, mixed with as much text in other scripts.
fn text() -> String {
    let mut text = String::new();
    for number in 0..60 {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "Permission {number} is hereby granted, free of charge. Ein Stra\u{df}enschild f\u{fc}r K\u{f6}ln. \
             \u{420}\u{430}\u{437}\u{440}\u{435}\u{448}\u{435}\u{43d}\u{438}\u{435} {number}. \
             \u{6f22}\u{5b57}\u{3068}\u{304b}\u{306a} \u{d55c}\u{ad6d}\u{c5b4} \u{1f600}"
        );
    }
    text
}
