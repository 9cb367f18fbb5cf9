//! Exact similarities against sets: of a pair, of one set and many texts, of the documents of a group, and of a sample.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::Range;

use minlsh_sketch::corpus::{HashParts, NumberedSets, SetOutline, SharedCounts};
use minlsh_sketch::spool::NewFile;
use minlsh_sketch::{
    Config, Overlap, PreparedSet, SampledSets, ShingleSet, SimilarMember, fewest_shingles, overlap_of_texts,
    ratio_interval, set_of_long_text, shingle_hashes,
};
use proptest::prelude::*;

use crate::common::{cases, mix64};

fn thresholds() -> impl Strategy<Value = f64> {
    prop_oneof![0.01_f64..=1.0, Just(0.5), Just(0.8), Just(1.0), Just(1.0 / 3.0)]
}

/// The set of some hashes, in any order and with any repeats.
fn sorted(hashes: &[u64]) -> ShingleSet {
    ShingleSet::from_hashes(hashes.to_vec(), &mut || ())
}

fn set(range: Range<u64>) -> ShingleSet {
    ShingleSet::from_hashes(range.map(mix64).collect(), &mut || ())
}

/// The similarity of two sets by definition, if it reaches a threshold.
fn jaccard(a: &ShingleSet, b: &ShingleSet, threshold: f64) -> Option<f64> {
    let [a, b] = [a, b].map(|set| set.iter().collect::<BTreeSet<_>>());
    let (shared, united) = (a.intersection(&b).count(), a.union(&b).count());
    Some(shared as f64 / united as f64).filter(|jaccard| united > 0 && *jaccard >= threshold)
}

/// The members of a sample that a set is as similar to as `least`, by the engine.
fn similar(sample: &[Vec<u64>], hashes: &[u64], least: f64) -> Vec<SimilarMember> {
    let mut sets = SampledSets::default();
    sample.iter().for_each(|set| sets.add(set, &mut || ()).unwrap());
    sets.finish().unwrap();
    // A comparison leaves nothing behind.
    sets.compare(&[1, 2, 3], 0.0, 0.0, &mut || ()).unwrap();
    let mut found = sets.compare(hashes, least, 0.0, &mut || ()).unwrap().to_vec();
    found.sort_by_key(|similar| similar.member);
    found
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn a_sample_of_small_sets_is_compared_exactly(
        sample in prop::collection::vec(prop::collection::vec(0_u64..90, 0..100), 0..20),
        hashes in prop::collection::vec(0_u64..90, 0..100),
        least in prop_oneof![Just(0.0), thresholds()],
    ) {
        let one = sorted(&hashes);
        let members = (0..).zip(&sample);
        let expected: Vec<_> = members.filter_map(|(member, set)| {
            let similarity = jaccard(&one, &sorted(set), least).filter(|j| *j > 0.0)?;
            Some(SimilarMember { member, similarity, is_exact: true })
        }).collect();
        prop_assert_eq!(similar(&sample, &hashes, least), expected);
    }
}

#[test]
fn a_sample_of_large_sets_is_compared_by_parts_of_them() {
    let range = |from: u64, to: u64| (from..to).map(mix64).collect::<Vec<_>>();
    // A set of 20,000, one of a third of its hashes, one that is half of it and half other hashes, and a small one.
    let repeats: Vec<_> = (0..50).flat_map(|_| range(0, 100)).collect();
    let sample = [range(0, 20_000), range(0, 6667), range(10_000, 30_000), range(0, 100), repeats, vec![]];
    let found = similar(&sample, &range(0, 20_000), 0.1);
    let close = |similar: &SimilarMember, to: f64| (similar.similarity - to).abs() < 0.12 && !similar.is_exact;
    let [itself, third, half] = &found[..] else { panic!("{found:?}") };
    assert_eq!(*itself, SimilarMember { member: 0, similarity: 1.0, is_exact: false });
    assert!(third.member == 1 && close(third, 1.0 / 3.0), "{third:?}");
    assert!(half.member == 2 && close(half, 1.0 / 3.0), "{half:?}");
    // What is repeated counts once, however often it is there.
    let of_small = similar(&sample, &range(0, 80), 0.5);
    let exact = |member| SimilarMember { member, similarity: 0.8, is_exact: true };
    assert_eq!(of_small, [exact(3), exact(4)]);
    assert_eq!(similar(&sample, &[], 0.0), []);
    assert_eq!(similar(&[], &range(0, 80), 0.0), []);
}

