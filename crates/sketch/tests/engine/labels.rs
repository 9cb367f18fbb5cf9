//! The fit of labels: against a naive copy, and in sessions with people who are simulated.

use minlsh_sketch::labels::{Answers, Fit, Judgement, Label, PairCounts, Plateaus, Reservoirs, spread};
use proptest::prelude::*;

use crate::common::{cases, is_thorough};

const BINS: usize = 200;
const USUAL: [(f64, f64); 8] =
    [(1.0, 6.0), (0.97, 2.0), (0.92, 1.5), (0.85, 1.2), (0.7, 1.0), (0.5, 1.0), (0.3, 1.0), (0.1, 1.0)];
const FLAT: [f64; 14] = [1.0, 0.99, 0.98, 0.97, 0.96, 0.94, 0.92, 0.89, 0.85, 0.78, 0.7, 0.5, 0.3, 0.1];

/// The posterior mean of F1, and the probability of a precision, by the specification.
struct Naive {
    f1: Vec<f64>,
    reached: Vec<f64>,
    /// (weight, precision by threshold, recall by threshold) with the power of the intervals.
    cautious: Vec<(f64, Vec<f64>, Vec<f64>)>,
}

fn naive(labels: &[Label], pairs: &[f64], priors: &[(f64, f64)], precision: f64) -> Naive {
    let middle = |bin: usize| (bin as f64 + 0.5) / 200.0;
    let (mut points, mut f1) = (Vec::new(), vec![0.0; BINS]);
    for center in 0..57 {
        for width in [0.005, 0.01, 0.02, 0.03, 0.045, 0.07, 0.1, 0.15, 0.22] {
            for (hi, prior) in priors {
                let center = f64::from(center) * 0.02 - 0.04;
                let p = |s: f64| hi / (1.0 + f64::exp((center - s) / width));
                let mut likelihood: f64 = 0.0;
                for label in labels {
                    let bin = ((label.similarity * 200.0 + 1e-9) as usize).min(199);
                    let same = 0.02 + 0.96 * p(middle(bin));
                    likelihood += if label.is_same { same.ln() } else { (1.0 - same).ln() };
                }
                let same: Vec<f64> = (0..BINS).map(|bin| pairs[bin] * p(middle(bin))).collect();
                let (mut precisions, mut recalls, mut f1s) = (vec![], vec![], vec![]);
                for bin in 0..BINS {
                    let found: f64 = same[bin..].iter().sum();
                    let (all, from) = (same.iter().sum::<f64>(), pairs[bin..].iter().sum::<f64>());
                    precisions.push(if from > 0.0 { found / from } else { 0.0 });
                    recalls.push(if all > 0.0 { found / all } else { 0.0 });
                    f1s.push(if found > 0.0 { 2.0 * found / (from + all) } else { 0.0 });
                }
                points.push((*prior, likelihood, precisions, recalls, f1s));
            }
        }
    }
    let most = points.iter().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
    let weights = |power: f64| {
        let each = points.iter().map(|point| point.0 * (power * (point.1 - most)).exp());
        let each: Vec<f64> = each.collect();
        let all: f64 = each.iter().sum();
        each.into_iter().map(move |weight| weight / all)
    };
    let mut reached = vec![0.0; BINS];
    for (weight, (.., precisions, _, f1s)) in weights(1.0).zip(&points) {
        for bin in 0..BINS {
            f1[bin] += weight * f1s[bin];
            reached[bin] += if precisions[bin] >= precision - 1e-9 { weight } else { 0.0 };
        }
    }
    let cautious = weights(0.6).zip(&points);
    let cautious = cautious.map(|(weight, point)| (weight, point.2.clone(), point.3.clone()));
    let cautious = cautious.collect();
    Naive { f1, reached, cautious }
}

