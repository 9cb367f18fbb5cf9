//! Texts that end, or have their next character, right at a limit by which the engine cuts texts into parts: with
//! characters of each width in bytes, on each set of instructions.

use std::process::Command;

use minlsh_sketch::passage::{CharacterOffsets, Characters, Fingerprints, Sought, shared_runs};
use minlsh_sketch::{Config, Level, MAX_MIN_MATCH, Normalization, shingle_hashes};
use unicode_segmentation::UnicodeSegmentation;
use xxhash_rust::xxh3::xxh3_64;

use crate::common::{config, found_shingles, found_tokens, hashes, is_thorough, sketch};
use crate::normalization::defined;

/// Characters or bytes: of a vector, of a block, of a batch of words, of a part.
const SHORT: [usize; 7] = [8, 16, 32, 64, 128, 256, 512];

/// Characters or bytes: of a piece, of a chunk; of what is normalised or read between two calls of the check.
const LONG: [usize; 4] = [1024, 4096, 16 * 1024, 64 * 1024];

/// Kinds of characters: of each width, letters that words are made of, and others.
const KINDS: [(usize, char); 8] = [(1, 'a'), (1, '!'), (2, 'а'), (2, '¡'), (3, 'Ꭰ'), (3, '漢'), (4, '𐐨'), (4, '🌀')];

/// `count` characters from `first` on; few enough of them are different that all are of one kind.
fn run(first: char, count: usize) -> String {
    let code = |i: usize| u32::from(first) + (i * i % 13) as u32;
    (0..count).filter_map(|i| char::from_u32(code(i))).collect()
}

/// Numbers of characters next to a limit of `limit` characters, and next to a limit of `limit` bytes.
fn counts(limit: usize, width: usize) -> impl Iterator<Item = usize> {
    let mut counts: Vec<usize> =
        [limit, limit / width].into_iter().flat_map(|at| at.saturating_sub(1)..=at + 1).collect();
    counts.sort_unstable();
    counts.dedup();
    counts.into_iter().filter(|count| *count > 0)
}

/// Texts of one kind of characters next to `limit`: alone, behind a character of another width, behind a run of ASCII
/// that is worth a kernel, and with such a run behind them.
fn texts(first: char, count: usize) -> [String; 4] {
    let run = run(first, count);
    let ascii = "one long run of ascii ".repeat(8);
    [run.clone(), format!("é{run}"), format!("{ascii}{run}z"), format!("{run}{ascii}")]
}

fn found_hashes(config: &Config, text: &str) -> Vec<u64> {
    let mut found = Vec::new();
    shingle_hashes(config, text, &mut found, &mut || ()).unwrap();
    found
}

#[test]
fn windows_of_characters_are_those_of_the_text() {
    let naive = |config: &Config, text: &str| -> Vec<u64> {
        found_shingles(config, text).iter().map(|shingle| xxh3_64(shingle.as_bytes())).collect()
    };
    for size in [1, 2, 3, 5, 8, 16, 17, 33, 63, 64] {
        let config = config("fss", 16, "char", size, 0);
        for (width, first) in KINDS {
            for limit in SHORT {
                for count in counts(limit, width).chain(counts(size as usize, 1)) {
                    for text in texts(first, count) {
                        let found = found_hashes(&config, &text);
                        assert_eq!(found, naive(&config, &text), "{config}: {count} {first:?}");
                    }
                }
            }
        }
    }
    for size in [1, 5, 64] {
        let config = config("fss", 16, "char", size, 0);
        for (limit, (width, first)) in LONG.into_iter().flat_map(|l| KINDS.map(|kind| (l, kind))) {
            for count in counts(limit, width) {
                let text = run(first, count);
                assert!(found_hashes(&config, &text) == naive(&config, &text), "{count} {first:?}");
            }
        }
    }
}

/// Each level is asked directly.
#[test]
fn signatures_are_equal_on_all_levels() {
    for size in [1, 5, 63, 64] {
        let config = config("fss", 16, "char", size, 0);
        for (width, first) in KINDS {
            for limit in SHORT {
                for text in counts(limit, width).flat_map(|count| texts(first, count)) {
                    assert!(sketch(&config, &text).is_some());
                }
            }
        }
    }
}

#[test]
fn words_are_those_of_the_tables() {
    for (width, first) in KINDS {
        for limit in SHORT.into_iter().chain([1024, 4096]) {
            for count in counts(limit, width) {
                let word = run(first, count);
                // A long word, one that ends a piece, and as many short ones.
                for text in [
                    word.clone(),
                    format!("{}{word} {word}. {word}", " a".repeat(limit / 2)),
                    run(first, 3) + &format!(" {}", run(first, 2)).repeat(count),
                ] {
                    let expected: Vec<&str> = text.unicode_words().collect();
                    let config = config("fss", 16, "word", 1, 0);
                    assert_eq!(found_tokens(&config, &text), expected, "{count} {first:?}");
                    let hashes: Vec<u64> = expected.iter().map(|word| xxh3_64(word.as_bytes())).collect();
                    assert_eq!(found_hashes(&config, &text), hashes, "{count} {first:?}");
                }
            }
        }
    }
    for size in [2, 3, 63, 64] {
        for unit in ["word", "anchored"] {
            let config = config("fss", 16, unit, size, 0);
            for (_, first) in KINDS {
                for limit in [size as usize, 64, 128, 256] {
                    for count in limit - 1..=limit + 1 {
                        let words = (0..count).map(|i| run(first, 1 + i * i % 7) + " the ");
                        let text: String = words.collect();
                        let found = found_hashes(&config, &text);
                        assert_eq!(found, hashes(&config, &text), "{config}: {count} {first:?}");
                    }
                }
            }
        }
    }
}

