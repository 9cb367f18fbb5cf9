//! The part that kernels for ranges of unequal length share: how the bytes that XXH3 reads of each come
//! into arrays, from where vectors take them.
//!
//! Of up to 16 bytes, XXH3 reads nothing beyond the first eight and the last eight. So two loads
//! for each range bring what any of the formulas wants, and where a range is shorter than eight
//! bytes, the load reaches into its neighbours, which the formula then leaves out.

use crate::hash::xxh3;

/// Ranges whose bytes are fetched before vectors hash them.
pub(super) const GROUP: usize = 64;

/// The longest range with a kernel.
pub(super) const MAX_LENGTH: u64 = 16;

/// The parts of a group of ranges that are read.
pub(super) struct Fetched {
    /// The eight bytes from the start of each on.
    pub(super) low: [u64; GROUP],
    /// The eight bytes up to its end.
    pub(super) high: [u64; GROUP],
    pub(super) length: [u64; GROUP],
}

/// Runs `kernel` on groups of ranges, and hashes by itself those that a group cannot have: next to
/// the ends of `bytes`, where eight bytes cannot be read, and longer than a kernel takes.
///
/// The kernel hashes as many as `out` has, a multiple of eight.
#[inline(always)]
pub(super) fn grouped(
    bytes: &[u8],
    starts: &[u32],
    ends: &[u32],
    out: &mut [u64],
    kernel: impl Fn(&Fetched, &mut [u64]),
) {
    /// Of a kernel's vectors.
    const LANES: usize = 8;
    let one = |start: u32, end: u32| xxh3::hash(&bytes[start as usize..end as usize]);
    let count = out.len();
    let (starts, ends) = (&starts[..count], &ends[..count]);
    let last = bytes.len().saturating_sub(8);
    let head = ends.iter().take_while(|end| **end < 8).count();
    let tail = starts[head..].iter().rev().take_while(|start| **start as usize > last).count();
    let whole = head + (count - head - tail) / LANES * LANES;
    for i in (0..head).chain(whole..count) {
        out[i] = one(starts[i], ends[i]);
    }
    let middle = head..whole;
    let (starts, ends, out) = (&starts[middle.clone()], &ends[middle.clone()], &mut out[middle]);
    let most = |numbers: &[u32]| numbers.iter().fold(0, |most, n| most.max(*n)) as usize;
    let least_end = ends.iter().fold(8, |least, end| least.min(*end));
    let fit = starts.is_empty()
        || bytes.len() >= 8 && most(starts) <= last && most(ends) <= bytes.len() && least_end >= 8;
    assert!(fit, "ranges in ascending order, within the bytes");

    let mut fetched = Fetched { low: [0; GROUP], high: [0; GROUP], length: [0; GROUP] };
    let groups = starts.chunks(GROUP).zip(ends.chunks(GROUP)).zip(out.chunks_mut(GROUP));
    for ((starts, ends), out) in groups {
        let mut longest = 0;
        for (i, (&start, &end)) in starts.iter().zip(ends).enumerate() {
            // SAFETY: each start has eight bytes from it on, each end eight before it: asserted.
            let (low, high) = unsafe {
                let first = bytes.as_ptr();
                let low = first.add(start as usize).cast::<[u8; 8]>().read();
                let high = first.add(end as usize - 8).cast::<[u8; 8]>().read();
                (low, high)
            };
            let length = u64::from(end.wrapping_sub(start));
            fetched.low[i] = u64::from_le_bytes(low);
            fetched.high[i] = u64::from_le_bytes(high);
            fetched.length[i] = length;
            longest = longest.max(length.wrapping_sub(1));
        }
        kernel(&fetched, out);
        if longest >= MAX_LENGTH {
            for (i, (start, end)) in starts.iter().zip(ends).enumerate() {
                if fetched.length[i].wrapping_sub(1) >= MAX_LENGTH {
                    out[i] = one(*start, *end);
                }
            }
        }
    }
}

/// Runs `kernel` on eight ranges at a time. It returns the lanes that it left out, if it could
/// hash any; the portable way does the others.
#[inline(always)]
pub(super) fn eights(
    bytes: &[u8],
    starts: &[u32],
    ends: &[u32],
    out: &mut [u64],
    kernel: impl Fn(&[u32; 8], &[u32; 8], &mut [u64; 8]) -> Option<u8>,
) {
    let one = |start: u32, end: u32| xxh3::hash(&bytes[start as usize..end as usize]);
    let count = out.len();
    let (starts, last_starts) = starts[..count].as_chunks();
    let (ends, last_ends) = ends[..count].as_chunks();
    let (out, last) = out.as_chunks_mut();
    for ((starts, ends), out) in starts.iter().zip(ends).zip(out) {
        let mut left = kernel(starts, ends, out).unwrap_or(u8::MAX);
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            out[lane] = one(starts[lane], ends[lane]);
            left &= left - 1;
        }
    }
    for ((start, end), out) in last_starts.iter().zip(last_ends).zip(last) {
        *out = one(*start, *end);
    }
}
