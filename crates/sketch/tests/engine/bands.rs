//! Bands: how they are chosen from a recall, what they promise, and their hashes, which are stored.

use minlsh_sketch::{Banding, Error, ScopeHash};

fn chosen(threshold: f64) -> Banding {
    Banding::for_recall(threshold, 128, 0.99).unwrap()
}

#[test]
fn bands_are_chosen_from_the_recall() {
    for (threshold, bands, rows, recall) in [(0.9, 12, 10, 0.994), (0.8, 21, 6, 0.998), (0.7, 32, 4, 0.9998)] {
        let banding = chosen(threshold);
        assert_eq!((banding.bands(), banding.rows()), (bands, rows));
        assert!((banding.probability(threshold) - recall).abs() < 6e-4);
    }
    assert_eq!(Ok(chosen(1.0)), Banding::new(1, 128));
}

#[test]
fn trimming_keeps_the_recall_and_the_probes_of_every_higher_threshold() {
    for (threshold, bands) in [(0.9, 11), (0.8, 16), (0.7, 17)] {
        let full = chosen(threshold);
        let trimmed = full.trimmed(threshold, 0.99);
        assert_eq!((trimmed.bands(), trimmed.rows()), (bands, full.rows()));
        assert!(trimmed.probability(threshold) >= 0.99);
        for higher in [threshold, 0.93, 0.97, 1.0] {
            assert_eq!(trimmed.probes(higher, 0.99), full.probes(higher, 0.99));
        }
    }
}

#[test]
fn a_higher_threshold_needs_fewer_probes() {
    let banding = chosen(0.8);
    assert_eq!(banding.probes(0.8, 0.99), 16);
    assert_eq!(banding.probes(0.9, 0.99), 7);
    assert_eq!(banding.probes(1.0, 0.99), 1);
    assert_eq!(banding.probes(0.1, 0.99), 21);
    assert_eq!(banding.probes(0.0, 0.99), 21);
    assert_eq!(banding.probes(f64::NAN, 0.99), 21);
    assert_eq!(banding.probes(0.9, f64::NAN), 21);
    for percent in 70..100 {
        let threshold = f64::from(percent) / 100.0;
        let banding = chosen(threshold);
        let bands = banding.probes(threshold, 0.99);
        let reached = |bands| banding.first(bands).probability(threshold) >= 0.99;
        assert!(reached(bands) && (bands == 1 || !reached(bands - 1)));
    }
}

#[test]
fn probabilities_are_exact_at_both_ends() {
    let banding = Banding::new(4096, 1).unwrap();
    assert_eq!(banding.probability(0.0), 0.0);
    assert_eq!(banding.probability(1.0), 1.0);
    let banding = Banding::new(2, 100).unwrap();
    let tiny = banding.probability(0.5) / (2.0 * 0.5_f64.powi(100));
    assert!((tiny - 1.0).abs() < 1e-12);
    assert!((Banding::new(20, 6).unwrap().threshold() - 0.607).abs() < 1e-3);
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |result: Result<Banding, Error>| result.unwrap_err().to_string();
    assert_eq!(refused(Banding::new(0, 1)), "bands must be between 1 and 4096, not 0");
    assert_eq!(refused(Banding::new(1, -1)), "rows must be between 1 and 4096, not -1");
    assert_eq!(refused(Banding::new(65, 64)), "bands * rows must be at most 4096, not 65 * 64");
    assert_eq!(
        refused(Banding::for_recall(f64::NAN, 128, 0.9)),
        "threshold must be greater than 0 and at most 1, not NaN"
    );
    assert_eq!(refused(Banding::for_recall(0.5, 128, 1.0)), "recall must be greater than 0 and less than 1, not 1");
    assert_eq!(
        refused(Banding::for_recall(0.01, 128, 0.99)),
        "recall 0.99 cannot be reached at threshold 0.01 with num_perm 128: at most 0.7237"
    );
    let error = Banding::new(21, 6).unwrap().hashes(&[0; 64], &mut Vec::new());
    let error = error.unwrap_err();
    assert_eq!(error.to_string(), "21 bands of 6 rows need a signature of at least 126 slots, not 64");
    assert_eq!(error.hint(), "Use at most 10 bands of 6 rows, or a larger num_perm.");
}

#[test]
fn band_hashes_are_the_specified_ones() {
    let mut hashes = Vec::new();
    let banding = Banding::new(2, 2).unwrap();
    banding.hashes(&[1, 2, 3, 4], &mut hashes).unwrap();
    assert_eq!(hashes, [254_984_204_845_929_552, 5_681_563_201_217_060_630]);
    banding.hashes(&[7, 7, 7, 7], &mut hashes).unwrap();
    assert_ne!(hashes[0], hashes[1]);
}

/// The values that indexes of version 1 have.
#[test]
fn buckets_are_the_same_for_ever() {
    let none = ScopeHash::default();
    assert_eq!(none.bucket(0), 0);
    // The finaliser of MurmurHash3 (smhasher): fmix64(1).
    assert_eq!(none.bucket(1), 0xb456_bcfc_34c2_cb2c);
    let scope = none.with(Some(7)).with(None);
    assert_eq!(scope.bucket(-1), 0x3a3a_70e5_2130_048e);
}

#[test]
fn scopes_differ_by_values_and_their_order() {
    let of = |values: [Option<u64>; 2]| values.into_iter().fold(ScopeHash::default(), ScopeHash::with);
    let scopes = [of([Some(1), Some(2)]), of([Some(2), Some(1)]), of([Some(1), None])];
    for (i, scope) in scopes.iter().enumerate() {
        assert!(scopes[..i].iter().all(|other| other.bucket(5) != scope.bucket(5)));
    }
}
