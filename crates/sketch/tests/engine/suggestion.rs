//! Thresholds and origins that a sample suggests.

use sketch::{DEFAULT_THRESHOLD, Histogram, Suggested, WithinOrigin, robust_from};

/// The bins of a histogram, from 0.5 up.
const BINS: usize = 10;

fn histogram(counts: [u64; BINS]) -> Histogram {
    let mut histogram = Histogram::default();
    for (bin, count) in (0..).zip(counts) {
        (0..count).for_each(|_| histogram.add(0.5 + f64::from(bin) * 0.05));
    }
    histogram
}

#[test]
fn similarities_are_counted_in_their_bins() {
    let mut found = Histogram::default();
    [0.49, 0.5, 0.55, 0.8, 0.85 - 1e-6, 0.999, 1.0].iter().for_each(|j| found.add(*j));
    assert_eq!(found, histogram([1, 1, 0, 0, 0, 0, 2, 0, 0, 2]));
    let bins: Vec<_> = found.bins().collect();
    assert_eq!((bins[0], bins[9]), ((0.95, 1.0, 2), (0.5, 0.55, 1)));
    assert_eq!([0.5, 0.55, 0.8, 0.95].map(|from| found.from(from)), [6, 5, 4, 2]);
}

#[test]
fn the_threshold_is_the_middle_of_the_deepest_valley() {
    let valley = |counts, from| {
        assert_eq!(histogram(counts).threshold(0.0), (from, Suggested::Valley), "{counts:?}");
    };
    valley([50, 20, 9, 3, 1, 4, 8, 15, 30, 40], 0.7);
    valley([50, 0, 0, 0, 0, 0, 0, 0, 0, 40], 0.75);
    valley([3, 0, 0, 0, 0, 0, 0, 0, 0, 3], 0.75);
    valley([9, 4, 9, 9, 9, 0, 9, 9, 9, 9], 0.75);
}

#[test]
fn without_a_valley_it_is_the_default() {
    let other = |counts, why| {
        assert_eq!(histogram(counts).threshold(0.7), (DEFAULT_THRESHOLD, why), "{counts:?}");
    };
    other([0; BINS], Suggested::Nothing);
    other([0, 0, 0, 0, 0, 0, 1, 0, 0, 9], Suggested::Gap);
    other([0, 0, 0, 0, 0, 0, 0, 0, 0, 9], Suggested::Gap);
    other([90, 80, 70, 60, 50, 40, 30, 20, 10, 5], Suggested::Steady);
    other([0, 5, 9, 20, 30, 40, 50, 60, 70, 80], Suggested::Steady);
    other([2, 0, 0, 0, 0, 0, 0, 0, 0, 2], Suggested::Steady);
    other([9, 9, 9, 9, 5, 9, 9, 9, 9, 9], Suggested::Steady);
}

#[test]
fn no_threshold_is_reached_by_documents_picked_at_random() {
    let above = |counts, random| histogram(counts).threshold(random);
    let valley = [50, 20, 9, 3, 1, 4, 8, 15, 30, 40];
    assert_eq!(above(valley, 0.69), (0.7, Suggested::Valley));
    assert_eq!(above(valley, 0.7), (0.75, Suggested::Valley));
    assert_eq!(above(valley, 0.95), (1.0, Suggested::AboveRandom));
    let steady = [9, 9, 9, 9, 5, 9, 9, 9, 9, 9];
    assert_eq!(above(steady, 0.79), (DEFAULT_THRESHOLD, Suggested::Steady));
    assert_eq!(above(steady, 0.8), (0.85, Suggested::AboveRandom));
    assert_eq!(above([0; BINS], 0.86), (0.9, Suggested::AboveRandom));
}

#[test]
fn an_origin_explains_what_its_documents_share() {
    // A fifth of the slots are those of the site, the others those of the document.
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