#[test]
fn frequent_hashes_of_a_sample_hide_no_similar_set() {
    // Half of each set is in all others, and a third in some.
    let of = |i: u64| {
        (0..40).chain((0..25).map(move |n| 1000 + i % 7 * 100 + n)).chain((0..15).map(move |n| i * 10_000 + n))
    };
    let sample: Vec<Vec<u64>> = (0..500).map(|i| of(i).map(mix64).collect()).collect();
    for (least, count) in [(0.3, 500), (0.6, 71), (0.68, 71), (0.8, 1), (1.0, 1)] {
        let found = similar(&sample, &sample[3], least);
        let (one, sets) = (sorted(&sample[3]), (0..).zip(&sample));
        let expected = sets.filter_map(|(member, set)| Some((member, jaccard(&one, &sorted(set), least)?)));
        let found: Vec<_> = found.iter().map(|similar| (similar.member, similar.similarity)).collect();
        assert_eq!(found, expected.collect::<Vec<_>>(), "{least}");
        assert_eq!(found.len(), count, "{least}");
    }
    // A large set in the sample does not change what small ones are similar to.
    let mut mixed = sample.clone();
    mixed.push((0..100_000).map(mix64).collect());
    assert_eq!(similar(&mixed, &sample[3], 0.6), similar(&sample, &sample[3], 0.6));
}

#[test]
fn estimates_of_large_sets_may_be_lower() {
    let range = |from: u64, to: u64| (from..to).map(mix64).collect::<Vec<_>>();
    // 200 large sets with a similarity of 1/3: an estimate that is too low is listed, with some slack.
    let mut sets = SampledSets::default();
    (0..200).for_each(|i| sets.add(&range(i * 10, i * 10 + 1000), &mut || ()).unwrap());
    sets.finish().unwrap();
    let mut count = |least, slack| sets.compare(&range(0, 1000), least, slack, &mut || ()).unwrap().len();
    // 51 sets have 500 hashes or more of the 1,000.
    let [strict, loose, lower] =
        [(1.0 / 3.0, 0.0), (1.0 / 3.0, SampledSets::ERROR), (0.1, 0.0)].map(|(a, b)| count(a, b));
    assert!(strict < loose && loose >= 51 && loose < lower, "{strict} {loose} {lower}");
}

#[test]
fn estimates_of_large_sets_are_not_biased() {
    let of = |i: u64, from: u64, to: u64| (from..to).map(|n| mix64(n + (i << 32))).collect::<Vec<_>>();
    // Pairs of 1,000 and 1,500 hashes, 500 of them shared.
    let estimate = |i| {
        let found = similar(&[of(i, 0, 1000)], &of(i, 500, 2000), 0.0);
        found.first().map_or(0.0, |similar| similar.similarity)
    };
    let mean = (0..400).map(estimate).sum::<f64>() / 400.0;
    // Four standard errors.
    assert!((mean - 0.25).abs() < 4.0 * 0.05 / 20.0, "{mean}");
}

#[test]
fn counts_are_those_of_sets() {
    for (n, m, range) in [(0, 0, 1), (0, 5, 9), (3, 4, 5), (5000, 20_000, 9000), (9, 9000, 1)] {
        let numbers = |count: u64, seed: u64| (0..count).map(|i| mix64(i + seed) % range).collect::<Vec<_>>();
        let (a, b) = (numbers(n, 0), numbers(m, 1 << 40));
        let set = |all: &[u64]| all.iter().copied().collect::<BTreeSet<_>>();
        let (left, right) = (set(&a), set(&b));
        let found = Overlap::count(a, b, Ord::cmp, &mut || ());
        let shared = left.intersection(&right).count();
        assert_eq!(found, Overlap { a: left.len(), b: right.len(), shared });
        let united = left.union(&right).count();
        assert_eq!(found.jaccard(), (united > 0).then(|| shared as f64 / united as f64));
        assert_eq!(found.containment().is_none(), left.is_empty());
    }
}

