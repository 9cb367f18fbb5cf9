//! Weighted sets: their similarities, and signatures as Ioffe's paper has them.

use crate::common::{G, cases, mix64};
use crate::golden::OTHER_VALUES;
use minlsh_sketch::{Error, MIN_WEIGHT, ShingleSet, WeightedSet, estimate_jaccard};
use proptest::prelude::*;

fn set(elements: &[(u64, f64)]) -> WeightedSet {
    let hashed = elements.iter().map(|&(id, weight)| (mix64(id), weight));
    WeightedSet::new(hashed.collect(), &mut || ()).unwrap()
}

fn signature(set: &WeightedSet, num_perm: i64, seed: i64) -> Vec<i32> {
    set.signature(num_perm, seed, &mut || ()).unwrap().unwrap()
}

fn elements() -> impl Strategy<Value = Vec<(u64, f64)>> {
    let weight = prop_oneof![Just(1.0), 1e-3..10.0, Just(1e-100), Just(1e100), 1e20..1e30];
    prop::collection::vec((0_u64..60, weight), 1..50)
}

/// As Ioffe's paper has it, without bounds.
fn plain(set: &WeightedSet, num_perm: u64, seed: i64) -> Vec<i32> {
    let slot = |slot: u64| {
        let ranked = set.iter().map(|(hash, weight)| {
            let element = mix64(hash.wrapping_add(mix64(seed as u64)));
            let uniform = |i: u64| {
                let bits = mix64(element.wrapping_add((slot * 5 + i).wrapping_mul(G)));
                ((bits >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
            };
            let r = -libm::log(uniform(1) * uniform(2));
            let c = -libm::log(uniform(3) * uniform(4));
            let t = (libm::log(weight) / r + uniform(5)).floor();
            let rank = libm::log(c) - r * (t - uniform(5)) - r;
            (rank, (mix64(element.wrapping_add(mix64(t as i64 as u64))) >> 32) as i32)
        });
        ranked.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap().1
    };
    (0..num_perm).map(slot).collect()
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn bounds_change_nothing(elements in elements(), seed in any::<i64>()) {
        let set = set(&elements);
        prop_assert_eq!(signature(&set, 70, seed), plain(&set, 70, seed));
    }

    #[test]
    fn order_and_split_weights_do_not_matter(elements in elements(), seed in any::<u64>()) {
        let mut halves: Vec<_> = elements.iter().map(|&(id, w)| (id, w / 2.0)).collect();
        halves.retain(|(_, weight)| *weight >= MIN_WEIGHT);
        let twice = [&halves[..], &halves[..]].concat();
        let mut shuffled = twice.clone();
        shuffled.sort_by_key(|(id, weight)| mix64(id ^ seed ^ weight.to_bits()));
        prop_assert_eq!(set(&twice), set(&shuffled));
    }

    #[test]
    fn similarity_is_symmetric_and_one_for_equals(a in elements(), b in elements()) {
        let (a, b) = (set(&a), set(&b));
        prop_assert_eq!(a.jaccard(&b), b.jaccard(&a));
        prop_assert_eq!(a.jaccard(&a), Some(1.0));
        prop_assert!((0.0..=1.0).contains(&a.jaccard(&b).unwrap()));
    }

    #[test]
    fn equal_weights_give_the_jaccard_similarity(a in 0_u64..50, b in 1_u64..50) {
        let range = |from: u64| (from..from + 40).map(mix64).collect::<Vec<_>>();
        let weighted = |ids: &[u64]| {
            WeightedSet::new(ids.iter().map(|&hash| (hash, 1.0)).collect(), &mut || ()).unwrap()
        };
        let set = |from| ShingleSet::from_hashes(range(from), &mut || ());
        let exact = set(a).jaccard(&set(b));
        prop_assert_eq!(weighted(&range(a)).jaccard(&weighted(&range(b))), exact);
    }
}

#[test]
fn similarities_are_those_by_hand() {
    let (a, b) = (set(&[(1, 2.0), (2, 1.0), (3, 0.0)]), set(&[(2, 3.0), (1, 0.5), (4, 1.0)]));
    assert_eq!(a.iter().len(), 2);
    assert_eq!(a.jaccard(&b), Some(1.5 / 6.0));
    let empty = WeightedSet::default();
    assert_eq!(empty.jaccard(&empty), None);
    assert_eq!(empty.jaccard(&a), Some(0.0));
    assert_eq!(empty.signature(8, 0, &mut || ()), Ok(None));
}

/// Bias and root mean square error of the estimate, over reseeded pairs.
fn errors(a: &WeightedSet, b: &WeightedSet, num_perm: i64, trials: i64) -> (f64, f64) {
    let exact = a.jaccard(b).unwrap();
    let (mut bias, mut square) = (0.0, 0.0);
    for seed in 0..trials {
        let (a, b) = (signature(a, num_perm, seed), signature(b, num_perm, seed));
        let error = estimate_jaccard(&a, &b).unwrap() - exact;
        bias += error;
        square += error * error;
    }
    (bias / trials as f64, (square / trials as f64).sqrt())
}

#[test]
fn the_estimate_is_unbiased_and_errs_as_a_proportion() {
    let pair = |scale: f64, spread: i32, count: u64| {
        let weight = |id: u64, salt: u64| {
            let step = (mix64(id ^ salt) % 1000) as f64 / 1000.0;
            scale * (0.1 + step).powi(spread)
        };
        let a = (0..count).map(|id| (id, weight(id, 0)));
        let b = (count / 5..count + count / 5).map(|id| (id, if id % 3 == 0 { weight(id, 77) } else { weight(id, 0) }));
        (set(&a.collect::<Vec<_>>()), set(&b.collect::<Vec<_>>()))
    };
    let scaled = |a: &WeightedSet, factor: f64| {
        WeightedSet::new(a.iter().map(|(hash, w)| (hash, w * factor)).collect(), &mut || ()).unwrap()
    };
    let (one, few, many) = (pair(1.0, 1, 1), pair(3.0, 4, 12), pair(1e-6, 2, 200));
    let pairs = [
        ("few", scaled(&few.0, 1.0), few.1),
        ("many", scaled(&many.0, 1.0), many.1),
        // J = 0.7 by scale alone: what probability Jaccard does not see.
        ("scaled", scaled(&many.0, 1.0), scaled(&many.0, 0.7)),
        ("one element", scaled(&one.0, 1.0), scaled(&one.0, 0.4)),
    ];
    let (num_perm, trials) = (64, 800);
    for (name, a, b) in pairs {
        let exact = a.jaccard(&b).unwrap();
        let (bias, rmse) = errors(&a, &b, num_perm, trials);
        let expected = (exact * (1.0 - exact) / num_perm as f64).sqrt();
        println!("{name}: J {exact:.4}, bias {bias:+.5}, rmse {rmse:.5}, theory {expected:.5}");
        assert!(bias.abs() < 4.0 * expected / (trials as f64).sqrt(), "{name}");
        assert!((0.92..1.08).contains(&(rmse / expected)), "{name}");
    }
}

#[test]
fn signatures_are_the_same_for_ever() {
    let set = set(&[(1, 0.5), (2, 3.0), (3, 1e-9), (4, 12345.678)]);
    let slots = [39223314, 2068549631, -1692168658, -1478563314, -183508907, -1478563314];
    assert_eq!(signature(&set, 6, 0), slots, "{OTHER_VALUES}");
    assert_eq!(signature(&set, 3, 42), [-131990558, -1957253932, -1323527104]);
    assert_eq!(signature(&set, 6, 0)[..2], signature(&set, 2, 0));
}

#[test]
fn weights_that_are_none_are_refused() {
    for weight in [-1.0, f64::NAN, f64::INFINITY, 1e-101, 1e101] {
        let message = WeightedSet::new(vec![(1, weight)], &mut || ()).unwrap_err().to_string();
        let expected = format!("a weight must be 0 or between 1e-100 and 1e100, not {weight}");
        assert_eq!(message, expected);
    }
    assert_eq!(set(&[(1, 1.0)]).signature(0, 0, &mut || ()), Err(Error::NumPerm(0)));
}