fn counts(pairs: &[f64]) -> PairCounts {
    let mut counts = PairCounts::default();
    (0..BINS).for_each(|bin| counts.add(bin as f64 / 200.0, pairs[bin]));
    counts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if is_thorough() { 40 } else { 1 }, ..cases(8) })]

    #[test]
    fn a_fit_is_that_of_the_naive_copy(
        labels in prop::collection::vec((0.0..=1.0_f64, any::<bool>()), 1..40),
        heights in prop::collection::vec(0.0..1000.0_f64, 10),
        precision in 0.5..0.9_f64,
    ) {
        let labels: Vec<Label> =
            labels.into_iter().map(|(similarity, is_same)| Label { similarity, is_same }).collect();
        let pairs: Vec<f64> = (0..BINS).map(|bin| heights[bin / 20] + 1.0).collect();
        let fit = Fit::new(labels.clone(), &counts(&pairs), Plateaus::Usual).unwrap();
        let expected = naive(&labels, &pairs, &USUAL, precision);
        let best = fit.best();
        let bin = (best.threshold * 200.0).round() as usize;
        let most = expected.f1.iter().copied().fold(0.0, f64::max);
        prop_assert!((expected.f1[bin] - most).abs() < 1e-6, "{} < {most}", expected.f1[bin]);
        prop_assert!((best.f1 - most).abs() < 1e-6);
        // The ends of the intervals: about 5 % of the posterior lie beyond.
        for (estimate, is_precision) in [(best.precision, true), (best.recall, false)] {
            let below = |value: f64| -> f64 {
                let of = |point: &(f64, Vec<f64>, Vec<f64>)| {
                    if is_precision { point.1[bin] } else { point.2[bin] }
                };
                expected.cautious.iter().filter(|point| of(point) < value).map(|point| point.0).sum()
            };
            prop_assert!(below(estimate.low - 1e-9) <= 0.0501);
            prop_assert!(1.0 - below(estimate.high + 1e-9) <= 0.0501);
            prop_assert!(estimate.low <= estimate.mean && estimate.mean <= estimate.high);
        }
        // A claim of precision: the lowest threshold that shows it.
        let flat = Fit::new(labels.clone(), &counts(&pairs), Plateaus::Flat).unwrap();
        let priors = FLAT.map(|hi| (hi, 1.0));
        let expected = naive(&labels, &pairs, &priors, precision).reached;
        match flat.reaching(precision) {
            Some(advice) => {
                let bin = (advice.threshold * 200.0).round() as usize;
                prop_assert!(expected[bin] >= 0.9 - 1e-6);
                prop_assert!(expected[..bin].iter().all(|reached| *reached < 0.9 + 1e-6));
            }
            None => prop_assert!(expected.iter().all(|reached| *reached < 0.9 + 1e-6)),
        }
    }
}

/// Random numbers of SplitMix64.
struct Random(u64);

