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
fn ranges_hash_as_xxhash_does() {
    let bytes: Vec<u8> = random(4000, 8).iter().map(|r| *r as u8).collect();
    for level in Level::available() {
        for seed in 0..200 {
            // Of one class of lengths, of two, and of all, the longest beyond any kernel.
            let longest = [1, 3, 8, 16, 17, 40, 300][seed as usize % 7];
            let least = if seed % 2 == 0 { 0 } else { longest / 2 };
            let mut ranges = Vec::new();
            let mut at = seed as u32 % 11;
            for r in random(seed as usize * 3 % 171, seed) {
                let length = least + r as u32 % (longest - least + 1);
                ranges.push((at, at + length));
                at += r as u32 >> 8 & 15;
            }
            let end = ranges.iter().map(|(_, end)| *end).max().unwrap_or(0);
            ranges.sort_by_key(|(start, end)| (*end, *start));
            ranges.dedup_by(|b, a| a.0 > b.0);
            let (starts, ends): (Vec<u32>, Vec<u32>) = ranges.iter().copied().unzip();
            // Next to the end of the memory, and not.
            for slack in [0, 3, 8, 100] {
                let bytes = &bytes[..end as usize + slack];
                let hash =
                    |(start, end): &(u32, u32)| xxh3_64(&bytes[*start as usize..*end as usize]);
                let expected: Vec<u64> = ranges.iter().map(hash).collect();
                let mut hashes = vec![0; ranges.len()];
                level.ranges(bytes, &starts, &ends, &mut hashes);
                assert_eq!(hashes, expected, "{level}: {seed}, {slack}");
            }
        }
    }
}

#[test]
fn positions_are_those_of_the_bits() {
    for level in Level::available() {
        for bits in random(200, 9).into_iter().chain([0, u64::MAX, 1, 1 << 63]) {
            for bits in [bits, bits & bits >> 7 & bits >> 20, bits | bits << 9] {
                let mut found = [0; 64];
                let count = level.positions(bits, 1000, &mut found);
                let expected: Vec<u32> =
                    (0..64).filter(|i| bits >> i & 1 == 1).map(|i| 1000 + i).collect();
                assert_eq!(found[..count], expected, "{level}: {bits:x}");
            }
        }
    }
}

#[test]
fn hashes_are_parted_by_the_bits_of_a_filter() {
    for level in Level::available() {
        for seed in 0..200 {
            let hashes = random(seed as usize * 7 % 257, seed);
            let mut filter = vec![0; 1 << (seed % 7)];
            for hash in hashes.iter().filter(|hash| **hash % 3 == seed % 3) {
                let (word, bit) = place_in_filter(*hash, &filter);
                filter[word] |= bit;
            }
            let is_set = |hash: &u64| {
                let (word, bit) = place_in_filter(*hash, &filter);
                filter[word] & bit > 0
            };
            let (with, without): (Vec<u64>, Vec<u64>) =
                hashes.iter().partition(|hash| is_set(hash));
            let (mut parted, mut others) = (hashes.clone(), NOTHING_PACKED);
            let (count, other) = level.part(&mut parted, &filter, &mut others);
            assert_eq!(
                (&parted[..count], &others[..other]),
                (&without[..], &with[..]),
                "{level}: {seed}"
            );
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
            let is_letter = |byte: &u8| byte.is_ascii_alphabetic();
            let letters =
                (0..64).filter(|i| is_letter(&block[*i])).fold(0, |bits, i| bits | 1_u64 << i);
            assert_eq!(WordClasses::of(level, &block).letters, letters, "{level}");
        }
    }
}

#[test]
fn members_of_sets_are_the_same_on_every_level() {
    for seed in 0..99 {
        let words: [u64; 56] = std::array::from_fn(|i| mix64(mix64(seed) + i as u64));
        let set = CharSet {
            two: std::array::from_fn(|i| words[i]),
            three: std::array::from_fn(|i| words[32 + i]),
            single: std::array::from_fn(|i| words[48 + i]),
        };
        let text: String = random(32, seed)
            .iter()
            .map(|r| match r >> 61 {
                4.. => 0x1E20 + *r as u32 % 0x240,
                length => (*r as u32 >> 8) >> [25 - 8, 21 - 8, 16 - 8, 11 - 8][length as usize],
            })
            .filter_map(char::from_u32)
            .collect();
        let block: &[u8; CLASSES_BLOCK] = text.as_bytes().first_chunk().unwrap_or(&[0; 64]);
        let of_length = |length: usize| {
            let starts = text.char_indices().filter(|(at, c)| {
                c.len_utf8() == length && at + length <= CLASSES_BLOCK && block[*at] != 0
            });
            starts.collect::<Vec<_>>()
        };
        let bits =
            |chars: &[(usize, char)]| chars.iter().fold(0, |bits, (at, _)| bits | 1_u64 << at);
        let (two, three) = (of_length(2), of_length(3));
        let has =
            |words: &[u64], number: u32| words[number as usize / 64] >> (number % 64) & 1 == 1;
        let mut expected: Vec<(usize, char)> = two.clone();
        expected.retain(|(_, c)| has(&set.two, u32::from(*c)));
        expected.extend(three.iter().filter(|(_, c)| {
            let code = u32::from(*c);
            match (0x1E40..0x2040).contains(&code) {
                true => has(&set.single, code - 0x1E40),
                false => has(&set.three, code / 64),
            }
        }));
        for level in Level::available() {
            let found = level.members(block, bits(&two), bits(&three), &set);
            assert_eq!(found, bits(&expected), "{level}: {text}");
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
