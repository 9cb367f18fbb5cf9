//! Estimates from signatures: similarities, by whole slots or a few bits of each, and numbers of elements.

use crate::common::{config, mix64};
use minlsh_sketch::{
    Error, Scheme, Sketcher, SlotBits, cardinality, containment, estimate_jaccard, standard_error, unite,
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
fn the_minimum_of_a_slot_is_unsigned() {
    let mut united = [-1, 3, 7];
    assert_eq!(unite(&mut united, &[5, 5, -2]), Ok(()));
    assert_eq!(united, [5, 3, 7]);
    assert!(unite(&mut united, &[5]).is_err() && unite(&mut [], &[]).is_err());
}

#[test]
fn the_standard_error_is_the_one_of_a_proportion() {
    let error = standard_error(128, 0.9).unwrap();
    assert!((error - 0.026_517).abs() < 1e-6);
    assert_eq!(standard_error(0, 0.5), Err(Error::NumPerm(0)));
    assert!(standard_error(128, f64::NAN).is_err());
    assert!(standard_error(128, 1.01).is_err());
}

fn slot_bits(bits: i64) -> SlotBits {
    SlotBits::new(bits).unwrap()
}

/// The reference of packed signatures has the numbers.
#[test]
fn fewer_bits_err_more() {
    let larger = |bits: f64| {
        let chance = (-bits).exp2();
        let agreement = 0.9 + 0.1 * chance;
        let error = standard_error(128, agreement).unwrap() / (1.0 - chance);
        error / standard_error(128, 0.9).unwrap() - 1.0
    };
    assert!(larger(16.0) > 0.0 && larger(16.0) < 2e-5);
    assert!(larger(8.0) > 1e-3 && larger(8.0) < 3e-3);
}

#[test]
fn all_bits_are_the_signature_itself() {
    assert_eq!(slot_bits(32).pack(&[3, -7, 0]), Ok(vec![3, -7, 0]));
    assert_eq!(slot_bits(32).estimate_jaccard(&[1, 2], &[1, 3]), Ok(0.5));
}

#[test]
fn packed_signatures_take_a_half_and_a_quarter_of_the_space() {
    let signature: Vec<i32> = (0..128).collect();
    for (bits, words) in [(32, 128), (16, 64), (8, 32)] {
        let packed = slot_bits(bits).pack(&signature).unwrap();
        assert_eq!(packed.len(), words);
        assert_eq!(slot_bits(bits).estimate_jaccard(&packed, &packed), Ok(1.0));
    }
}

#[test]
fn packed_signatures_are_the_same_for_ever() {
    assert_eq!(slot_bits(16).pack(&[0, 1, 2, 3]), Ok(vec![1_452_408_832, 508_812_242]));
    assert_eq!(slot_bits(8).pack(&[0, 1, 2, 3]), Ok(vec![517_690_880]));
}

#[test]
fn the_estimate_is_unbiased_by_agreement_by_chance() {
    for slot_bits in [slot_bits(16), slot_bits(8)] {
        for similar in [0, 300, 900] {
            let a: Vec<i32> = (0..1000).collect();
            let b: Vec<i32> = (0..1000).map(|i| if i < similar { i } else { i + 100_000 }).collect();
            let [a, b] = [a, b].map(|signature| slot_bits.pack(&signature).unwrap());
            let estimate = slot_bits.estimate_jaccard(&a, &b).unwrap();
            // Four standard errors of the agreement by chance of 8 bits.
            assert!((estimate - f64::from(similar) / 1000.0).abs() < 0.008, "{estimate}");
        }
    }
}

#[test]
fn what_cannot_be_packed_is_refused() {
    assert_eq!(SlotBits::new(4), Err(Error::SlotBits(4)));
    assert_eq!(Error::SlotBits(4).to_string(), "slot_bits must be 8, 16 or 32, not 4");
    let refused = slot_bits(8).pack(&[0; 30]).unwrap_err().to_string();
    assert_eq!(refused, "num_perm must be a multiple of 4 for slot_bits 8, not 30");
    assert_eq!(slot_bits(32).pack(&[]), Err(Error::NumPerm(0)));
    assert!(slot_bits(16).pack(&[1]).is_err());
    assert!(slot_bits(16).estimate_jaccard(&[1], &[1, 2]).is_err());
    assert!(slot_bits(16).estimate_jaccard(&[], &[]).is_err());
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
    // 400 common elements of 600 and 800.
    let set = |ids: std::ops::Range<u64>| -> Vec<u64> { ids.map(mix64).collect() };
    for scheme in [Scheme::Fss, Scheme::Permutations] {
        let mut sketcher = Sketcher::new(config(scheme.as_str(), 4096, "char", 5, 0));
        let mut sign = |ids| sketcher.sketch_hashes(&set(ids), &mut || ()).unwrap().unwrap().to_vec();
        let (a, b) = (sign(0..600), sign(200..1000));
        let (of_a, of_b) = containment(&a, &b, scheme).unwrap();
        assert!((of_a - 400.0 / 600.0).abs() < 0.08 && (of_b - 0.5).abs() < 0.06, "{of_a} {of_b}");
        let [in_a, in_b] = [&a, &b].map(|own| cardinality(own, scheme).unwrap().estimate);
        assert!((of_a * in_a - of_b * in_b).abs() < 1e-9);
        assert_eq!(containment(&a, &a, scheme), Ok((1.0, 1.0)));
    }
    // All slots but one are equal, and that one makes the second set far smaller: it is in the first.
    let (a, b) = ([1 << 20; 4], [1 << 20, 1 << 20, 1 << 20, i32::MIN]);
    let (of_a, of_b) = containment(&a, &b, Scheme::Permutations).unwrap();
    assert!(of_a < 0.01 && of_b == 1.0, "{of_a} {of_b}");
    let lengths = Error::LengthMismatch { left: 1, right: 2 };
    assert_eq!(containment(&[1], &[1, 2], Scheme::Fss), Err(lengths));
    assert_eq!(containment(&[1], &[1], Scheme::Fss), Err(Error::CardinalitySlots(1)));
}