impl Random {
    fn part(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Nearly normal: the sum of twelve.
    fn normal(&mut self, mean: f64, deviation: f64) -> f64 {
        mean + deviation * ((0..12).map(|_| self.part()).sum::<f64>() - 6.0)
    }
}

/// A source whose pairs are known: (similarity, same), ascending. (pairs, mean, deviation) of the same and the others.
fn scene(seed: u64, same: (usize, f64, f64), others: (usize, f64, f64)) -> Vec<(f64, bool)> {
    let mut random = Random(seed);
    let mut pairs = Vec::new();
    for ((count, mean, deviation), is_same) in [(same, true), (others, false)] {
        for _ in 0..count {
            let similarity = random.normal(mean, deviation);
            if (0.1..=1.0).contains(&similarity) {
                pairs.push((similarity, is_same));
            }
        }
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    pairs
}

/// Scenes as people have them: papers, people, products, edited texts, families.
fn scenes(seed: u64) -> Vec<Vec<(f64, bool)>> {
    vec![
        scene(seed, (2000, 0.65, 0.15), (8000, 0.15, 0.08)),
        scene(seed, (1000, 0.45, 0.12), (20000, 0.12, 0.06)),
        scene(seed, (500, 0.5, 0.2), (4000, 0.25, 0.12)),
        scene(seed, (300, 0.9, 0.06), (3000, 0.5, 0.15)),
        scene(seed, (3000, 0.7, 0.2), (3000, 0.45, 0.15)),
        scene(seed, (1000, 0.35, 0.08), (30000, 0.05, 0.06)),
    ]
}

/// Precision, recall and F1 of the pairs from a threshold up.
fn truth(pairs: &[(f64, bool)], threshold: f64) -> [f64; 3] {
    let all = pairs.iter().filter(|pair| pair.1).count() as f64;
    let found = pairs.iter().filter(|pair| pair.0 >= threshold);
    let (mut count, mut right) = (0.0, 0.0);
    for pair in found {
        count += 1.0;
        right += f64::from(u8::from(pair.1));
    }
    [right / f64::max(count, 1.0), right / all, 2.0 * right / (count + all)]
}

fn best_f1(pairs: &[(f64, bool)]) -> f64 {
    (0..BINS).map(|bin| truth(pairs, bin as f64 / 200.0)[2]).fold(0.0, f64::max)
}

/// The answers of a session: half of them spread, half where they matter.
fn session(pairs: &[(f64, bool)], answers: usize, seed: u64) -> (Vec<Label>, PairCounts) {
    let similarities: Vec<f64> = pairs.iter().map(|pair| pair.0).collect();
    let mut counts = PairCounts::default();
    similarities.iter().for_each(|similarity| counts.add(*similarity, 1.0));
    let label = |place: &usize| Label { similarity: pairs[*place].0, is_same: pairs[*place].1 };
    let first = spread(&similarities, 0.1, answers / 2, seed).unwrap();
    let mut labels: Vec<Label> = first.iter().map(label).collect();
    let fit = Fit::new(labels.clone(), &counts, Plateaus::Usual).unwrap();
    let next = fit.next(&similarities, answers - answers / 2, seed).unwrap();
    labels.extend(next.iter().map(label));
    (labels, counts)
}

#[test]
fn forty_answers_are_nearly_as_good_as_all_and_the_intervals_hold() {
    let sessions = if is_thorough() { 40 } else { 8 };
    let (mut count, mut shares, mut covered) = (0.0, 0.0, [0.0; 2]);
    for seed in 0..sessions {
        for pairs in scenes(seed * 31 + 7) {
            let (labels, counts) = session(&pairs, 40, seed);
            let advice = Fit::new(labels, &counts, Plateaus::Usual).unwrap().best();
            let [precision, recall, f1] = truth(&pairs, advice.threshold);
            count += 1.0;
            shares += f1 / best_f1(&pairs);
            for (covered, (estimate, truth)) in
                covered.iter_mut().zip([(advice.precision, precision), (advice.recall, recall)])
            {
                let is_inside = estimate.low - 0.005 <= truth && truth <= estimate.high + 0.005;
                *covered += f64::from(u8::from(is_inside));
            }
        }
    }
    let [precision, recall] = covered.map(|covered| covered / count);
    println!("F1 {:.3}, coverage {precision:.3} {recall:.3}", shares / count);
    assert!(shares / count >= 0.95, "{}", shares / count);
    // Intervals of 90 %, which are cautious.
    assert!(precision >= 0.9 && recall >= 0.9, "{precision} {recall}");
}

#[test]
fn claims_of_precision_are_rarely_false() {
    let sessions = if is_thorough() { 60 } else { 12 };
    let (mut all, mut claims, mut wrong) = (0.0, 0.0, 0.0);
    for seed in 0..sessions {
        for pairs in scenes(seed * 17 + 3) {
            let (labels, counts) = session(&pairs, 120, seed);
            all += 1.0;
            let fit = Fit::new(labels, &counts, Plateaus::Flat).unwrap();
            let Some(advice) = fit.reaching(0.95) else { continue };
            claims += 1.0;
            wrong += f64::from(u8::from(truth(&pairs, advice.threshold)[0] < 0.95 - 0.01));
        }
    }
    println!("{claims} claims in {all} sessions, {wrong} wrong");
    assert!(claims > 0.0);
    assert!(wrong <= 0.03 * all, "{wrong} of {claims} claims in {all} sessions");
}

#[test]
fn few_answers_do_not_show_a_precision_and_it_is_known_how_many_would() {
    let mut pairs = PairCounts::default();
    (0..100).for_each(|i| pairs.add(0.6 + f64::from(i) * 0.004, 1.0));
    let of = |count: u32| {
        let labels =
            (0..count).map(|i| Label { similarity: 0.6 + 0.4 * f64::from(i) / f64::from(count), is_same: true });
        Fit::new(labels, &pairs, Plateaus::Flat).unwrap()
    };
    let few = of(10);
    assert_eq!(few.reaching(0.95), None);
    let more = few.answers_until(0.95).unwrap().unwrap();
    assert!((20..80).contains(&more), "{more}");
    assert!(of(200).reaching(0.95).is_some());
    assert_eq!(of(200).answers_until(0.95).unwrap(), Some(1));
    // Wrong answers about the most similar pairs are not outweighed.
    let wrong = (0..400).map(|_| Label { similarity: 0.99, is_same: false });
    let fit = Fit::new(wrong, &pairs, Plateaus::Flat).unwrap();
    assert!(fit.answers_until(0.95).unwrap().is_none_or(|count| count > 1000));
    let nothing = Fit::new([], &PairCounts::default(), Plateaus::Flat).unwrap();
    assert_eq!((nothing.reaching(0.5), nothing.answers_until(0.5).unwrap()), (None, None));
}

#[test]
fn a_threshold_in_a_gap_is_its_middle() {
    let mut pairs = PairCounts::default();
    pairs.add(0.2, 1000.0);
    pairs.add(0.8, 100.0);
    let labels = (0..20).map(|i| {
        let is_same = i % 2 == 0;
        Label { similarity: if is_same { 0.8 } else { 0.2 }, is_same }
    });
    let advice = Fit::new(labels, &pairs, Plateaus::Usual).unwrap().best();
    assert!((advice.threshold - 0.505).abs() < 0.011, "{}", advice.threshold);
    assert_eq!(advice.found, 100.0);
}

#[test]
fn the_first_pairs_are_of_all_similarities() {
    let similarities: Vec<f64> = (0..=1000).map(|i| f64::from(i) / 1000.0).collect();
    let of = |seed| spread(&similarities[200..], 0.2, 20, seed).unwrap();
    let chosen = of(1);
    for (interval, place) in chosen.iter().enumerate() {
        let similarity = similarities[200 + place];
        let from = 0.2 + 0.04 * interval as f64;
        assert!((from - 0.001..=from + 0.041).contains(&similarity), "{interval}: {similarity}");
    }
    assert_eq!((chosen.len(), &chosen), (20, &of(1)));
    assert_ne!(chosen, of(2));
    // Where intervals are empty, others have more; where there are few pairs, all are asked.
    assert_eq!(spread(&[0.5, 0.51, 0.52, 0.9], 0.2, 3, 0).unwrap().len(), 3);
    assert_eq!(spread(&[0.5, 0.51, 0.52, 0.9], 0.2, 9, 0).unwrap(), [0, 1, 2, 3]);
    assert_eq!(spread(&[], 0.2, 9, 0).unwrap(), [0_usize; 0]);
}

#[test]
fn the_next_pairs_are_where_the_answers_change() {
    let similarities: Vec<f64> = (0..=1000).map(|i| f64::from(i) / 1000.0).collect();
    let mut pairs = PairCounts::default();
    similarities.iter().for_each(|similarity| pairs.add(*similarity, 1.0));
    let labels = (0..40).map(|i| {
        let similarity = f64::from(i) / 40.0;
        Label { similarity, is_same: similarity > 0.6 }
    });
    let fit = Fit::new(labels, &pairs, Plateaus::Usual).unwrap();
    let chosen = fit.next(&similarities, 20, 3).unwrap();
    let near = chosen.iter().filter(|place| (similarities[**place] - 0.6).abs() < 0.1).count();
    assert!(near >= 18, "{chosen:?}");
    assert!(chosen.is_sorted_by(|a, b| a < b));
    assert_eq!(chosen, fit.next(&similarities, 20, 3).unwrap());
    assert_ne!(chosen, fit.next(&similarities, 20, 4).unwrap());
    assert_eq!(fit.next(&similarities[..5], 20, 4).unwrap(), [0, 1, 2, 3, 4]);
}

#[test]
fn the_share_that_passes_is_that_of_the_beta_distribution() {
    // By scipy.stats.beta.ppf([0.1, 0.05, 0.95], passing + 0.5, failing + 0.5).
    let cases = [
        (0, 0, [0.024472, 0.006156, 0.993844]),
        (10, 0, [0.876426, 0.829227, 0.999808]),
        (18, 2, [0.786443, 0.749773, 0.970666]),
        (3, 9, [0.124081, 0.096355, 0.483762]),
    ];
    for (passing, failing, expected) in cases {
        let answers = Answers { passing, failing };
        let found = [0.1, 0.05, 0.95].map(|part| answers.quantile(part));
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 2e-3, "{answers:?}: {found} {expected}");
        }
    }
}

