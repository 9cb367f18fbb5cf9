//! Packed pairs of numbers.

use minlsh_sketch::{MOST_PACKED_BYTES, Packable, pack, unpack};
use proptest::prelude::*;

use crate::common::{cases, mix64};

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Pair(u64, u64);

impl Packable for Pair {
    fn of(first: u64, second: u64) -> Self {
        Self(first, second)
    }

    fn numbers(self) -> (u64, u64) {
        (self.0, self.1)
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn what_is_packed_comes_back(
        numbers in prop::collection::vec((any::<u64>(), any::<u64>()), 0..1500), shift in 0..64_u32,
        other in 0..64_u32, kind in 0..3, most in 256..1000_usize, piece in MOST_PACKED_BYTES..20_000,
    ) {
        let mut pairs: Vec<Pair> = numbers
            .iter()
            .map(|&(first, second)| match kind {
                0 => Pair(first, second),
                1 => Pair(first << shift, second >> other),
                _ => Pair(mix64(first % 9), 1 << other),
            })
            .collect();
        pairs.sort_unstable();
        let mut bytes = Vec::new();
        pack(&pairs, &mut bytes).unwrap();
        let (mut back, mut start) = (Vec::<Pair>::new(), 0);
        while start < bytes.len() {
            let before = back.len();
            let some = &bytes[start..bytes.len().min(start + piece)];
            start += unpack(some, most, &mut back).unwrap();
            prop_assert!(back.len() > before && back.len() <= before + most);
        }
        prop_assert_eq!(back, pairs);
    }
}

#[test]
fn hashes_of_a_run_take_half_of_their_bytes() {
    // As of an index: 48 bits of hash, and rows of five a page.
    let of = |i: u64| Pair(mix64(i) & !0xffff, (i / 5) << 16 | (i % 5 + 1));
    let mut pairs: Vec<Pair> = (0..1_000_000).map(of).collect();
    pairs.sort_unstable();
    let mut bytes = Vec::new();
    pack(&pairs, &mut bytes).unwrap();
    assert!(bytes.len() < 10 * pairs.len(), "{}", bytes.len());
}
