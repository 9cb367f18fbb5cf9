//! The specification once more, as plainly as possible: what the engine is
//! tested against.

pub mod signatures;

use std::collections::{HashMap, HashSet};

use minlsh_sketch::{Config, Level, Scheme, Sketcher, Unit, VisitShingle, for_each_shingle, tokens};
use proptest::prelude::ProptestConfig;
use unicode_segmentation::UnicodeSegmentation;
use xxhash_rust::xxh3::xxh3_64;

pub const G: u64 = 0x9e37_79b9_7f4a_7c15;
const S: u64 = 0x6d69_6e6c_7368_3031;

/// True in `make test-all`, which tries more and longer texts than `make test`.
pub fn is_thorough() -> bool {
    std::env::var_os("MINLSH_THOROUGH").is_some()
}

/// Tries a property with `count` random cases in `make test-all`, and with a tenth of them, but at least 256, in
/// `make test`. `MINLSH_CASES` is the number of cases of every property.
pub fn cases(count: u32) -> ProptestConfig {
    let chosen = std::env::var("MINLSH_CASES").ok().and_then(|cases| cases.parse().ok());
    let usual = if is_thorough() { count } else { count.min((count / 10).max(256)) };
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(chosen.unwrap_or(usual)) }
}

pub fn config(scheme: &str, num_perm: i64, unit: &str, size: i64, seed: i64) -> Config {
    Config::new(scheme, num_perm, unit, size, seed).unwrap()
}

/// The signature of a text on every level of this machine, which must agree.
pub fn sketch(config: &Config, text: &str) -> Option<Vec<i32>> {
    let mut signatures = Level::available().into_iter().map(|level| {
        let mut sketcher = Sketcher::with_level(config.clone(), level);
        (level, sketcher.sketch(text, &mut || ()).unwrap().map(<[i32]>::to_vec))
    });
    let (_, first) = signatures.next().unwrap();
    for (level, other) in signatures {
        assert_eq!(first, other, "{level}, {config}");
    }
    first
}

/// The tokens that the engine cuts a text into.
pub fn found_tokens(config: &Config, text: &str) -> Vec<String> {
    visited(|f| tokens(config, text, &mut || (), f))
}

/// The shingles that the engine cuts a text into.
pub fn found_shingles(config: &Config, text: &str) -> Vec<String> {
    visited(|f| for_each_shingle(config, text, &mut || (), f))
}

pub fn visited(each: impl FnOnce(VisitShingle) -> minlsh_sketch::Result<()>) -> Vec<String> {
    let mut found = Vec::new();
    each(&mut |part| {
        found.push(part.to_owned());
        Ok(())
    })
    .unwrap();
    found
}

/// The bytes that hexadecimal digits stand for.
pub fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits = hexadecimal.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).unwrap());
    digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

/// The tokens of a text by the specification.
pub fn expected_tokens(config: &Config, text: &str) -> Vec<String> {
    let steps = config.normalization();
    let text = steps.normalize(text, &mut || ()).unwrap();
    let written = steps.to_string();
    let step = |name: &str| written.split(' ').find(|step| step.starts_with(name));
    let listed = listed(
        config,
        match step("stop_words") {
            None => Vec::new(),
            Some("stop_words") => config.stop_words().iter().collect(),
            Some(step) => step["stop_words=".len()..].split('+').collect(),
        },
    );
    let shortest = step("min_length").map_or(0, |step| step[11..].parse().unwrap());
    let kept = |word: &&str| word.chars().count() >= shortest && !listed.contains(&word.to_string());
    let by_space = || text.split_whitespace().filter(kept);
    match config.unit() {
        Unit::Char if shortest == 0 && step("stop_words").is_none() => {
            if text.trim().is_empty() {
                Vec::new()
            } else {
                text.chars().map(String::from).collect()
            }
        }
        Unit::Char => by_space().collect::<Vec<_>>().join(" ").chars().map(String::from).collect(),
        _ if step("split_whitespace").is_some() => by_space().map(String::from).collect(),
        _ => text.unicode_words().filter(kept).map(String::from).collect(),
    }
}

