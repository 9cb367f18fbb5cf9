//! Estimates from signatures: similarities, by whole slots or a few bits of each, and numbers of elements.

use crate::common::{config, mix64};
use sketch::{
    Error, Scheme, Sketcher, SlotBits, cardinality, containment, estimate_jaccard, standard_error,
    union,
};

#[test]
fn the_estimate_is_the_fraction_of_equal_slots() {
    assert_eq!(estimate_jaccard(&[1, 2, 3, 4], &[1, 2, 3, 5]), Ok(0.75));
    let error = estimate_jaccard(&[1], &[1, 2]).map_err(|e| e.to_string());
    let message = "signatures of different lengths cannot be compared: 1 and 2 slots";
    assert_eq!(error, Err(message.to_owned()));
    assert_eq!(estimate_jaccard(&[], &[]), Err(Error::EmptySignature));
}

#[test]
fn the_minimum_of_permutations_is_unsigned() {
    assert_eq!(union(&[-1], &[5], Scheme::Permutations), Ok(vec![5]));
    assert_eq!(union(&[3], &[5], Scheme::Fss), Ok(vec![3]));
}

#[test]
fn the_standard_error_is_the_one_of_a_proportion() {
    let error = standard_error(128, 0.9).unwrap();
    assert!((error - 0.026_517).abs() < 1e-6);
    assert_eq!(standard_error(0, 0.5), Err(Error::NumPerm(0)));
    assert!(standard_error(128, f64::NAN).is_err());
    assert!(standard_error(128, 1.01).is_err());
}

#[test]
fn fewer_bits_err_more() {
    let error = |bits: SlotBits| bits.standard_error(128, 0.9).unwrap();
    assert_eq!(Ok(error(SlotBits::All)), standard_error(128, 0.9));
    let larger = |bits| error(bits) / error(SlotBits::All) - 1.0;
    assert!(larger(SlotBits::Half) > 0.0 && larger(SlotBits::Half) < 2e-5);
    assert!(larger(SlotBits::Quarter) > 1e-3 && larger(SlotBits::Quarter) < 3e-3);
    assert_eq!(SlotBits::Half.standard_error(128, 1.0), Ok(0.0));
    assert_eq!(SlotBits::Half.standard_error(128, 1.5), Err(Error::Jaccard(1.5)));
}

#[test]
fn all_bits_are_the_signature_itself() {
    let mut packed = Vec::new();
    SlotBits::All.pack(&[3, -7, 0], &mut packed).unwrap();
    assert_eq!(packed, [3, -7, 0]);
    assert_eq!(SlotBits::All.estimate_jaccard(&[1, 2], &[1, 3]), Ok(0.5));
}

#[test]
fn packed_signatures_take_a_half_and_a_quarter_of_the_space() {
    let signature: Vec<i32> = (0..128).collect();
    let mut packed = Vec::new();
    for (bits, words) in [(32, 128), (16, 64), (8, 32)] {
        let slot_bits = SlotBits::new(bits, 128).unwrap();
        slot_bits.pack(&signature, &mut packed).unwrap();
        assert_eq!(packed.len(), words);
        assert_eq!(slot_bits.words(128), words);
        assert_eq!(slot_bits.estimate_jaccard(&packed, &packed), Ok(1.0));
    }
}

#[test]
fn packed_signatures_are_the_same_for_ever() {
    let mut packed = Vec::new();
    SlotBits::Half.pack(&[0, 1, 2, 3], &mut packed).unwrap();
    assert_eq!(packed, [1_452_408_832, 508_812_242]);
    SlotBits::Quarter.pack(&[0, 1, 2, 3], &mut packed).unwrap();
    assert_eq!(packed, [517_690_880]);
}

#[test]
fn the_estimate_is_unbiased_by_agreement_by_chance() {
    for slot_bits in [SlotBits::Half, SlotBits::Quarter] {
        for similar in [0, 300, 900] {
            let a: Vec<i32> = (0..1000).collect();
            let b: Vec<i32> =
                (0..1000).map(|i| if i < similar { i } else { i + 100_000 }).collect();
            let (mut packed_a, mut packed_b) = (Vec::new(), Vec::new());
            slot_bits.pack(&a, &mut packed_a).unwrap();
            slot_bits.pack(&b, &mut packed_b).unwrap();
            let estimate = slot_bits.estimate_jaccard(&packed_a, &packed_b).unwrap();
            // Four standard errors of the agreement by chance of 8 bits.
            assert!((estimate - f64::from(similar) / 1000.0).abs() < 0.008, "{estimate}");
        }
    }
}

#[test]
fn what_cannot_be_packed_is_refused() {
    let refused = |bits, num_perm| SlotBits::new(bits, num_perm).unwrap_err().to_string();
    assert_eq!(refused(4, 128), "slot_bits must be 8, 16 or 32, not 4");
    assert_eq!(refused(8, 30), "num_perm must be a multiple of 4 for slot_bits 8, not 30");
    assert!(SlotBits::Half.pack(&[1], &mut Vec::new()).is_err());
    assert!(SlotBits::Half.estimate_jaccard(&[1], &[1, 2]).is_err());
    assert!(SlotBits::Half.estimate_jaccard(&[], &[]).is_err());
}

