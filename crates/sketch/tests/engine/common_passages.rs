//! Passages that many texts have, the places of characters, and the hashes of windows.

use std::ops::Range;

use minlsh_sketch::passage::{
    CharacterOffsets, Characters, CommonRun, CommonRuns, Fingerprints, Stretch, gram_length, whole_words,
};
use minlsh_sketch::{Level, Normalization, memory};

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

/// The runs that are listed of texts, each given by its windows: place, number and documents.
fn listed(texts: &[&[(usize, u32, u32)]]) -> Vec<Vec<CommonRun>> {
    let mut runs = CommonRuns::new(10, 200).unwrap();
    let list = |text: &&[(usize, u32, u32)]| {
        text.iter().for_each(|(place, number, count)| runs.push(*place, *number, *count).unwrap());
        runs.unlisted().unwrap()
    };
    texts.iter().map(list).collect()
}

fn run(range: Range<usize>, documents: u32, rarest: u32, is_first: bool) -> CommonRun {
    CommonRun { range, documents, rarest, is_first }
}

#[test]
fn a_run_ends_where_others_have_the_next_window() {
    let windows = [(3, 1, 5), (4, 2, 6), (15, 3, 12), (16, 4, 12), (29, 5, 12)];
    let runs = [run(3..14, 5, 1, true), run(15..26, 12, 3, true), run(29..39, 12, 5, true)];
    assert_eq!(listed(&[&windows]), [runs]);
}

#[test]
fn edges_of_a_passage_are_not_listed() {
    // Few documents go on as this text does, and before it some begin in the same way.
    let counts = [(3, 40), (4, 40), (5, 500), (30, 500), (31, 100), (32, 40), (45, 40), (46, 40)];
    let count = |place: &usize| counts.iter().find(|(end, _)| place < end).map(|count| count.1);
    let all: Vec<_> = (0..46).map(|place| (place, place as u32, count(&place).unwrap())).collect();
    assert_eq!(listed(&[&all]), [[run(4..39, 500, 4, true), run(31..55, 40, 31, true)]]);
    // What is listed already is not listed again, unless it is part of a longer one.
    let part = |places: Range<usize>| -> Vec<_> { places.map(|place| (place, place as u32, 7)).collect() };
    for (before, after) in [(0..30, None), (1..22, None), (0..20, Some(run(0..39, 7, 0, true)))] {
        let found = listed(&[&part(before), &part(0..30)]);
        assert_eq!(found[1], Vec::from_iter(after));
    }
}

#[test]
fn a_passage_that_is_twice_in_a_text_is_listed_once() {
    let twice: Vec<_> = (0..12).chain(100..112).map(|place| (place, place as u32 % 100, 7)).collect();
    assert_eq!(listed(&[&twice]), [[run(0..21, 7, 0, true)]]);
}

#[test]
fn a_run_that_an_earlier_text_may_have_is_told() {
    // The first text has the windows of the second one's run, but too few of them were worth to be listed.
    let count = |place: usize| if place < 5 { 9 } else { 90 };
    let first: Vec<_> = (0..20).map(|place| (place, place as u32, count(place))).collect();
    let second: Vec<_> = (0..5).map(|place| (place + 40, place as u32, 9)).collect();
    assert_eq!(listed(&[&first, &second]), [[run(5..29, 90, 5, true)], [run(40..54, 9, 0, false)]]);
}

/// The hash of a window by definition.
fn hash(window: &[char]) -> u64 {
    let p = window.iter().fold(0_u64, |p, c| p.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(u32::from(*c).into()));
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