fn listed(config: &Config, list: Vec<&str>) -> Vec<String> {
    let normalized = |word| config.normalization().normalize(word, &mut || ()).unwrap().trim().to_owned();
    list.into_iter().map(normalized).collect()
}

/// All shingles, in order.
pub fn shingles(config: &Config, text: &str) -> Vec<Vec<String>> {
    let tokens = expected_tokens(config, text);
    let mut windows: Vec<_> = tokens.windows(config.shingle_size()).map(<[_]>::to_vec).collect();
    if config.unit() == Unit::Anchored {
        let anchors = listed(config, config.stop_words().iter().collect());
        windows.retain(|window| anchors.contains(&window[0]));
    }
    if windows.is_empty() && !tokens.is_empty() { vec![tokens] } else { windows }
}

/// The exact Jaccard similarity, from sets of strings.
pub fn exact_jaccard(config: &Config, a: &str, b: &str) -> Option<f64> {
    let set = |text| shingles(config, text).into_iter().collect::<HashSet<_>>();
    let (a, b) = (set(a), set(b));
    let united = a.union(&b).count();
    (united > 0).then(|| a.intersection(&b).count() as f64 / united as f64)
}

pub fn mix64(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The hashes of all shingles, in order, without the seed; of a bag the hashes of its elements.
pub fn hashes(config: &Config, text: &str) -> Vec<u64> {
    let hash = |shingle: Vec<String>| match (config.unit(), &shingle[..]) {
        (Unit::Char, _) => xxh3_64(shingle.concat().as_bytes()),
        (_, [word]) => xxh3_64(word.as_bytes()),
        (_, words) => mix64(
            words
                .iter()
                .fold(0, |polynomial: u64, word| polynomial.wrapping_mul(G).wrapping_add(xxh3_64(word.as_bytes()))),
        ),
    };
    let mut seen = HashMap::new();
    let numbered = |hash: u64| {
        let count: &mut u64 = seen.entry(hash).or_default();
        *count += 1;
        if *count == 1 { hash } else { mix64(hash.wrapping_add((*count - 1).wrapping_mul(G))) }
    };
    let hashes = shingles(config, text).into_iter().map(hash);
    if config.bag() { hashes.map(numbered).collect() } else { hashes.collect() }
}

/// The signature by the specification.
pub fn signature(config: &Config, text: &str) -> Option<Vec<i32>> {
    let mut hashes = hashes(config, text);
    if config.seed() != 0 {
        let offset = mix64(config.seed() as u64);
        hashes.iter_mut().for_each(|h| *h = mix64(h.wrapping_add(offset)));
    }
    let count = config.num_perm();
    let permuted = |slot: usize| {
        let constant = |i: u64| (mix64(S.wrapping_add((i + 1).wrapping_mul(G))) >> 32) as u32;
        let (a, b) = (constant(2 * slot as u64) | 1, constant(2 * slot as u64 + 1));
        let value = |h: &u64| a.wrapping_mul(*h as u32).wrapping_add(b);
        hashes.iter().map(value).min()
    };
    if config.scheme() == Scheme::Permutations {
        return (0..count).map(|slot| Some(permuted(slot)? as i32)).collect();
    }
    let mut slots = vec![None; count];
    for round in 0..7 {
        for &h in &hashes {
            let mixed = mix64(h.wrapping_add(u64::from(round).wrapping_mul(G)));
            let z = if round == 0 { h } else { mixed };
            let value = round << 28 | (z as u32) >> 4;
            let slot = &mut slots[(((z >> 32) * count as u64) >> 32) as usize];
            *slot = Some(slot.map_or(value, |old: u32| old.min(value)));
        }
        if !slots.contains(&None) {
            break;
        }
    }
    let filled = |(i, slot): (usize, Option<u32>)| Some(slot.unwrap_or(7 << 28 | permuted(i)? >> 4) as i32);
    slots.into_iter().enumerate().map(filled).collect()
}
