//! Texts as a database stores them.

use minlsh_sketch::Error;
use minlsh_sketch::stored::{Packing, StoredBytes, byte_of, is_of_byte, text};
use proptest::prelude::*;

use crate::common::{cases, is_thorough};

/// Compresses bytes in the most naive way: each copy is the longest that a look at all distances
/// finds, up to `most` bytes.
fn lz(bytes: &[u8], most: usize) -> Vec<u8> {
    let mut items: Vec<(bool, Vec<u8>)> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let length = |distance: usize| {
            let alike = |made: &usize| bytes[at + made] == bytes[at + made - distance];
            (0..(bytes.len() - at).min(most)).take_while(alike).count()
        };
        let copies = (1..=at.min(4095)).map(|distance| (length(distance), distance));
        let (length, distance) = copies.max().unwrap_or_default();
        if length < 3 {
            items.push((false, vec![bytes[at]]));
            at += 1;
            continue;
        }
        let short = (length - 3).min(15);
        let mut item = vec![(distance >> 8 << 4 | short) as u8, distance as u8];
        if short == 15 {
            item.push((length - 18) as u8);
        }
        items.push((true, item));
        at += length;
    }
    let mut out = Vec::new();
    for eight in items.chunks(8) {
        out.push((0..).zip(eight).map(|(bit, (is_copy, _))| u8::from(*is_copy) << bit).sum());
        eight.iter().for_each(|(_, item)| out.extend(item));
    }
    out
}

fn unpacked(bytes: &[u8], size: usize) -> Result<Vec<u8>, Error> {
    let packing = Packing::lz(size).expect("a size");
    // What the room held before does not matter.
    let mut room = vec![b'x'; 7];
    StoredBytes { bytes, packing }.unpacked(&mut room).map(<[u8]>::to_vec)
}

/// Bytes with repeats near and far, short and long.
fn repetitive() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        "[a-c]{1,40}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 1..60),
        (any::<u8>(), 1..400_usize).prop_map(|(byte, count)| vec![byte; count]),
    ];
    (prop::collection::vec(part, 1..12), prop::collection::vec(any::<prop::sample::Index>(), 1..60))
        .prop_map(|(parts, order)| order.iter().flat_map(|place| place.get(&parts).clone()).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if is_thorough() { 150 } else { 40 }, ..cases(150) })]

    #[test]
    fn what_was_compressed_comes_back(bytes in repetitive(), most in 3..=273_usize) {
        let packed = lz(&bytes, most);
        prop_assert_eq!(unpacked(&packed, bytes.len()), Ok(bytes.clone()));
        // Of another length it is nothing; nor is a part of it.
        prop_assert_eq!(unpacked(&packed, bytes.len() + 1), Err(Error::Damaged));
        prop_assert_eq!(unpacked(&packed[..packed.len() - 1], bytes.len()), Err(Error::Damaged));
    }

    #[test]
    fn damaged_bytes_are_refused_or_are_of_that_length(
        bytes in repetitive(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..9),
    ) {
        let mut packed = lz(&bytes, 273);
        for (place, byte) in damage {
            *place.get_mut(&mut packed) = byte;
        }
        if let Ok(found) = unpacked(&packed, bytes.len()) {
            prop_assert_eq!(found.len(), bytes.len());
        }
    }

    #[test]
    fn anything_is_refused_or_is_of_that_length(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        size in 1..3000_usize,
    ) {
        if let Ok(found) = unpacked(&bytes, size) {
            prop_assert_eq!(found.len(), size);
        }
    }

    #[test]
    fn any_bytes_are_a_text_of_their_own(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let found = text(&bytes).expect("memory");
        let mut back = Vec::new();
        for c in found.chars() {
            match is_of_byte(c) {
                true => back.push(byte_of(c)),
                false => back.extend(c.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
        prop_assert_eq!(back, bytes);
    }
}

#[test]
fn the_longest_copies_come_back() {
    // 273 bytes a copy: the most that a byte of compressed data stands for.
    let zeros = vec![0; 50_000];
    let packed = lz(&zeros, 273);
    assert!(packed.len() < 640, "{}", packed.len());
    assert_eq!(unpacked(&packed, zeros.len()), Ok(zeros));
}

#[test]
fn sizes_that_nothing_can_have_take_no_memory() {
    for size in [(1 << 30) - 1, 1 << 20] {
        assert_eq!(unpacked(&[0; 100], size), Err(Error::Damaged));
    }
    assert_eq!(Packing::lz(0), None);
    assert_eq!(unpacked(&[], 1), Err(Error::Damaged));
}

#[test]
fn a_database_compressed_this() {
    // 200 times "near-duplicate " and "documents", as a database has stored it.
    let packed = [
        0x00, 0x6E, 0x65, 0x61, 0x72, 0x2D, 0x64, 0x75, 0x70, 0x80, 0x6C, 0x69, 0x63, 0x61, 0x74, 0x65, 0x20, 0x0F,
        0x0F, 0xFF, 0xFF, 0x0F, 0x0F, 0xFF, 0x0F, 0x0F, 0xFF, 0x0F, 0x0F, 0xFF, 0x0F, 0x0F, 0xFF, 0x0F, 0x0F, 0xFF,
        0x0F, 0x0F, 0xFF, 0x0F, 0x0F, 0xFF, 0x0F, 0x0F, 0xFF, 0x03, 0x0F, 0x0F, 0xFF, 0x0F, 0x0F, 0xED, 0x64, 0x6F,
        0x63, 0x75, 0x6D, 0x65, 0x00, 0x6E, 0x74, 0x73,
    ];
    let whole = "near-duplicate ".repeat(200) + "documents";
    assert_eq!(unpacked(&packed, whole.len()), Ok(whole.into_bytes()));
}