#[test]
fn a_long_sort_can_be_cancelled() {
    let numbers: Vec<u64> = (0..200_000).map(mix64).collect();
    let (comparisons, since, most) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let compare = |a: &u64, b: &u64| {
        comparisons.set(comparisons.get() + 1);
        a.cmp(b)
    };
    let mut check = || {
        most.set(most.get().max(comparisons.get() - since.get()));
        since.set(comparisons.get());
    };
    Overlap::count(numbers, Vec::new(), compare, &mut check);
    assert!(most.get() <= 4096, "{}", most.get());
}

#[test]
fn overlaps_are_those_of_the_sets() {
    let (a, b) = (set(0..60), set(20..100));
    assert_eq!((a.jaccard(&b), b.jaccard(&a)), (Some(0.4), Some(0.4)));
    let overlap = a.overlap(&b, &mut || ());
    assert_eq!(overlap, Overlap { a: 60, b: 80, shared: 40 });
    assert_eq!(overlap.containment(), Some(40.0 / 60.0));
    assert_eq!(overlap.flipped().containment(), Some(0.5));
}

#[test]
fn the_empty_set_resembles_nothing() {
    let empty = ShingleSet::default();
    assert_eq!(empty.jaccard(&empty), None);
    assert_eq!(empty.jaccard(&set(0..3)), Some(0.0));
    let overlap = set(0..3).overlap(&empty, &mut || ());
    assert_eq!((overlap.containment(), overlap.flipped().containment()), (Some(0.0), None));
}

#[test]
fn a_comparison_of_large_sets_can_be_interrupted() {
    let mut calls = 0;
    let hashes = (0..2_000_000).map(mix64).collect();
    let a = ShingleSet::from_hashes(hashes, &mut || calls += 1);
    assert!(a.iter().is_sorted());
    // Once for 65,536 that are counted, and for as many that are moved, besides each bucket.
    assert!(calls >= 1024 + 2_000_000 / 65_536 + 1_900_000 / 65_536, "{calls}");
    let b = set(500_000..2_500_000);
    calls = 0;
    let overlap = a.overlap(&b, &mut || calls += 1);
    assert_eq!(calls, 2_000_000_usize.div_ceil(65_536));
    assert_eq!(overlap, Overlap { a: 2_000_000, b: 2_000_000, shared: 1_500_000 });
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof!["[ab ]{0,40}", "[a-c]{0,12}", "([A-Ca-cé ]{1,6}[ .\n]){0,60}", "\\PC{0,20}"]
}

/// Hashes of some sets of fewer than `most` out of `ids` elements, with repeats.
fn hashes(sets: Range<usize>, ids: u64, most: usize) -> impl Strategy<Value = Vec<Vec<u64>>> {
    // mix64(0) is 0: also the hash 0 is a hash.
    let set = prop::collection::vec((0..ids).prop_map(mix64), 0..most);
    prop::collection::vec(set, sets)
}

