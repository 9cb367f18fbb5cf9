//! Packs sorted pairs of numbers into about half of their bytes.
//!
//! The first number of a pair is stored as its difference from the previous one, without low bits that are zero in the
//! whole block. The second is stored as its difference from the least of its block. Each takes as many bytes as the
//! largest of its block.

use crate::{Result, memory};

/// A value that is a pair of numbers.
pub trait Packable: Copy + Send {
    /// Makes the value of its numbers.
    fn of(first: u64, second: u64) -> Self;
    /// Its numbers.
    fn numbers(self) -> (u64, u64);
}

/// Maximum number of pairs in a block.
const BLOCK: usize = 256;
/// Size of a block's header: number of pairs less one, number of zero bits, two widths, first number of the pair before
/// the block, and least second number.
const HEAD: usize = 20;
/// Maximum size of a block.
pub const MOST_PACKED_BYTES: usize = HEAD + BLOCK * 16;
/// A number is written as eight bytes, and the next one overwrites the unused ones.
const SLACK: usize = 8;

/// Appends pairs, which ascend by their first numbers.
pub fn pack<T: Packable>(pairs: &[T], bytes: &mut Vec<u8>) -> Result<()> {
    for block in pairs.chunks(BLOCK) {
        let mut numbers = block.iter().map(|pair| pair.numbers());
        let Some((first, second)) = numbers.next() else { continue };
        let (mut bits, mut step, mut before) = (first, 0, first);
        let (mut least, mut most) = (second, second);
        for (first, second) in numbers {
            bits |= first;
            step |= first.wrapping_sub(before);
            before = first;
            (least, most) = (least.min(second), most.max(second));
        }
        let shift = bits.trailing_zeros().min(63);
        let (width, other) = (width(step >> shift), width(most - least));
        let start = bytes.len();
        let size = HEAD + block.len() * (width + other);
        memory::resize(bytes, start + size + SLACK, 0)?;
        let room = &mut bytes[start..];
        room[0] = (block.len() - 1) as u8;
        (room[1], room[2], room[3]) = (shift as u8, width as u8, other as u8);
        room[4..12].copy_from_slice(&first.to_le_bytes());
        room[12..20].copy_from_slice(&least.to_le_bytes());
        let (mut place, mut before) = (HEAD, first);
        for pair in block {
            let (first, second) = pair.numbers();
            room[place..place + 8].copy_from_slice(&(first.wrapping_sub(before) >> shift).to_le_bytes());
            place += width;
            room[place..place + 8].copy_from_slice(&(second - least).to_le_bytes());
            place += other;
            before = first;
        }
        bytes.truncate(start + size);
    }
    Ok(())
}

/// Appends at most `most` pairs, from complete blocks only. Returns the number of bytes read.
pub fn unpack<T: Packable>(bytes: &[u8], most: usize, pairs: &mut Vec<T>) -> Result<usize> {
    let end = pairs.len() + most;
    let mut start = 0;
    while let Some(head) = bytes[start..].first_chunk::<HEAD>() {
        let count = usize::from(head[0]) + 1;
        let (shift, width, other) = (head[1] & 63, usize::from(head[2]), usize::from(head[3]));
        let size = HEAD + count * (width + other);
        if bytes.len() - start < size || pairs.len() + count > end {
            break;
        }
        memory::reserve(pairs, count)?;
        let (mut first, least) = (number(head, 4), number(head, 12));
        let (mask, other_mask) = (mask(width), mask(other));
        let block = &bytes[start + HEAD..];
        pairs.extend((0..count).map(|index| {
            let place = index * (width + other);
            first = first.wrapping_add((number(block, place) & mask) << shift);
            let second = least.wrapping_add(number(block, place + width) & other_mask);
            T::of(first, second)
        }));
        start += size;
    }
    Ok(start)
}

/// The eight bytes from `place`, or as many as there are.
fn number(bytes: &[u8], place: usize) -> u64 {
    let bytes = bytes.get(place..).unwrap_or_default();
    match bytes.first_chunk() {
        Some(eight) => u64::from_le_bytes(*eight),
        None => bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)),
    }
}

/// Number of bytes that a number takes.
fn width(number: u64) -> usize {
    (u64::BITS - number.leading_zeros()).div_ceil(8) as usize
}

/// The low bits of `width` bytes.
fn mask(width: usize) -> u64 {
    u64::MAX.checked_shr(u64::BITS.saturating_sub(8 * width as u32)).unwrap_or(0)
}
