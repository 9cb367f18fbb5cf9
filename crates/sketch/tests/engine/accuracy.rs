//! The statistical promises, measured over many pairs of sets. All randomness
//! is fixed, and the bounds are five standard errors wide or more.

use crate::common::{config, mix64};
use minlsh_sketch::{Banding, Sketcher, estimate_jaccard, standard_error};

/// A pair of sets with `common` shared elements and `a` and `b` of their own,
/// other elements for each trial.
fn pair(trial: u64, [common, a, b]: [u64; 3]) -> (Vec<u64>, Vec<u64>) {
    let element = |i: u64| mix64(mix64(trial << 20 | 0xfeed).wrapping_add(i));
    let shared = || (0..common).map(element);
    let own = |from: u64, count: u64| (from..from + count).map(element);
    let first = shared().chain(own(common, a)).collect();
    let second = shared().chain(own(common + a, b)).collect();
    (first, second)
}

fn signature(sketcher: &mut Sketcher, hashes: &[u64]) -> Vec<i32> {
    sketcher.sketch_hashes(hashes, &mut || ()).unwrap().unwrap().to_vec()
}

/// Mean error and root mean square error of the estimate, the latter in units
/// of the standard error.
fn errors(scheme: &str, sizes: [u64; 3], trials: u64) -> (f64, f64) {
    let mut sketcher = Sketcher::new(config(scheme, 128, "char", 5, 0));
    let jaccard = sizes[0] as f64 / sizes.iter().sum::<u64>() as f64;
    let (mut sum, mut squares) = (0.0, 0.0);
    for trial in 0..trials {
        let (a, b) = pair(trial, sizes);
        let (a, b) = (signature(&mut sketcher, &a), signature(&mut sketcher, &b));
        let error = estimate_jaccard(&a, &b).unwrap() - jaccard;
        sum += error;
        squares += error * error;
    }
    let trials = trials as f64;
    let unit = standard_error(128, jaccard).unwrap();
    (sum / trials, (squares / trials).sqrt() / unit)
}

fn assert_accurate(scheme: &str, sizes: [u64; 3], trials: u64) {
    let jaccard = sizes[0] as f64 / sizes.iter().sum::<u64>() as f64;
    let (bias, relative) = errors(scheme, sizes, trials);
    let bound = 5.0 * standard_error(128, jaccard).unwrap() / (trials as f64).sqrt();
    assert!(bias.abs() <= bound, "{scheme} {sizes:?}: bias {bias}, bound {bound}");
    let bound = 1.0 + 5.0 / (2.0 * trials as f64).sqrt();
    assert!(relative <= bound, "{scheme} {sizes:?}: {relative} standard errors");
}

#[test]
fn the_estimate_is_unbiased_and_errs_no_more_than_promised() {
    for sizes in [[1, 1, 1], [3, 1, 1], [5, 0, 5], [40, 5, 5], [90, 5, 5], [100, 900, 0]] {
        assert_accurate("fss", sizes, 2000);
        assert_accurate("permutations", sizes, 1000);
    }
    for sizes in [[500, 250, 250], [900, 50, 50], [20, 0, 2000]] {
        assert_accurate("fss", sizes, 1000);
    }
    for sizes in [[9000, 500, 500], [100, 9900, 10], [5000, 5000, 0]] {
        assert_accurate("fss", sizes, 200);
    }
}

#[test]
fn fss_errs_less_than_permutations_on_a_hundred_shingles() {
    let (_, relative) = errors("fss", [80, 10, 10], 2000);
    assert!(relative < 0.95, "{relative}");
}

#[test]
fn bands_collide_with_the_probability_of_the_formula() {
    const TRIALS: u64 = 1500;
    let banding = Banding::new(20, 6).unwrap();
    for scheme in ["fss", "permutations"] {
        let mut sketcher = Sketcher::new(config(scheme, 128, "char", 5, 0));
        for sizes in [[100, 50, 50], [140, 30, 30], [160, 20, 20], [180, 10, 10]] {
            let mut collisions = 0;
            for trial in 0..TRIALS {
                let (a, b) = pair(trial, sizes);
                let mut hashes = [Vec::new(), Vec::new()];
                for (set, hashes) in [a, b].iter().zip(&mut hashes) {
                    banding.hashes(&signature(&mut sketcher, set), hashes).unwrap();
                }
                let equal = hashes[0].iter().zip(&hashes[1]).any(|(a, b)| a == b);
                collisions += u32::from(equal);
            }
            let found = f64::from(collisions) / TRIALS as f64;
            let promised = banding.probability(sizes[0] as f64 / 200.0);
            let bound = 5.0 * (promised * (1.0 - promised) / TRIALS as f64).sqrt() + 0.01;
            assert!((found - promised).abs() <= bound, "{scheme} {sizes:?}: {found}, not {promised} within {bound}");
        }
    }
}
