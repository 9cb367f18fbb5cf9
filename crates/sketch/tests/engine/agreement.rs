//! Sets that share an element, against a naive copy of the definition.

use crate::common::cases;
use minlsh_sketch::{agree, agreement_hash};
use proptest::prelude::*;

fn set() -> impl Strategy<Value = Vec<u128>> {
    let element = prop_oneof![0..20_u128, any::<u128>(), Just(u128::MAX)];
    prop::collection::btree_set(element, 0..12).prop_map(|set| set.into_iter().collect())
}

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn sets_agree_if_they_share_an_element_or_one_is_empty(a in set(), b in set()) {
        let shared = a.iter().any(|element| b.contains(element));
        prop_assert_eq!(agree(&a, &b), shared || a.is_empty() || b.is_empty());
        prop_assert_eq!(agree(&b, &a), agree(&a, &b));
        prop_assert_eq!(agreement_hash(&a) == agreement_hash(&b), a == b);
    }
}
