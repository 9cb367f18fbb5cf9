//! Every level gives what the portable one gives, operation by operation.

use super::*;
use crate::mix::mix64;
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
                    let mut hashes = vec![7];
                    level.windows(bytes, width, &mut hashes);
                    let expected = bytes.windows(width).map(xxh3_64);
                    assert!(
                        hashes.iter().copied().eq([7].into_iter().chain(expected)),
                        "{level:?}: {len} bytes, width {width}"
                    );
                }
            }
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
fn scattering_is_the_same_on_every_level() {
    for level in Level::available() {
        for (count, slots) in [(0, 1), (9, 16), (5003, 1), (30_011, 128), (40_000, 4096)] {
            for round in [0, 3] {
                let draws = random(count, 3);
                let mut expected = vec![EMPTY; slots];
                for &draw in &draws {
                    let slot = &mut expected[((draw >> 32) * slots as u64 >> 32) as usize];
                    *slot = (*slot).min(round << 28 | draw as u32 >> 4);
                }
                let mut found = vec![EMPTY; slots];
                level.scatter_min(&draws, round, &mut found);
                assert!(found == expected, "{level:?}: {count} draws, {slots} slots");
            }
        }
    }
}

#[test]
fn filtering_keeps_what_is_below() {
    for level in Level::available() {
        for count in [0, 1, 7, 8, 9, 511, 512] {
            for limit in [0, 1, 1 << 20, 1 << 31, u32::MAX] {
                let draws = random(count, 4);
                let mut survivors = [0; BLOCK + 8];
                let kept = level.below(&draws, limit, &mut survivors);
                let expected = draws.iter().filter(|draw| (**draw as u32) < limit);
                assert!(survivors[..kept].iter().eq(expected), "{level:?}");
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
