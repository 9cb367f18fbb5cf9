//! Every level gives what the portable one gives, operation by operation.

use super::*;
use crate::hash::mix::{GOLDEN, mix64};
use xxhash_rust::xxh3::xxh3_64;

fn random(count: usize, seed: u64) -> Vec<u64> {
    (0..count as u64).map(|i| mix64(mix64(seed) + i)).collect()
}

#[test]
fn windows_hash_as_xxhash_does() {
    let bytes: Vec<u8> = random(700, 1).iter().map(|r| *r as u8 & 127).collect();
    for level in Level::available() {
        for width in 1..=20 {
            for len in (0..120).chain([255, 256, 700]) {
                for bytes in [&bytes[..len], &bytes[bytes.len() - len..]] {
                    let expected: Vec<u64> = bytes.windows(width).map(xxh3_64).collect();
                    let mut hashes = vec![0; expected.len()];
                    level.windows(bytes, width, &mut hashes);
                    assert_eq!(hashes, expected, "{level}: {len} bytes, width {width}");
                }
            }
        }
    }
}

#[test]
fn bits_of_blocks_are_the_same_on_every_level() {
    for level in Level::available() {
        for seed in 0..99 {
            let block = std::array::from_fn(|i| (mix64(mix64(seed) + i as u64) >> 9) as u8);
            let upper = block.iter().rev().fold(0, |bits: u64, b| bits << 1 | u64::from(b >> 7));
            assert_eq!(level.upper_bits(&block), upper, "{level}");
            assert_eq!(level.classes(&block), Classes::portable(&block), "{level}");
        }
    }
}

#[test]
fn mixing_is_the_same_on_every_level() {
    for level in Level::available() {
        for count in 0..40 {
            let mut hashes = random(count, 2);
            let expected: Vec<u64> = hashes.iter().map(|h| mix64(h.wrapping_add(99))).collect();
            level.mix(&mut hashes, 99);
            assert_eq!(hashes, expected, "{level:?}");
        }
    }
}

#[test]
fn rounds_are_the_same_on_every_level() {
    for level in Level::available() {
        for (count, slots) in [(0, 1), (9, 16), (5003, 1), (700, 128), (9001, 200), (9001, 4096)] {
            let hashes = random(count, 3);
            let mut expected = vec![EMPTY; slots];
            let mut found = expected.clone();
            let mut packed = NOTHING_PACKED;
            for round in 0..7 {
                for &h in &hashes {
                    let mixed = mix64(h.wrapping_add(u64::from(round).wrapping_mul(GOLDEN)));
                    let z = if round == 0 { h } else { mixed };
                    let slot = &mut expected[(((z >> 32) * slots as u64) >> 32) as usize];
                    *slot = (*slot).min(round << 28 | z as u32 >> 4);
                }
                level.scatter_min(&hashes, round, &mut found, &mut packed);
                assert!(found == expected, "{level}: {count} hashes, {slots} slots, {round}");
            }
        }
    }
}

#[test]
fn affine_minima_are_the_same_on_every_level() {
    for level in Level::available() {
        for slots in [0, 16, 48, 64, 80, 176] {
            let word = |seed| random(slots, seed).iter().map(|r| *r as u32).collect();
            let (a, b): (Vec<u32>, Vec<u32>) = (word(5), word(6));
            let hashes = random(77, 7);
            let value = |(a, b): (&u32, &u32), h: u64| a.wrapping_mul(h as u32).wrapping_add(*b);
            let least = |pair| hashes.iter().map(|&h| value(pair, h)).min().unwrap();
            let expected: Vec<u32> = a.iter().zip(&b).map(least).collect();
            let mut minima = vec![u32::MAX; slots];
            level.affine_min(&hashes, &a, &b, &mut minima);
            assert_eq!(minima, expected, "{level:?}");
        }
    }
}
