//! Passages that many texts have, the places of characters, and the hashes of windows.

use std::ops::Range;

use sketch::passage::{
    CharacterOffsets, Characters, CommonRun, CommonRuns, Fingerprints, Stretch, gram_length,
    whole_words,
};
use sketch::{Level, Normalization, memory};

#[test]
fn offsets_are_those_of_the_characters() {
    let wide: String = (0..300).map(|i| if i % 3 == 0 { '漢' } else { 'a' }).collect();
    for text in ["", "plain text", "é", &wide] {
        let offsets = CharacterOffsets::of(text).unwrap();
        let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        for (character, start) in starts.iter().enumerate() {
            assert_eq!(offsets.bytes(&(character..starts.len())), *start..text.len());
        }
    }
}

#[test]
fn words_stay_whole() {
    let text = "one two three";
    assert_eq!(whole_words(text, 1..13), Some(3..13));
    assert_eq!(whole_words(text, 0..6), Some(0..4));
    assert_eq!(whole_words(text, 5..6), None);
    assert_eq!(whole_words(text, 4..4), None);
}

#[test]
fn a_run_ends_where_others_have_the_next_window() {
    let mut runs = CommonRuns::new(10);
    for (place, documents) in [(3, 5), (4, 6), (5, 12), (6, 12), (9, 12)] {
        runs.push(place, documents).unwrap();
    }
    let run = |range, documents| CommonRun { range, documents };
    assert_eq!(runs.finish(), [run(3..14, 5), run(5..16, 12), run(9..19, 12)]);
}

#[test]
fn edges_of_a_passage_are_not_listed() {
    // Few documents go on as this text does, and before it some begin in the same way.
    let runs = || {
        let mut runs = CommonRuns::new(10);
        let counts =
            [(3, 40), (4, 40), (5, 500), (30, 500), (31, 100), (32, 40), (45, 40), (46, 40)];
        let mut before = 0;
        for (end, documents) in counts {
            (before..end).for_each(|place| runs.push(place, documents).unwrap());
            before = end;
        }
        runs
    };
    let run = |range, documents| CommonRun { range, documents };
    let all = [run(0..13, 40), run(4..39, 500), run(30..40, 100), run(31..55, 40)];
    assert_eq!(runs().finish(), all);
    assert_eq!(runs().unlisted().unwrap(), [run(4..39, 500), run(31..55, 40)]);
    // What is listed already is not listed again, unless it is part of a longer one.
    let again = |marked: Range<usize>| {
        let mut runs = CommonRuns::new(10);
        marked.for_each(|place| runs.mark(place).unwrap());
        (0..30).for_each(|place| runs.push(place, 7).unwrap());
        runs.unlisted().unwrap()
    };
    assert_eq!(again(0..30), []);
    assert_eq!(again(1..22), []);
    assert_eq!(again(0..20), [run(0..39, 7)]);
}

/// The hash of a window by definition.
fn hash(window: &[char]) -> u64 {
    let p = window.iter().fold(0_u64, |p, c| {
        p.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(u32::from(*c).into())
    });
    let z = (p ^ p >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ z >> 29
}

#[test]
fn levels_agree_with_one_hash_after_another() {
    let number = |i: u32| i.wrapping_mul(2_654_435_761) >> 25;
    let ascii: String = (0..5000).map(|i| char::from(number(i) as u8)).collect();
    let wide: String = ascii.chars().map(|c| if c == 'a' { '漢' } else { c }).collect();
    for text in [ascii, wide] {
        let chars: Vec<char> = text.chars().collect();
        let text = Characters::of(&Normalization::none(), &text, &mut || ()).unwrap();
        for t in [16, 25, 37, 50, 51, 64, 99, 200, 1000] {
            let grams: Vec<u64> = chars.windows(gram_length(t)).map(hash).collect();
            let least = |grams: &[u64]| grams.iter().min().copied().unwrap();
            let minima: Vec<u64> = grams.windows(t - gram_length(t) + 1).map(least).collect();
            let hashes: Vec<(usize, u64)> = chars.windows(t).map(hash).enumerate().collect();
            let mut expected: Option<Vec<Stretch>> = None;
            for level in Level::available() {
                let mut fingerprints = Fingerprints::with_level(level).unwrap();
                let mut found = Vec::new();
                let mut push = |place, hash| memory::push(&mut found, (place, hash));
                fingerprints.windows(&text, t, |_| true, &mut || (), &mut push).unwrap();
                assert_eq!(found, hashes, "{level} {t}");
                // A stretch is of equal minima, and its entry depends on them alone.
                let stretches = fingerprints.stretches(&text, t, &mut || ()).unwrap();
                let ends = (1..minima.len()).filter(|i| minima[*i] != minima[i - 1]);
                let ends: Vec<usize> = ends.chain([minima.len()]).collect();
                assert_eq!(stretches.iter().map(|s| s.to).collect::<Vec<_>>(), ends, "{level} {t}");
                assert_eq!(expected.get_or_insert_with(|| stretches.clone()), &stretches);
            }
        }
    }
}
