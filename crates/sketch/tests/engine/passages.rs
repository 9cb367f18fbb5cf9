//! Passages against what they are by definition: every window is looked for by `contains`.
//!
//! `MINLSH_CASES=100000 cargo test -p minlsh-engine-tests --test engine passages` is the long form.

use std::collections::HashSet;

use minlsh_sketch::passage::{Bound, Characters, Fingerprints, Sought, covered, gram_length, needed, shared_runs};
use minlsh_sketch::{Level, Normalization};
use proptest::prelude::*;

use crate::common::{cases, is_thorough};

fn characters(text: &str) -> Characters<'_> {
    Characters::of(&Normalization::none(), text, &mut || ()).unwrap()
}

/// Marks the characters of `a` that lie in windows that `b` has.
fn covered_by_definition(a: &[char], b: &[char], t: usize) -> Vec<bool> {
    let t = t.min(a.len());
    let mut covered = vec![false; a.len()];
    if t > 0 {
        let windows: HashSet<&[char]> = b.windows(t).collect();
        for (i, _) in a.windows(t).enumerate().filter(|(_, window)| windows.contains(window)) {
            covered[i..i + t].fill(true);
        }
    }
    covered
}

/// Parts that texts are made of: random, periodic, frequent, wide.
fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z ]{1,40}",
        2 => "[ab]{1,60}",
        1 => (1..120_usize).prop_map(|n| " ".repeat(n)),
        1 => (1..60_usize).prop_map(|n| "ab".repeat(n)),
        1 => (1..100_usize).prop_map(|n| "-".repeat(n)),
        1 => "[ACGT]{1,200}",
        2 => "[a-zé漢字😀 ]{1,40}",
        1 => (0..4_u8, 1..30_usize).prop_map(|(level, n)| {
            (0..n).map(|i| format!("2026-11-22 0{level}:{i:02} INFO request served\n")).collect()
        }),
    ]
}

/// Two texts of the same parts in different orders.
fn pair() -> impl Strategy<Value = (String, String)> {
    prop::collection::vec(part(), 1..6).prop_flat_map(|parts| {
        let text = || {
            prop::collection::vec(any::<prop::sample::Index>(), 0..8).prop_map({
                let parts = parts.clone();
                move |chosen| chosen.iter().map(|i| i.get(&parts).as_str()).collect::<String>()
            })
        };
        (text(), text())
    })
}

fn check(a: &str, b: &str, t: usize, coverage: f64) {
    let (left, right) = (characters(a), characters(b));
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let expected = covered_by_definition(&a, &b, t);
    let count = expected.iter().filter(|covered| **covered).count();

    let runs = shared_runs(&left, &right, t, &mut || ()).unwrap();
    let mut found = vec![false; a.len()];
    for run in &runs {
        assert!(run.length >= t.min(a.len()));
        assert_eq!(a[run.a..][..run.length], b[run.b..][..run.length]);
        found[run.a..][..run.length].fill(true);
    }
    assert_eq!(found, expected);
    assert_eq!(covered(&runs), count);
    // No run is in vain, and none is given in two parts.
    for pair in runs.windows(2) {
        assert!(pair[0].a < pair[1].a && pair[0].a + pair[0].length < pair[1].a + pair[1].length);
        let connected = pair[1].a <= pair[0].a + pair[0].length;
        assert!(!connected || pair[0].b + pair[1].a != pair[1].b + pair[0].a);
    }

    // What a search by fingerprints finds.
    if let Some(index_t) = [16, t].into_iter().find(|index_t| a.len() >= *index_t) {
        let index_t = index_t.min(t);
        let mut entries = Vec::new();
        let mut fingerprints = Fingerprints::new().unwrap();
        fingerprints.append(&right, index_t, &mut entries, &mut || ()).unwrap();
        let entries: HashSet<u64> = entries.into_iter().collect();
        let bound = Bound::new(&left, coverage, t, index_t, &mut || ()).unwrap();
        if count >= needed(coverage, a.len()) {
            let has = |place: usize| entries.contains(&bound.entries()[place]);
            // Whatever the entries cost, one of those that are asked for is there.
            for salt in 0..3_u64 {
                let cost = |place: usize| bound.entries()[place].wrapping_mul(2 * salt + 1) >> 50;
                let asked = bound.cheapest(|place| Some(cost(place))).unwrap();
                assert!(asked.unwrap().into_iter().any(has));
            }
            assert!(bound.is_possible(|place| !has(place)));
        }
    }
    assert_eq!(Sought::new(left, t, &mut || ()).unwrap().covered(&right, &mut || ()).unwrap(), count);
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn no_window_is_missed(
        (a, b) in pair(),
        t in prop_oneof![Just(16_usize), 16..40_usize, Just(50), 90..130_usize],
        coverage in prop_oneof![Just(1.0), Just(0.8), 0.01..1.0],
    ) {
        check(&a, &b, t, coverage);
    }

    #[test]
    fn fingerprints_are_the_same_on_every_machine(a in "[a-zé漢 ]{0,200}", t in 16..200_usize) {
        let text = characters(&a);
        let of = |level| {
            let mut entries = Vec::new();
            let mut fingerprints = Fingerprints::with_level(level).unwrap();
            fingerprints.append(&text, t, &mut entries, &mut || ()).unwrap();
            let stretches = fingerprints.stretches(&text, t, &mut || ()).unwrap();
            assert_eq!(stretches.iter().map(|part| part.entry).collect::<Vec<_>>(), entries);
            stretches
        };
        let expected = of(Level::PORTABLE);
        let windows = (a.chars().count() + 1).saturating_sub(t);
        prop_assert_eq!(expected.last().map_or(0, |last| last.to), windows);
        for level in Level::available() {
            prop_assert_eq!(&of(level), &expected);
        }
    }

    #[test]
    fn places_are_where_characters_come_from(
        text in prop_oneof![
            "([a-zA-Z0-9 ,.]{0,70}\
              [\u{301}\u{323}éÉßﬁ½가\u{1100}\u{1161}\u{11a8}がか\u{3099}１！“\u{200b}\u{ad}😀]{0,3}\
              [ \t\n]{0,3}){0,8}",
            "\\PC{0,60}",
            "[ -~\n\t]{0,400}",
        ],
        steps in prop::sample::select(vec!["none", "plain", "aggressive", "nfc punctuation", "casefold"]),
        (from, to) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
    ) {
        let normalization: Normalization = steps.parse().unwrap();
        let read = Characters::with_places(&normalization, &text, &mut || ()).unwrap();
        let plain = Characters::of(&normalization, &text, &mut || ()).unwrap();
        prop_assert_eq!(read.text(), plain.text());
        let (from, to) = (from.index(read.len() + 1), to.index(read.len() + 1));
        let (from, to) = (from.min(to), from.max(to));
        if from == to {
            return Ok(());
        }
        let original = read.original(from..to);
        prop_assert!(original.start < original.end && original.end <= text.chars().count());
        let part: String =
            text.chars().skip(original.start).take(original.end - original.start).collect();
        // Marks stand with their letters, so the part alone is normalised to what it was.
        let part = normalization.normalize(&part, &mut || ()).unwrap();
        let expected: String = read.text().chars().skip(from).take(to - from).collect();
        prop_assert!(part.contains(expected.trim()), "{part:?} of {expected:?}");
        // No character comes from behind another's.
        let places: Vec<_> = (0..read.len()).map(|i| read.original(i..i + 1)).collect();
        prop_assert!(places.windows(2).all(|two| two[0].start <= two[1].start && two[0].end <= two[1].end));
    }
}

