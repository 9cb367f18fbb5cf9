//! The part that window kernels share: how bytes are spread over lanes, and the end
//! of the text.
//!
//! A kernel hashes eight windows per step. All eight are among 16 consecutive
//! bytes (or, above 8 bytes of width, among two such groups), so one load and
//! one byte shuffle bring to each 64-bit lane what XXH3 reads of its window.

use crate::hash::xxh3;

/// The widest window with a kernel.
pub(super) const MAX_WIDTH: usize = 16;

/// The bytes that a kernel may read from the first window of a step on.
pub(super) const READ_AHEAD: usize = 32;

/// Windows per step.
pub(super) const STEP: usize = 8;

/// `CONTROL[width]`: for each of eight consecutive windows of this width, the
/// offsets of the bytes that XXH3 combines into its first 64-bit word, the
/// least significant first; 0x80 is a zero byte. In the order of 128-bit lanes,
/// each of which sees the same 16 bytes.
pub(super) static CONTROL: [[u8; 64]; MAX_WIDTH + 1] = {
    let mut control = [[0; 64]; MAX_WIDTH + 1];
    let mut width = 1;
    while width <= MAX_WIDTH {
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

/// The byte of a window that stands at `byte` of its first word.
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
        // The first eight; the kernel finds the last eight by itself.
        _ => Some(byte),
    }
}

/// Runs `kernel` on all windows; windows too wide for it go the portable way.
///
/// The kernel wants a multiple of [`STEP`] windows and [`READ_AHEAD`] bytes
/// from the last step on: the end of the text is copied to where there are.
pub(super) fn padded(
    bytes: &[u8],
    width: usize,
    out: &mut [u64],
    kernel: impl Fn(&[u8], &mut [u64]),
) {
    if width > MAX_WIDTH {
        return xxh3::windows(bytes, width, out);
    }
    // The first `direct` windows can be hashed where they are.
    let roomy = (bytes.len() + STEP).saturating_sub(READ_AHEAD) / STEP * STEP;
    let direct = roomy.min(out.len() / STEP * STEP);
    let (head, tail) = out.split_at_mut(direct);
    kernel(bytes, head);
    if tail.is_empty() {
        return;
    }

    // Fewer than 32 bytes are left: less than 8 windows and their 15 further
    // bytes, or less than a kernel may read.
    let left = &bytes[direct..direct + tail.len() + width - 1];
    let mut end = [0; READ_AHEAD + READ_AHEAD];
    let mut hashes = [0; READ_AHEAD];
    end[..left.len()].copy_from_slice(left);
    kernel(&end, &mut hashes[..tail.len().next_multiple_of(STEP)]);
    tail.copy_from_slice(&hashes[..tail.len()]);
}