/// Asserts that the similarities of all pairs of a group equal the similarities of the sets.
fn assert_similarities(sets: &[Vec<u64>], threshold: f64) -> Result<(), TestCaseError> {
    let mut numbered = NumberedSets::new(1 << 24);
    // What was there before does not matter.
    numbered.add(7, &[1, 2, 3, 1, 2]).unwrap();
    numbered.forget();
    for (document, hashes) in (0..).zip(sets) {
        prop_assert!(numbered.has_room(hashes.len()));
        numbered.add(document, hashes).unwrap();
    }
    let sorted: Vec<ShingleSet> = sets.iter().map(|hashes| sorted(hashes)).collect();
    for (a, left) in (0..).zip(&sorted) {
        prop_assert_eq!(numbered.hash(a), Some(left.hash()));
        for (b, right) in (0..).zip(&sorted) {
            prop_assert_eq!(numbered.similarity(a, b, threshold), jaccard(left, right, threshold));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn parts_have_the_overlap_of_the_whole(
        (a, b) in ("[a-f ]{1,40}", "[a-z ]{1,400}"),
        (times_a, times_b) in (1_usize..2000, 1_usize..50),
        unit in prop::sample::select(vec!["char", "word"]),
        bag: bool, size in 1_i64..6, limit in prop::sample::select(vec![1_usize << 10, 1 << 16]),
    ) {
        let config = Config::new("fss", 16, unit, size, 1).unwrap().with_bag(bag);
        let (a, b) = (a.repeat(times_a), b.repeat(times_b) + &a);
        let of = |limit| {
            overlap_of_texts(&config, [&a, &b], limit, NewFile::in_memory(), &mut || ()).unwrap()
        };
        let set = set_of_long_text(&config, &a, limit, NewFile::in_memory(), &mut || ()).unwrap();
        let fewest = fewest_shingles(&config, &a, &mut || ()).unwrap();
        prop_assert!(fewest <= set.len() && (fewest > 0) != set.is_empty());
        prop_assert_eq!(set, ShingleSet::from_text(&config, &a, &mut || ()).unwrap());
        prop_assert_eq!(of(limit), of(usize::MAX));
    }
}

#[test]
fn large_sets_are_compared_as_small_ones() {
    const MANY: u64 = 300_000;
    let hashes = |ids: Range<u64>| ids.map(mix64).collect::<Vec<_>>();
    let set = |ids| ShingleSet::from_hashes(hashes(ids), &mut || ());
    let own = [0..MANY, 0..1000, 0..1];
    let others = [0..MANY, 1..MANY, 9..1000, 1000..MANY, 0..2 * MANY, MANY..3 * MANY, 0..1, 0..0];
    for own in own {
        let mut prepared = PreparedSet::new(set(own.clone())).unwrap();
        for other in others.iter().chain(&others) {
            let similarity = set(own.clone()).jaccard(&set(other.clone()));
            // Each twice, so that there are more hashes than elements.
            let mut all = hashes(other.clone());
            all.extend_from_within(..);
            for threshold in [1e-6, 0.1, 0.5, 0.99, 1.0] {
                let expected = similarity.filter(|similarity| *similarity >= threshold);
                let found = prepared.similarity_of(&all, threshold, &mut || ()).unwrap();
                assert_eq!(found, expected, "{own:?} {other:?} {threshold}");
            }
        }
    }
}

#[test]
fn of_a_text_without_repeats_most_shingles_are_foreseen() {
    for count in [10, 1000, 30_000] {
        let text: String = (0..count).map(|i| format!("{:x}", mix64(i))).collect();
        let count = ShingleSet::from_text(&Config::default(), &text, &mut || ()).unwrap().len();
        let fewest = fewest_shingles(&Config::default(), &text, &mut || ()).unwrap();
        assert!(fewest <= count && fewest >= count / 8 * 7 - 8, "{fewest} of {count}");
    }
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn similarities_of_texts_are_those_of_their_sets(
        query in texts(), candidates in prop::collection::vec(texts(), 0..8),
        threshold in thresholds(), unit in prop::sample::select(vec!["char", "word", "anchored"]),
        steps in prop::sample::select(vec!["none", "plain"]),
        scheme in prop::sample::select(vec!["fss", "datasketch_legacy"]),
        bag: bool, size in 1_i64..4,
    ) {
        let config = Config::new(scheme, 16, unit, size, 1).unwrap().with_bag(bag);
        let config = config.with_normalization(steps.parse().unwrap()).unwrap();
        let set = |text: &str| ShingleSet::from_text(&config, text, &mut || ()).unwrap();
        let query_set = set(&query);
        let mut prepared = PreparedSet::from_text(&config, &query, &mut || ()).unwrap();
        prop_assert_eq!(prepared.is_empty(), query_set.is_empty());
        // The query itself among them, and each a second time.
        let all = candidates.iter().chain([&query]);
        for text in all.clone().chain(all) {
            let other = set(text);
            let expected = jaccard(&query_set, &other, threshold);
            let found = prepared.similarity(&config, text, threshold, &mut || ()).unwrap();
            prop_assert_eq!(found, expected);
            let hashes: Vec<u64> = other.iter().chain(other.iter()).collect();
            let found = prepared.similarity_of(&hashes, threshold, &mut || ()).unwrap();
            prop_assert_eq!(found, expected);
        }
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn numbers_in_a_row_are_elements_like_others(
        a in prop::collection::vec(0_u64..50, 0..60), b in prop::collection::vec(0_u64..50, 0..60),
        threshold in thresholds(),
    ) {
        let (own, other) = (sorted(&a), sorted(&b));
        let mut prepared = PreparedSet::new(sorted(&a)).unwrap();
        let found = prepared.similarity_of(&b, threshold, &mut || ()).unwrap();
        prop_assert_eq!(found, jaccard(&own, &other, threshold));
        prop_assert_eq!(own.jaccard_at_least(&other, threshold), found);
    }

    #[test]
    fn similarities_of_a_group_are_those_of_the_sets(
        sets in hashes(0..6, 200, 150), threshold in thresholds(),
    ) {
        assert_similarities(&sets, threshold)?;
    }

    #[test]
    fn so_are_those_of_copies_with_other_parts(
        all in hashes(1..2, 2000, 1500),
        // For each copy: the part that it has of the first one, and how much it has of its own where.
        copies in prop::collection::vec((0..1500_usize, 0..1500_usize, 0..1500_usize, 0..400_u64), 0..5),
        threshold in thresholds(),
    ) {
        let original = all[0].clone();
        let mut sets = vec![original.clone()];
        for (number, (start, len, at, own)) in (1..).zip(copies) {
            let start = start.min(original.len());
            let mut copy = original[start..(start + len).min(original.len())].to_vec();
            let at = at.min(copy.len());
            copy.splice(at..at, (0..own).map(|id| mix64(number * 10_000 + id)));
            sets.push(copy);
        }
        assert_similarities(&sets, threshold)?;
    }

    #[test]
    fn so_are_those_of_sets_that_come_and_go(
        sets in hashes(2..12, 3000, 2500),
        asked in prop::collection::vec((0_usize..12, 0_usize..12), 0..60),
        threshold in thresholds(),
    ) {
        // So little memory that sets are forgotten on the way.
        let mut numbered = NumberedSets::new(240_000);
        for (a, b) in asked {
            let (a, b) = (a % sets.len(), b % sets.len());
            for document in [a, b, a] {
                let own = &sets[document];
                prop_assert!(numbered.can_hold(own.len()));
                if !numbered.has(document as u32) {
                    numbered.add(document as u32, own).unwrap();
                }
            }
            let expected = jaccard(&sorted(&sets[a]), &sorted(&sets[b]), threshold);
            prop_assert_eq!(numbered.similarity(a as u32, b as u32, threshold), expected);
        }
    }

    #[test]
    fn small_sets_of_unequal_lengths_are_compared_exactly(
        sets in prop::collection::vec(prop::collection::vec(0_u64..30, 0..20), 1..12),
        threshold in thresholds(),
    ) {
        let sets: Vec<ShingleSet> = sets.iter().map(|hashes| sorted(hashes)).collect();
        for (a, b) in sets.iter().flat_map(|a| sets.iter().map(move |b| (a, b))) {
            prop_assert_eq!(a.jaccard_at_least(b, threshold), jaccard(a, b, threshold));
        }
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn no_outline_rules_out_a_similar_pair(
        sets in hashes(2..8, 300, 250), about in prop::collection::vec(0_usize..20_000, 8),
        threshold in thresholds(), memory in prop_oneof![0..100_000_usize, 0..500_usize],
    ) {
        let widths = SetOutline::widths(&about[..sets.len()], memory).unwrap();
        let outline = |(set, words): (&Vec<u64>, &usize)| {
            let repeated = [&set[..], &set[..]].concat();
            let counted = SetOutline::of(&mut repeated.clone(), *words, &mut || ()).unwrap();
            [counted, SetOutline::about(&repeated, *words).unwrap()]
        };
        let outlines: Vec<[SetOutline; 2]> = sets.iter().zip(&widths).map(outline).collect();
        let sets: Vec<ShingleSet> = sets.iter().map(|hashes| sorted(hashes)).collect();
        for (own, a) in outlines.iter().zip(&sets) {
            for (other, b) in outlines.iter().zip(&sets) {
                let is_similar = jaccard(a, b, threshold).is_some();
                let mut all = own.iter().flat_map(|own| other.iter().map(move |other| (own, other)));
                prop_assert!(!is_similar || all.all(|(own, other)| own.may_reach(other, threshold)));
            }
        }
    }
}

#[test]
fn outlines_rule_out_most_pairs_below_the_threshold() {
    let hashes = |ids: Range<u64>| ids.map(mix64).collect::<Vec<_>>();
    // 2,000 elements in 1 kB and less: of what they do not share, more than half shows.
    for words in [[128, 128], [128, 64]] {
        let of = |ids, words| SetOutline::of(&mut hashes(ids), words, &mut || ()).unwrap();
        let (a, b) = (of(0..2000, words[0]), of(300..2300, words[1]));
        assert!(a.may_reach(&b, 0.7) && !a.may_reach(&b, 0.9));
    }
    // They share 700 of 1100.
    let [a, b] = [0..900, 200..1100].map(|ids| SetOutline::about(&hashes(ids), 64).unwrap());
    assert!(a.may_reach(&b, 0.63) && !a.may_reach(&b, 0.75));
}

#[test]
fn memory_for_outlines_goes_to_the_large_sets() {
    let widths = SetOutline::widths(&[100, 100_000, 1000, 0], 32 << 10).unwrap();
    assert!(widths.iter().sum::<usize>() * 8 <= 32 << 10);
    assert!(widths[1] >= widths[2] << 5 && widths[2] >= widths[0], "{widths:?}");
}

#[test]
fn a_long_candidate_is_given_up_early() {
    let config = Config::default();
    let query = "The quick brown fox jumps over the lazy dog, again and again.";
    let mut prepared = PreparedSet::from_text(&config, query, &mut || ()).unwrap();
    let long: String = (0..2_000_000).map(|i| format!("{i} ")).collect();
    let mut calls = 0;
    let found = prepared.similarity(&config, &long, 0.8, &mut || calls += 1).unwrap();
    assert_eq!(found, None);
    // As against one call for each of its chunks.
    assert!(calls < 2 * long.len() / (16 * 1024) / 2 + 10, "{calls}");
    let same = prepared.similarity(&config, query, 0.8, &mut || ()).unwrap();
    assert_eq!(same, Some(1.0));
}

/// Random numbers below 1.
fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = mix64(seed);
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (mix64(state) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The pairs of each document of a corpus: (pairs counted, pairs). Half of the documents are
/// alone, the others in clusters of up to `largest`; the pairs of a cluster are counted with
/// a chance of its own, from `worst` to 1, as near-duplicates of a template are found or lost.
fn corpus(seed: u64, largest: f64, worst: f64) -> Vec<(u64, u64)> {
    let mut random = random(seed);
    let mut documents = vec![(0, 0); 3000];
    while documents.len() < 6000 {
        let start = documents.len();
        // Few are large.
        let size = (2.0 + (largest - 1.0) * random().powi(4)) as usize;
        let chance = worst + (1.0 - worst) * random();
        documents.resize(start + size, (0, 0));
        for a in start..start + size {
            for b in start..a {
                let counted = u64::from(random() < chance);
                for document in [a, b] {
                    documents[document].0 += counted;
                    documents[document].1 += 1;
                }
            }
        }
    }
    documents
}

fn coverage(documents: &[(u64, u64)], size: usize) -> usize {
    let (counted, pairs) = documents.iter().fold((0, 0), |sum, d| (sum.0 + d.0, sum.1 + d.1));
    let truth = counted as f64 / pairs as f64;
    let covers = |seed: &u64| {
        let mut random = random(seed ^ 1 << 50);
        let mut all = documents.to_vec();
        for i in 0..size {
            let other = i + (random() * (all.len() - i) as f64) as usize;
            all.swap(i, other);
        }
        let interval = ratio_interval(&all[..size], all.len() as u64).unwrap();
        interval.0 <= truth && truth <= interval.1
    };
    (0..200).filter(covers).count()
}

#[test]
fn intervals_of_ratios_cover_the_truth() {
    // Recall and precision as filters by estimate have them, some near 1.
    for (largest, worst) in [(4.0, 0.3), (12.0, 0.7), (12.0, 0.2), (30.0, 0.5), (6.0, 0.9)] {
        for size in [100, 300, 1000] {
            let covered = coverage(&corpus(7, largest, worst), size);
            println!("clusters up to {largest}, from {worst}, sample {size}: {covered} of 200");
            assert!((180..=198).contains(&covered), "{largest} {worst} {size}: {covered}");
        }
    }
}

#[test]
fn ratios_at_the_ends_are_not_certain() {
    let sample = [(3, 3), (0, 0), (1, 1), (2, 2)];
    let (low, high) = ratio_interval(&sample, 1000).unwrap();
    assert!(low > 0.1 && low < 0.6 && high == 1.0, "{low}");
    assert_eq!(ratio_interval(&sample, 4), Some((1.0, 1.0)));
    assert_eq!(ratio_interval(&[(0, 0), (0, 0)], 10), None);
    assert_eq!(ratio_interval(&[], 10), None);
    assert_eq!(ratio_interval(&[(0, 5)], 100).unwrap().0, 0.0);
}

#[test]
fn pairs_that_are_counted_in_parts_are_those_of_the_sets() {
    let sets: Vec<Vec<u64>> =
        (0..20_u64).map(|set| (0..50 * set).map(|i| mix64(i + 7 * (set % 3))).collect()).collect();
    let count = |each, memory| {
        let mut parts = HashParts::new(10_000, each, NewFile::in_memory()).unwrap();
        sets.iter().for_each(|set| parts.add_hashes(set, &mut || ()).unwrap());
        SharedCounts::of_parts(&mut parts, sets.len(), &mut NumberedSets::new(memory), &mut || ()).unwrap()
    };
    // A twentieth of the hashes fits into the lesser memory.
    for (each, memory) in [(1, 60_000), (10, 1 << 20), (10_000, 60_000), (10_000, 1 << 20)] {
        let counts = count(each, memory).unwrap();
        for (a, of_a) in (0..).zip(&sets) {
            for (b, of_b) in (0..).zip(&sets) {
                for threshold in [0.0, 0.5, 1.0] {
                    let expected = jaccard(&sorted(of_a), &sorted(of_b), threshold);
                    assert_eq!(counts.similarity(a, b, threshold), expected, "{each} {memory} {a} {b}");
                }
            }
        }
    }
    assert!(count(10, 0).is_none());
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn parts_of_hashes_are_all_hashes(texts in prop::collection::vec("[a-eé ]{0,300}", 1..5), each in 1..2000_usize) {
        let config = Config::default().with_scheme(minlsh_sketch::Scheme::Fss);
        let mut parts = HashParts::new(1000, each, NewFile::in_memory()).unwrap();
        let mut all = Vec::new();
        for text in &texts {
            parts.add_text(&config, &text.repeat(9), &mut || ()).unwrap();
            let mut own = Vec::new();
            shingle_hashes(&config, &text.repeat(9), &mut own, &mut || ()).unwrap();
            all.push(sorted(&own));
        }
        let mut found = vec![Vec::new(); texts.len()];
        let shift = 64 - parts.parts().ilog2();
        for part in 0..parts.parts() {
            let mut before = 0;
            parts.each(part, &mut |text, hashes| {
                assert!(before <= text && hashes.iter().all(|hash| (hash >> shift) as usize == part));
                before = text;
                found[text as usize].extend_from_slice(hashes);
                Ok(())
            }).unwrap();
        }
        let found: Vec<_> = found.iter().map(|own| sorted(own)).collect();
        prop_assert_eq!(found, all);
    }
}
