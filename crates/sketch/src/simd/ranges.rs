//! The common part of the kernels for windows and for ranges of different lengths: moving the bytes that XXH3 reads to
//! lanes of vectors, and handling what a kernel cannot read.
//!
//! A kernel for windows hashes eight in a step. They are within 16 consecutive bytes (or, for windows longer than 8
//! bytes, within two such groups), so one load and one byte shuffle move the bytes that XXH3 reads to each 64-bit lane.
//!
//! For ranges of up to 16 bytes, XXH3 reads only the first and the last eight bytes. So two loads for each range get
//! the input of any formula. If a range is shorter than eight bytes, the load includes adjacent bytes, which the
//! formula ignores.

use crate::hash::xxh3;

/// Maximum length of a window or range with a kernel.
pub(super) const MAX_LENGTH: usize = 16;

/// Bytes that a kernel may read from the first window of a step.
pub(super) const READ_AHEAD: usize = 32;

/// Windows in a step.
pub(super) const STEP: usize = 8;

/// `CONTROL[width]`: for each of eight consecutive windows of this width, the offsets of the bytes that XXH3 combines
/// into its first 64-bit word, the least significant first; 0x80 is a zero byte. It is in the order of 128-bit lanes,
/// which all have the same 16 bytes.
pub(super) static CONTROL: [[u8; 64]; MAX_LENGTH + 1] = {
    let mut control = [[0; 64]; MAX_LENGTH + 1];
    let mut width = 1;
    while width <= MAX_LENGTH {
        let mut window = 0;
        while window < STEP {
            let mut byte = 0;
            while byte < 8 {
                control[width][8 * window + byte] = match offset(width, byte) {
                    Some(offset) => (window + offset) as u8,
                    None => 0x80,
                };
                byte += 1;
            }
            window += 1;
        }
        width += 1;
    }
    control
};

/// Reverses the bytes of each 64-bit lane.
pub(super) static REVERSE: [u8; 64] = {
    let mut control = [0; 64];
    let mut i = 0;
    while i < 64 {
        control[i] = (i % 16) as u8 ^ 7;
        i += 1;
    }
    control
};

/// The byte of a window at position `byte` of its first word.
const fn offset(width: usize, byte: usize) -> Option<usize> {
    match (width, byte) {
        // Last byte, (the width), first byte, middle byte.
        (1..4, 0) => Some(width - 1),
        (1..4, 2) => Some(0),
        (1..4, 3) => Some(width >> 1),
        (1..4, _) => None,
        // The last four bytes below the first four.
        (4..9, 0..4) => Some(width - 4 + byte),
        (4..9, _) => Some(byte - 4),
        // The first eight bytes; the kernel gets the last eight itself.
        _ => Some(byte),
    }
}

/// Runs `kernel` on all windows; windows that are too wide for it take the portable form.
///
/// The kernel needs a multiple of [`STEP`] windows and [`READ_AHEAD`] bytes from the last step on, so the end of the
/// text is copied to a padded buffer.
pub(super) fn padded(bytes: &[u8], width: usize, out: &mut [u64], kernel: impl Fn(&[u8], &mut [u64])) {
    if width > MAX_LENGTH {
        return xxh3::windows(bytes, width, out);
    }
    // The first `direct` windows can be hashed in place.
    let roomy = (bytes.len() + STEP).saturating_sub(READ_AHEAD) / STEP * STEP;
    let direct = roomy.min(out.len() / STEP * STEP);
    let (head, tail) = out.split_at_mut(direct);
    kernel(bytes, head);
    if tail.is_empty() {
        return;
    }

    // Fewer than 32 bytes are left: less than 8 windows with 15 further bytes, or less than a kernel may read.
    let left = &bytes[direct..direct + tail.len() + width - 1];
    let mut end = [0; READ_AHEAD + READ_AHEAD];
    let mut hashes = [0; READ_AHEAD];
    end[..left.len()].copy_from_slice(left);
    kernel(&end, &mut hashes[..tail.len().next_multiple_of(STEP)]);
    tail.copy_from_slice(&hashes[..tail.len()]);
}

/// Number of ranges whose bytes are fetched before vectors hash them.
pub(super) const GROUP: usize = 64;

/// The parts of ranges that a kernel reads.
pub(super) struct Fetched {
    /// The first eight bytes from the start of each range.
    pub(super) low: [u64; GROUP],
    /// The last eight bytes before its end.
    pub(super) high: [u64; GROUP],
    pub(super) length: [u64; GROUP],
}

/// Runs `kernel` on groups of ranges. Hashes other ranges itself: near the ends of `bytes`, where eight bytes cannot be
/// read, and ranges that are too long for a kernel.
///
/// The kernel hashes `out.len()` ranges, a multiple of eight.
#[inline(always)]
pub(super) fn grouped(
    bytes: &[u8],
    starts: &[u32],
    ends: &[u32],
    out: &mut [u64],
    kernel: impl Fn(&Fetched, &mut [u64]),
) {
    /// Lanes of a kernel's vectors.
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
    let fit =
        starts.is_empty() || bytes.len() >= 8 && most(starts) <= last && most(ends) <= bytes.len() && least_end >= 8;
    assert!(fit, "ranges in ascending order, within the bytes");

    let mut fetched = Fetched { low: [0; GROUP], high: [0; GROUP], length: [0; GROUP] };
    let groups = starts.chunks(GROUP).zip(ends.chunks(GROUP)).zip(out.chunks_mut(GROUP));
    for ((starts, ends), out) in groups {
        let mut longest = 0;
        for (i, (&start, &end)) in starts.iter().zip(ends).enumerate() {
            // SAFETY: each start has eight bytes after it, and each end has eight before it, as asserted above.
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
        if longest >= MAX_LENGTH as u64 {
            for (i, (start, end)) in starts.iter().zip(ends).enumerate() {
                if fetched.length[i].wrapping_sub(1) >= MAX_LENGTH as u64 {
                    out[i] = one(*start, *end);
                }
            }
        }
    }
}

/// Runs `kernel` on eight ranges at a time. It returns the lanes that it left out, or `None` if it could hash none; the
/// portable form hashes the others.
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