/// Relative bias and relative root mean square error of the number of elements.
fn errors(scheme: &str, num_perm: i64, count: u64, trials: u64) -> (f64, f64) {
    let mut sketcher = Sketcher::new(config(scheme, num_perm, "char", 5, 1));
    let (mut bias, mut square) = (0.0, 0.0);
    for trial in 0..trials {
        let start = mix64(trial ^ count << 32);
        let set: Vec<u64> = (0..count).map(|i| mix64(start.wrapping_add(i))).collect();
        let signature = sketcher.sketch_hashes(&set, &mut || ()).unwrap().unwrap().to_vec();
        let found = cardinality(&signature, sketcher.config().scheme()).unwrap();
        let error = found.estimate / count as f64 - 1.0;
        bias += error;
        square += error * error;
    }
    (bias / trials as f64, (square / trials as f64).sqrt())
}

#[test]
fn the_estimate_is_as_good_as_it_says() {
    let trials = 400;
    for scheme in ["fss", "permutations", "datasketch_affine32", "datasketch_legacy"] {
        for num_perm in [16, 128] {
            for count in [1, 10, 100, 3000] {
                let (bias, rmse) = errors(scheme, num_perm, count, trials);
                let expected = 1.0 / (num_perm as f64 - 2.0).sqrt();
                let what = format!("{scheme} {num_perm} {count}: {bias:.4} {rmse:.4}");
                // Four standard errors of the mean; fss is dependent slots.
                let noise = 4.0 * expected / (trials as f64).sqrt();
                assert!(bias.abs() < noise + 0.6 / num_perm as f64, "{what}");
                assert!(rmse < expected * 1.25, "{what}");
            }
        }
    }
}

/// The table of the documentation: cargo test --release -- --ignored --nocapture bias_and_error
#[test]
#[ignore = "takes a minute; prints a table"]
fn bias_and_error() {
    for scheme in ["fss", "permutations", "datasketch_affine32", "datasketch_legacy"] {
        for num_perm in [16, 128, 1024] {
            for exponent in 0..=12 {
                let count = (10_f64.powf(f64::from(exponent) / 2.0)).round() as u64;
                let work = count * if scheme == "fss" { 4 } else { num_perm as u64 } + 1000;
                let trials = (400_000_000 / work).clamp(60, 20_000);
                let (bias, rmse) = errors(scheme, num_perm, count, trials);
                let expected = 1.0 / (num_perm as f64 - 2.0).sqrt();
                println!(
                    "{scheme:20} K {num_perm:5} n {count:8} trials {trials:6} bias {bias:+.4} \
                     rmse * sqrt(K-2) {:.3}",
                    rmse / expected
                );
            }
        }
    }
}

#[test]
fn equal_slots_give_the_estimate_by_hand() {
    // Every slot at half of the range: t = ln 2.
    let signature = [i32::MIN; 11];
    let found = cardinality(&signature, Scheme::Permutations).unwrap();
    assert!((found.estimate - 10.0 / (11.0 * 2_f64.ln())).abs() < 1e-6);
    assert!((found.standard_error - found.estimate / 3.0).abs() < 1e-9);
}

#[test]
fn what_cannot_be_counted_is_refused() {
    assert_eq!(cardinality(&[1, 2], Scheme::Fss), Err(Error::CardinalitySlots(2)));
    let full = cardinality(&[0; 128], Scheme::Permutations).unwrap_err();
    assert!(full.to_string().contains("at most 1073741824 elements"), "{full}");
    assert!(cardinality(&[0; 128], Scheme::Fss).is_err());
    assert!(cardinality(&[i32::MAX; 128], Scheme::Fss).is_ok());
    assert!(cardinality(&[-1; 128], Scheme::Permutations).is_ok());
}

#[test]
fn containments_follow_from_the_sizes() {
    // 40 common elements of 60 and 80.
    let (left, right) = containment(0.4, 60.0, 80.0).unwrap();
    assert!((left.unwrap() - 40.0 / 60.0).abs() < 1e-12);
    assert!((right.unwrap() - 0.5).abs() < 1e-12);
    assert_eq!(containment(0.9, 10.0, 1000.0), Ok((Some(1.0), Some(0.01))));
    assert_eq!(containment(1.0, 0.0, 5.0), Ok((None, Some(0.0))));
    assert_eq!(containment(1.0, f64::MAX, f64::MAX), Ok((Some(1.0), Some(1.0))));
    assert_eq!(containment(0.5, -1.0, 5.0), Err(Error::Count(-1.0)));
    assert!(containment(0.5, 1.0, f64::INFINITY).is_err());
    assert!(containment(f64::NAN, 1.0, 1.0).is_err());
}