#[test]
fn texts_that_are_hard() {
    // Characters of each text.
    let size = if is_thorough() { 60_000 } else { 24_000 };
    let log = (0..size / 20).map(|i| format!("2026-11-22 03:{:02} INFO request served\n", i % 60));
    let mut state = 1_u64;
    let dna = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ['A', 'C', 'G', 'T'][(state >> 62) as usize]
    });
    let dna: String = dna.take(size).collect();
    let ruler = format!("{}+", "-".repeat(79)).repeat(size / 75);
    let texts = [
        " ".repeat(size),
        "ab".repeat(size / 2),
        ruler.clone(),
        dna.clone(),
        dna[..size / 2].repeat(2),
        log.collect(),
        format!("{}{dna}", &ruler[..size / 3]),
        "漢字".repeat(size / 3),
    ];
    let lengths: &[usize] = if is_thorough() { &[16, 50, 200] } else { &[50] };
    for a in &texts {
        for b in &texts {
            for &t in lengths {
                check(a, b, t, 0.8);
            }
        }
    }
}

#[test]
fn windows_of_long_texts_are_looked_up_in_parts() {
    // Lines of dashes that end with a word: nearly each window has a part that is in thousands of places.
    let mut state = 1_u64;
    let mut lines: Vec<String> = (0..11_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            format!("{}{:05x}", "-".repeat(45), state >> 44)
        })
        .collect();
    let a = lines.concat();
    // Other neighbours, and half of the words.
    lines.truncate(5500);
    lines.reverse();
    let b = lines.concat();
    // More characters than a table is kept of, and the other way round.
    check(&a, &b, 50, 0.3);
    check(&b, &a, 50, 0.3);
}

#[test]
fn a_share_is_counted_in_whole_characters() {
    assert_eq!(needed(0.8, 5), 4);
    assert_eq!(needed(0.8, 500), 400);
    assert_eq!(needed(1.0, 7), 7);
    assert_eq!(needed(0.5, 7), 4);
    assert_eq!(needed(1e-9, 100), 1);
}

#[test]
fn fingerprints_that_indexes_store() {
    let text: String = (0..400).map(|i| format!("{} ", i * i % 977)).collect();
    let mut hash = 0_u64;
    let mut counts = Vec::new();
    for t in [16, 30, 50, 200] {
        let mut entries = Vec::new();
        let text = characters(&text);
        Fingerprints::new().unwrap().append(&text, t, &mut entries, &mut || ()).unwrap();
        let grams = gram_length(t);
        // Of each window one of its grams is kept: 2 of t - k + 2, if hashes are random.
        counts.push((entries.len(), (text.len() - t + 1) * 2 / (t - grams + 2)));
        hash = entries.iter().fold(hash, |hash, entry| hash.rotate_left(7) ^ entry);
    }
    for (found, expected) in &counts {
        assert!(found * 10 > expected * 8 && found * 10 < expected * 12, "{counts:?}");
    }
    // Of version 1. A change makes all indexes of passages wrong.
    assert_eq!(hash, 0xd2a5_0de2_7801_4dcd, "{hash:#x}");
}
