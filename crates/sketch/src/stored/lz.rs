//! Undoes a compression of the family of Lempel and Ziv (1977), with copies from the last 4 kB.
//!
//! A byte of eight bits, the lowest first, says what the next eight items are. A zero stands for a byte that is
//! what it is. A one stands for a copy of what is there already:
//!
//! | bytes | what |
//! |---|---|
//! | 1 | in its lower half the length less 3, in its upper half the upper bits of the distance |
//! | 1 | the lower bits of the distance, which is from 1 to 4095 |
//! | 1 if the lower half was 15 | more length, for 18 to 273 in all |
//!
//! A copy may overlap what it makes: a distance of 1 repeats a byte.

use crate::error::Error;

/// The length at which a third byte says how much longer a copy is.
const EXTENDED: usize = 18;

/// Bytes that are copied at a time where nothing overlaps and there is room for them.
const BLOCK: usize = 16;

/// The most bytes that a byte of compressed data stands for: eight copies of 273 take 25 bytes.
pub const MOST: usize = 88;

/// Fills `out` with what was compressed to `source`: all of that, and no more.
pub fn decompress(source: &[u8], out: &mut [u8]) -> Result<(), Error> {
    let (mut rest, mut at) = (source, 0);
    while at < out.len()
        && let Some((&first, items)) = rest.split_first()
    {
        rest = items;
        let mut control = first;
        if control == 0
            && let (Some((bytes, after)), Some(room)) =
                (rest.split_first_chunk::<8>(), out[at..].first_chunk_mut())
        {
            *room = *bytes;
            (rest, at) = (after, at + bytes.len());
            continue;
        }
        for _ in 0..8 {
            if at == out.len() || rest.is_empty() {
                break;
            }
            if control & 1 == 0 {
                (out[at], rest) = (rest[0], &rest[1..]);
                at += 1;
            } else {
                let (distance, length) = copy_of(&mut rest).ok_or(Error::Damaged)?;
                if distance == 0 || distance > at {
                    return Err(Error::Damaged);
                }
                at = copy(out, at, distance, length);
            }
            control >>= 1;
        }
    }
    if at == out.len() && rest.is_empty() { Ok(()) } else { Err(Error::Damaged) }
}

/// Takes the distance and the length of a copy off the compressed data.
fn copy_of(rest: &mut &[u8]) -> Option<(usize, usize)> {
    let (&[first, second], mut after) = rest.split_first_chunk()?;
    let (first, second) = (usize::from(first), usize::from(second));
    let mut length = (first & 0x0F) + 3;
    if length == EXTENDED {
        let (&more, others) = after.split_first()?;
        (length, after) = (length + usize::from(more), others);
    }
    *rest = after;
    Some(((first & 0xF0) << 4 | second, length))
}

/// Copies to `at` what begins so far before it, as much as there is room for; returns the end.
fn copy(out: &mut [u8], at: usize, distance: usize, length: usize) -> usize {
    let start = at - distance;
    if distance >= BLOCK
        && length <= BLOCK
        && let Some(room) = out.get(start..at + BLOCK)
        && let Some(block) = room.first_chunk::<BLOCK>().copied()
    {
        // What is written behind the copy is written again.
        out[at..at + BLOCK].copy_from_slice(&block);
        return at + length;
    }
    let end = (at + length).min(out.len());
    let mut made = at;
    while made < end {
        // All that is there from the start on repeats.
        let count = (end - made).min(made - start);
        out.copy_within(start..start + count, made);
        made += count;
    }
    end
}
