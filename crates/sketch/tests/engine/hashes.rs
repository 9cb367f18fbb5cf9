//! Hashes of elements, and how hashes are sorted.

use crate::common::{G, cases, mix64};
use minlsh_sketch::{Element, ElementHash, Keyed, SortParts, hash128, sort_by_key};
use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

#[test]
fn short_inputs_hash_as_xxhash_does() {
    let bytes: Vec<u8> = (0..64_u64).map(|i| mix64(i) as u8).collect();
    for start in 0..32 {
        for len in 0..=(64 - start).min(40) {
            let input = &bytes[start..start + len];
            assert_eq!(ElementHash::Xxh3.hash(input), xxh3_64(input), "{len} bytes");
        }
    }
}

#[test]
fn an_element_hashes_as_its_text_form() {
    for hash in [ElementHash::Xxh3, ElementHash::Sha1, ElementHash::Xxh32] {
        let text = |text: &str| Element::Text(text).hash(hash);
        for number in [0, 7, -1, i64::MIN, i64::MAX] {
            assert_eq!(Element::Integer(number).hash(hash), text(&number.to_string()));
        }
        let uuid = std::array::from_fn(|i| (17 * i) as u8);
        let written = "00112233-4455-6677-8899-aabbccddeeff";
        assert_eq!(Element::Uuid(&uuid).hash(hash), text(written));
        assert_eq!(Element::Bytes(b"\xc3\xa9").hash(hash), text("\u{e9}"));
    }
}

#[test]
fn hashes_are_the_published_ones() {
    // SHA-1 of "abc" starts with a9993e36 (FIPS 180-4).
    assert_eq!(ElementHash::Sha1.hash(b"abc"), 0x363e_99a9);
    // xxHash's own test: XXH32 of no bytes, seed 0.
    assert_eq!(ElementHash::Xxh32.hash(b""), 0x02cc_5d05);
    assert_eq!(ElementHash::Xxh3.hash(b""), 0x2d06_8005_38d3_94c2);
    // Python's xxhash.xxh3_128_hexdigest.
    assert_eq!(hash128(b""), 0x99aa_06d3_0147_98d8_6001_c324_468d_497f);
    assert_eq!(hash128(b"a"), 0xa96f_af70_5af1_6834_e6c6_32b6_1e96_4e1f);
}

/// The naive copy is SplitMix64, and the known answers show that the engine's is the same.
#[test]
fn mix64_gives_the_published_outputs_of_splitmix64() {
    // The reference program (Vigna, splitmix64.c) seeded with 1234567.
    let output = |i: u64| mix64(1_234_567_u64.wrapping_add(i.wrapping_mul(G)));
    assert_eq!(output(1), 6_457_827_717_110_365_317);
    assert_eq!(output(2), 3_203_168_211_198_807_973);
}

/// A hash, and what it is the hash of.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Hashed(u64, u64);

impl Keyed for Hashed {
    fn key(&self) -> u64 {
        self.0
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn values_are_sorted_whatever_their_keys(
        numbers in prop::collection::vec((any::<u64>(), 0_u64..9), 0..3000), range in 1_u64..5000,
        kind in 0..4,
    ) {
        // Hashes; numbers; hashes of few values; hashes that agree in their upper bits.
        let key = |number: u64| match kind {
            0 => number,
            1 => number % range,
            2 => mix64(number % range),
            _ => ((number % range) << 20) | (7 << 50),
        };
        let mut values: Vec<Hashed> = numbers.iter().map(|(n, tie)| Hashed(key(*n), *tie)).collect();
        let mut expected = values.clone();
        expected.sort_unstable();
        let mut parted = values.clone();
        let parts = SortParts::of(&parted);
        let ends = parts.bring(&mut parted, &mut || ());
        prop_assert_eq!(ends[parts.count() - 1], values.len());
        let mut start = 0;
        for end in ends {
            parted[start..end].sort_unstable();
            start = end;
        }
        prop_assert_eq!(&parted, &expected);
        sort_by_key(&mut values, &mut || ());
        prop_assert_eq!(&values, &expected);
    }
}

#[test]
fn many_hashes_are_sorted() {
    for count in [0, 1, 256, 257, 65_537, 400_000] {
        for range in [100, 70_000, u64::MAX] {
            let mut hashes: Vec<u64> = (0..count).map(|i| mix64(i % range)).collect();
            let mut expected = hashes.clone();
            expected.sort_unstable();
            sort_by_key(&mut hashes, &mut || ());
            assert!(hashes == expected, "{count} {range}");
        }
    }
}