/// Pairs that are the same, and as similar pairs that are different. One in ten of the latter passes a rule.
#[test]
fn a_rule_is_judged_by_what_it_finds_and_what_it_loses() {
    let (mut covered, mut count) = (0.0, 0.0);
    for (lost, seed) in [0.0, 0.1, 0.2, 0.8].into_iter().flat_map(|lost| (0..12).map(move |seed| (lost, seed))) {
        let mut random = Random(seed);
        let pairs = scene(seed, (1000, 0.55, 0.15), (8000, 0.4, 0.1));
        let passes: Vec<bool> =
            pairs.iter().map(|(_, is_same)| random.part() < if *is_same { 1.0 - lost } else { 0.1 }).collect();
        let mut passing = PairCounts::default();
        pairs.iter().zip(&passes).filter(|(_, passes)| **passes).for_each(|((s, _), _)| passing.add(*s, 1.0));
        let similarities: Vec<f64> = pairs.iter().map(|pair| pair.0).collect();
        let places = spread(&similarities, 0.1, 60, seed).unwrap();
        let label = |place: &usize| Label { similarity: pairs[*place].0, is_same: pairs[*place].1 };
        let mut counts = PairCounts::default();
        similarities.iter().for_each(|similarity| counts.add(*similarity, 1.0));
        let all = Fit::new(places.iter().map(label), &counts, Plateaus::Usual).unwrap();
        let ruled = places.iter().filter(|place| passes[**place]).map(label);
        let ruled = Fit::new(ruled, &passing, Plateaus::Usual).unwrap();
        let same = places.iter().filter(|place| pairs[**place].1);
        let passing = same.clone().filter(|place| passes[**place]).count() as u64;
        let answers = Answers { passing, failing: same.count() as u64 - passing };
        let alone = Judgement::new(all.clone(), None);
        assert_eq!((alone.is_ruled, alone.advice), (false, all.best()));
        let judged = Judgement::new(all, Some((ruled, answers)));
        assert!(!judged.is_ruled || lost < 0.5, "{lost} lost, {answers:?}");
        if judged.is_ruled {
            let found = pairs
                .iter()
                .zip(&passes)
                .filter(|((s, is_same), passes)| *is_same && **passes && *s >= judged.advice.threshold);
            let recall = found.count() as f64 / pairs.iter().filter(|pair| pair.1).count() as f64;
            let estimate = judged.advice.recall;
            assert!(estimate.low < estimate.mean && estimate.mean < estimate.high, "{estimate:?}");
            count += 1.0;
            covered += f64::from(u8::from(estimate.low - 0.005 <= recall && recall <= estimate.high + 0.005));
        }
    }
    assert!(count >= 24.0 && covered >= 0.9 * count, "{covered} of {count}");
}

#[test]
fn reservoirs_do_not_depend_on_the_order_of_pairs() {
    let hash = |pair: u64| pair.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let kept = |pairs: &[u64]| {
        let mut reservoirs = Reservoirs::new(7);
        for pair in pairs {
            let estimate = (pair % 128) as f64 / 127.0;
            if reservoirs.wants(estimate, hash(*pair)) {
                reservoirs.put(estimate, hash(*pair), *pair).unwrap();
            }
        }
        reservoirs.finish().unwrap()
    };
    let mut pairs: Vec<u64> = (0..5000).collect();
    let found = kept(&pairs);
    pairs.reverse();
    assert_eq!(found, kept(&pairs));
    assert_eq!(found.len(), 50 * 7);
    assert!((found.iter().map(|(_, weight)| weight).sum::<f64>() - 5000.0).abs() < 1e-6);
}
