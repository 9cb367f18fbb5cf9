//! Thresholds and origins that a sample suggests.

use minlsh_sketch::{DEFAULT_THRESHOLD, Histogram, Suggested, WithinOrigin, robust_from};
use proptest::prelude::*;

use crate::common::cases;

/// The bins of a histogram.
const BINS: usize = 20;

fn middle(bin: usize) -> f64 {
    (bin as f64 + 0.5) / BINS as f64
}

/// A histogram with `documents[bin]` documents and `pairs[bin]` pairs in each bin.
fn histogram(documents: &[u64; BINS], pairs: &[u64; BINS]) -> Histogram {
    let mut histogram = Histogram::default();
    for bin in 0..BINS {
        (0..documents[bin]).for_each(|_| histogram.add_nearest(middle(bin)));
        (0..pairs[bin]).for_each(|_| histogram.add_pair(middle(bin)));
    }
    histogram
}

/// Counts that are zero but in some bins.
fn counts(of: &[(usize, u64)]) -> [u64; BINS] {
    let mut counts = [0; BINS];
    of.iter().for_each(|(bin, count)| counts[*bin] = *count);
    counts
}

/// The rule as it is written down, for all bins at once.
fn by_the_rule(documents: &[u64; BINS], pairs: &[u64; BINS], random: f64) -> Option<f64> {
    let is_ok = |bin: usize| {
        let above = documents[bin + 1..].iter().max().copied().unwrap_or(0);
        let pairs_above: u64 = pairs[bin + 1..].iter().sum();
        bin as f64 / 20.0 >= random + 0.1 - 1e-9
            && 5 * documents[bin] <= above
            && above >= 9
            && 2 * pairs[bin] <= pairs_above
    };
    let ok: Vec<usize> = (0..BINS).filter(|bin| is_ok(*bin)).collect();
    let least = ok.iter().map(|bin| documents[*bin]).min()?;
    let mut run = ok.iter().copied().filter(|bin| documents[*bin] == least);
    let first = run.next()?;
    let last = run.enumerate().take_while(|(i, bin)| *bin == first + i + 1).last();
    let end = last.map_or(first, |(_, bin)| bin) + 1;
    Some((first + end) as f64 / 40.0)
}

#[test]
fn similarities_are_counted_in_their_bins() {
    let mut found = Histogram::default();
    [0.0, 0.049, 0.05, 0.55, 0.8, 0.85 - 1e-6, 0.999, 1.0].iter().for_each(|j| found.add_nearest(*j));
    let bins: Vec<_> = found.bins(0.0).collect();
    assert_eq!(bins.len(), BINS);
    assert_eq!((bins[0], bins[3], bins[19]), ((0.95, 1.0, 2), (0.8, 0.85, 2), (0.0, 0.05, 2)));
    assert_eq!(found.bins(0.52).last(), Some((0.5, 0.55, 0)));
    assert_eq!([0.0, 0.05, 0.8, 0.825, 0.975].map(|from| found.near(from)), [8, 6, 4, 3, 2]);
    assert_eq!([0.0, 0.13, 0.15, 1.0].map(Histogram::bin_start), [0.0, 0.1, 0.15, 0.95]);
}

#[test]
fn the_threshold_is_the_middle_of_the_first_of_the_emptiest_bins() {
    let valley = |documents: &[(usize, u64)], pairs: &[(usize, u64)], random, from| {
        let found = histogram(&counts(documents), &counts(pairs));
        assert_eq!(found.threshold(random), (from, Suggested::Valley), "{documents:?}");
    };
    // People with typing errors, the nearest of the others at 0.15.
    let people = [(2, 75), (3, 18), (4, 1), (6, 4), (9, 38), (12, 78), (17, 163), (18, 25)];
    let pairs = [(2, 2345), (3, 301), (4, 45), (6, 69), (9, 281), (12, 281), (17, 189), (18, 26)];
    valley(&people, &pairs, 0.045, 0.275);
    // Of two gaps that are as empty the lower one.
    valley(&[(2, 50), (8, 20), (15, 20)], &[(2, 9), (8, 20), (15, 20)], 0.1, 0.3);
    // One document in the gap, which is deeper elsewhere.
    valley(&[(2, 50), (6, 1), (8, 20), (15, 20)], &[(15, 90)], 0.2, 0.375);
}

