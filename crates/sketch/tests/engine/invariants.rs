//! Invariants of signatures, and what can be made from signatures.

use crate::common::{cases, config, mix64};
use minlsh_sketch::{Scheme, Sketcher, estimate_jaccard, unite};
use proptest::prelude::*;

fn sets() -> impl Strategy<Value = Vec<u64>> {
    let range = prop_oneof![1_u64..40, 1_u64..3000];
    (range, any::<u64>())
        .prop_map(|(count, seed)| (0..count).map(|i| mix64(mix64(seed).wrapping_add(i % 2000))).collect())
}

fn sketch(scheme: &str, num_perm: i64, hashes: &[u64]) -> Vec<i32> {
    let mut sketcher = Sketcher::new(config(scheme, num_perm, "char", 5, 0));
    sketcher.sketch_hashes(hashes, &mut || ()).unwrap().unwrap().to_vec()
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn order_and_repeats_do_not_matter(set in sets(), num_perm in 1_i64..300) {
        let mut other = set.clone();
        other.reverse();
        other.extend_from_slice(&set[..set.len() / 2]);
        for scheme in Scheme::ALL.map(Scheme::as_str) {
            prop_assert_eq!(sketch(scheme, num_perm, &set), sketch(scheme, num_perm, &other));
        }
    }

    #[test]
    fn the_union_of_signatures_is_the_signature_of_the_union(
        a in sets(), b in sets(), num_perm in 1_i64..300,
    ) {
        let both = [&a[..], &b].concat();
        for name in Scheme::ALL.map(Scheme::as_str) {
            let (mut united, b) = (sketch(name, num_perm, &a), sketch(name, num_perm, &b));
            prop_assert_eq!(unite(&mut united, &b), Ok(()));
            prop_assert_eq!(united, sketch(name, num_perm, &both));
        }
    }

    #[test]
    fn fewer_permutations_are_a_prefix(set in sets(), few in 1_i64..100, more in 100_i64..200) {
        for scheme in ["permutations", "datasketch_legacy"] {
            let few = sketch(scheme, few, &set);
            let more = sketch(scheme, more, &set);
            prop_assert_eq!(&few[..], &more[..few.len()]);
        }
    }

    #[test]
    fn the_estimate_is_symmetric(a in sets(), b in sets()) {
        let (a, b) = (sketch("fss", 64, &a), sketch("fss", 64, &b));
        prop_assert_eq!(estimate_jaccard(&a, &b), estimate_jaccard(&b, &a));
        prop_assert_eq!(estimate_jaccard(&a, &a), Ok(1.0));
    }

    #[test]
    fn fss_slots_are_not_negative(set in sets(), num_perm in 1_i64..300) {
        prop_assert!(sketch("fss", num_perm, &set).iter().all(|slot| *slot >= 0));
    }
}

#[test]
fn a_seed_changes_the_signature_but_not_the_similarity_of_equal_sets() {
    let set: Vec<u64> = (0..500).map(mix64).collect();
    let signature = |seed| {
        let mut sketcher = Sketcher::new(config("fss", 128, "char", 5, seed));
        sketcher.sketch_hashes(&set, &mut || ()).unwrap().unwrap().to_vec()
    };
    let similarity = |a, b| estimate_jaccard(&signature(a), &signature(b)).unwrap();
    assert!(similarity(0, 1) < 0.1 && similarity(1, 2) < 0.1);
    assert_eq!(similarity(7, 7), 1.0);
}

#[test]
fn no_element_gives_no_signature() {
    for scheme in Scheme::ALL.map(Scheme::as_str) {
        let mut sketcher = Sketcher::new(config(scheme, 16, "char", 5, 0));
        assert!(sketcher.sketch_hashes(&[], &mut || ()).unwrap().is_none());
    }
}
