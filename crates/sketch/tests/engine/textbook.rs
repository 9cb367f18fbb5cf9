//! MinHash as the textbook writes it, with hash functions of one's own.

use minlsh_sketch::{Error, LinearFunctions};

fn minhash(rows: &[i64], a: &[i64], b: &[i64], p: i64) -> Option<Vec<i32>> {
    LinearFunctions::new(a, b, p).expect("valid").minhash(rows, &mut || ()).expect("memory")
}

#[test]
fn the_signature_matrix_of_the_textbook() {
    // Figure 3.4: S1 = {a, d}, S2 = {c}, S3 = {b, d, e}, S4 = {a, c, d}.
    let matrix = [(vec![0, 3], [1, 0]), (vec![2], [3, 2]), (vec![1, 3, 4], [0, 0])];
    for (rows, signature) in matrix.into_iter().chain([(vec![0, 2, 3], [1, 0])]) {
        assert_eq!(minhash(&rows, &[1, 3], &[1, 1], 5), Some(signature.to_vec()));
    }
}

#[test]
fn any_integers_are_reduced() {
    let (a, b) = ([i64::MAX, -1], [i64::MIN, 4]);
    let big = i128::from(i64::MAX) * 7 + i128::from(i64::MIN);
    assert_eq!(minhash(&[7], &a, &b, 101), Some(vec![big.rem_euclid(101) as i32, (-3_i32).rem_euclid(101)]));
    assert_eq!(minhash(&[i64::MIN, 5, 5], &[0], &[-1], 3), Some(vec![2]));
    let largest = i64::from(i32::MAX);
    assert_eq!(minhash(&[largest - 1], &[largest - 1], &[largest - 1], largest), Some(vec![0]));
    assert_eq!(minhash(&[9], &[1], &[1], 1), Some(vec![0]));
    assert_eq!(minhash(&[], &[1], &[1], 5), None);
}

#[test]
fn wrong_arguments() {
    let wrong = |a: &[i64], b: &[i64], p| LinearFunctions::new(a, b, p).expect_err("wrong");
    assert_eq!(wrong(&[1], &[], 5), Error::Coefficients { a: 1, b: 0 });
    assert_eq!(wrong(&[], &[], 5), Error::NumPerm(0));
    assert_eq!(wrong(&[1], &[1], 0), Error::Modulus(0));
    assert_eq!(wrong(&[1], &[1], 1 << 31), Error::Modulus(1 << 31));
}

#[test]
fn a_long_computation_can_be_cancelled() {
    let functions = LinearFunctions::new(&[1; 4096], &[0; 4096], 1_000_003).expect("valid");
    let rows: Vec<i64> = (0..2000).collect();
    let mut calls = 0;
    functions.minhash(&rows, &mut || calls += 1).expect("memory");
    assert!(calls >= 8, "{calls}");
}