#[test]
fn without_a_valley_it_is_the_default() {
    let other = |documents: &[(usize, u64)], pairs: &[(usize, u64)], random, why| {
        let found = histogram(&counts(documents), &counts(pairs));
        assert_eq!(found.threshold(random), (DEFAULT_THRESHOLD, why), "{documents:?}");
    };
    other(&[], &[], 0.1, Suggested::Nothing);
    // All are as similar as random pairs are.
    other(&[(3, 80), (4, 20)], &[(3, 80), (4, 20)], 0.2, Suggested::Nothing);
    // Too few copies to show a valley.
    other(&[(3, 80), (18, 8)], &[(3, 80), (18, 8)], 0.2, Suggested::Unclear);
    let steady = (6..20).map(|bin| (bin, 100 - 4 * bin as u64)).collect::<Vec<_>>();
    other(&steady, &[(19, 1000)], 0.2, Suggested::Unclear);
    // In a large table unrelated pairs are in every bin, though few are a nearest pair.
    let pairs: Vec<_> = (4..BINS).map(|bin| (bin, 1 << (BINS - bin))).collect();
    other(&[(4, 80), (18, 90)], &pairs, 0.2, Suggested::Unclear);
    other(&[(4, 80), (18, 90)], &pairs, 0.79, Suggested::Unclear);
}

#[test]
fn no_threshold_is_reached_by_documents_picked_at_random() {
    let above = |random| Histogram::default().threshold(random);
    assert_eq!(above(0.8), (0.85, Suggested::AboveRandom));
    assert_eq!(above(0.86), (0.9, Suggested::AboveRandom));
    assert_eq!(above(0.95), (1.0, Suggested::AboveRandom));
    assert_eq!(above(1.0), (1.0, Suggested::AboveRandom));
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn any_histogram_gives_what_the_rule_says(
        documents in prop::array::uniform20(prop_oneof![Just(0), 0_u64..4, 0_u64..60]),
        pairs in prop::array::uniform20(prop_oneof![Just(0), 0_u64..9, 0_u64..900]),
        random in 0.0..=1.0_f64,
    ) {
        let (threshold, why) = histogram(&documents, &pairs).threshold(random);
        prop_assert!(threshold > random || (threshold == 1.0 && random > 0.95 - 1e-6));
        match by_the_rule(&documents, &pairs, random) {
            Some(expected) => prop_assert_eq!((threshold, why), (expected, Suggested::Valley)),
            None => prop_assert!(why != Suggested::Valley && threshold >= DEFAULT_THRESHOLD),
        }
    }
}

#[test]
fn an_origin_explains_what_its_documents_share() {
    // A fifth of the slots comes from the site, the others from the document.
    let signature = |id: i32| (0..100).map(|slot| if slot < 20 { id % 4 } else { id }).collect();
    let signatures: Vec<Vec<i32>> = (0..100).map(signature).collect();
    let of = |origin: &dyn Fn(u32) -> u32, documents| {
        let sampled = (0..).map(origin).zip(signatures.iter().map(Vec::as_slice));
        WithinOrigin::of(sampled.collect(), documents).expect("signatures of one length")
    };
    let site = of(&|id| id % 4, 100).expect("25 documents each");
    assert_eq!(site, WithinOrigin { median: 0.2, share: 1.0 });
    let all = of(&|_| 0, 100).expect("all of them");
    assert_eq!(all, WithinOrigin { median: 0.0, share: 0.0 });
    assert!(site.explains_more_than(&all) && !all.explains_more_than(&site));
    // Two of an origin are in the sample: that may be all there are, or few of many.
    assert_eq!(of(&|id| id / 8 * 4 + id % 4, 100), None);
    assert_eq!(of(&|id| id / 8 * 4 + id % 4, 1000), Some(site));
    assert_eq!(of(&|id| id, 1000), None);
}

#[test]
fn one_change_leaves_a_robust_text_similar() {
    for (size, threshold, from) in [(5, 0.8, 45), (3, 0.8, 27), (1, 0.5, 3), (2, 0.9, 38)] {
        assert_eq!(robust_from(size, threshold), from);
        let similar = |n: usize| (n - size) as f64 / (n + size) as f64 >= threshold - 1e-9;
        assert!(similar(from) && !similar(from - 1), "{size} {threshold}");
    }
}