/// Characters that the steps change, that they leave, that take more bytes then, and marks.
#[test]
fn texts_are_normalised_by_the_tables() {
    let kinds = [
        "A", "a", "é", "É", "\u{301}", "Ạ", "漢", "ﷺ", "𐐀", "🌀", "e\u{301}", " ", "-", "\u{ad}", "ø", "<b>", "&amp;",
        "&lt;", "7", "٣",
    ];
    for steps in ["nfc", "plain", "aggressive", "html nfkc letters invisible punctuation numbers"] {
        let parsed: Normalization = steps.parse().unwrap();
        let written = parsed.to_string();
        for kind in kinds {
            let all: &[usize] = if is_thorough() { &[16, 32, 64, 128, 256] } else { &[16, 64] };
            let limits = all.iter().flat_map(|limit| counts(*limit, kind.len()));
            for count in limits {
                for text in [
                    kind.repeat(count),
                    format!("é{}z", kind.repeat(count)),
                    format!("{}{kind}", "A".repeat(count)),
                    format!("{}{kind}B", "é".repeat(count)),
                ] {
                    let (text, places) = (&text, format!("{count} {kind:?} {written}"));
                    let found = parsed.normalize(text, &mut || ()).unwrap();
                    assert_eq!(found, defined(&written, text), "{places}");
                    let read = Characters::with_places(&parsed, text, &mut || ()).unwrap();
                    assert_eq!(read.text(), found, "{places}");
                    let (all, length) = (read.original(0..read.len()), text.chars().count());
                    assert!(read.is_empty() || all.end <= length, "{places}: {all:?}");
                }
            }
            let is_long = steps == "plain" || steps.starts_with("html");
            for limit in LONG.into_iter().filter(|limit| is_long && *limit < 1 << 16) {
                for count in limit / kind.len() - 1..=limit / kind.len() + 1 {
                    let text = kind.repeat(count);
                    let found = parsed.normalize(&text, &mut || ()).unwrap();
                    assert!(found == defined(&written, &text), "{count} {kind:?} {written}");
                }
            }
        }
    }
}

#[test]
fn passages_are_found_whole() {
    fn read(text: &str) -> Characters<'_> {
        Characters::of(&Normalization::none(), text, &mut || ()).unwrap()
    }
    for (width, first) in KINDS {
        for limit in [16, 64, MAX_MIN_MATCH].into_iter().chain(LONG) {
            for count in counts(limit, width).filter(|count| *count >= 16) {
                // Its windows differ.
                let parts = (0..count).map(|i| run(first, 1 + i % 2) + &i.to_string());
                let parts: String = parts.collect();
                let passage: String = parts.chars().take(count).collect();
                let body = format!("é🌀漢z{passage}漢");
                let windows = [64, 16, 17, 63, 65, MAX_MIN_MATCH].into_iter();
                for min_match in windows.take(if limit > 4096 { 1 } else { 6 }) {
                    let (a, b) = (read(&passage), read(&body));
                    let runs = shared_runs(&a, &b, min_match, &mut || ()).unwrap();
                    let found: Vec<_> = runs.iter().map(|run| (run.a, run.b, run.length)).collect();
                    assert_eq!(found, [(0, 4, count)], "{min_match}: {count} {first:?}");
                    let covered = Sought::new(a, min_match, &mut || ()).unwrap().covered(&b, &mut || ());
                    assert_eq!(covered, Ok(count));
                    let mut entries = Level::available().into_iter().map(|level| {
                        let mut entries = Vec::new();
                        let mut fingerprints = Fingerprints::with_level(level).unwrap();
                        fingerprints.append(&b, min_match, &mut entries, &mut || ()).unwrap();
                        entries
                    });
                    let portable = entries.next().unwrap();
                    assert_eq!(portable.is_empty(), b.len() < min_match);
                    assert!(entries.all(|entries| entries == portable));
                }
                let offsets = CharacterOffsets::of(&body).unwrap();
                assert_eq!(&body[offsets.bytes(&(4..4 + count))], passage);
                assert_eq!(offsets.bytes(&(count..count + 5)).end, body.len());
            }
        }
    }
}

/// Runs tests of texts once more with each set of instructions but the best. Only some parts of the engine can be
/// called with a chosen set directly.
#[test]
fn each_set_of_instructions_passes_the_tests_of_texts() {
    const CHOSEN: &str = "MINLSH_SIMD";
    if let Ok(chosen) = std::env::var(CHOSEN) {
        assert_eq!(Level::best().to_string(), chosen);
        return;
    }
    let tests = [
        "limits::",
        "normalization::texts_are",
        "normalization::scripts",
        "options::a_normalised",
        "options::tokens",
        "passages::",
        "texts::",
        "words::words",
    ];
    let cases = if is_thorough() { "256" } else { "16" };
    for level in Level::available().into_iter().filter(|level| *level != Level::best()) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(tests).env(CHOSEN, level.to_string()).env("MINLSH_CASES", cases);
        let output = command.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{level}: {printed}");
        assert!(printed.contains("each_set_of_instructions_passes_the_tests_of_texts ... ok"));
    }
}
