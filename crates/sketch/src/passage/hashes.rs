//! Hashes of the windows of a text: a polynomial in the code points, modulo 2^64, mixed.
//!
//! A block of windows is hashed by doubling, `h_2l[i] = h_l[i] * B^l + h_l[i + l]`. It has no dependency between
//! windows, so the compiler vectorises it. Indexes store minima of these values, so the values never change.

use crate::simd::Level;
use crate::{Check, MAX_MIN_MATCH, Result, memory};

/// The base of the polynomial: odd, and 5 modulo 8.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Number of windows hashed together.
pub(super) const BLOCK: usize = 1024;

/// The order of minima.
#[inline(always)]
fn mix(p: u64) -> u64 {
    let z = (p ^ p >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ z >> 29
}

/// The hash of a window, by four characters at a time, whose products are independent.
#[inline]
pub(super) fn hash(window: &[u32]) -> u64 {
    const SQUARE: u64 = BASE.wrapping_mul(BASE);
    let two = |a: u32, b: u32| u64::from(a).wrapping_mul(BASE).wrapping_add(b.into());
    let (fours, rest) = window.as_chunks();
    let p = fours.iter().fold(0_u64, |p, &[a, b, c, d]| {
        let four = two(a, b).wrapping_mul(SQUARE).wrapping_add(two(c, d));
        p.wrapping_mul(SQUARE.wrapping_mul(SQUARE)).wrapping_add(four)
    });
    mix(rest.iter().fold(p, |p, &unit| p.wrapping_mul(BASE).wrapping_add(unit.into())))
}

/// Scratch memory for hashing blocks.
pub(super) struct Scratch {
    level: Level,
    x: Vec<u64>,
    y: Vec<u64>,
}

impl Scratch {
    pub(super) fn new(level: Level) -> Result<Self> {
        let size = BLOCK + 2 * MAX_MIN_MATCH;
        Ok(Self { level, x: memory::filled(0, size)?, y: memory::filled(0, size)? })
    }

    /// The hashes of the `n` windows of `length` characters from `from`; `n` is at most [`BLOCK`].
    pub(super) fn hashes(&mut self, text: &[u32], from: usize, n: usize, length: usize) -> &[u64] {
        let level = self.level;
        level.compiled(
            #[inline(always)]
            || self.hash_block(text, from, n, length),
        );
        &self.x[..n]
    }

    /// The least hash of a gram of `k` characters in each of the `n` windows of `t` characters from `from`.
    pub(super) fn minima(&mut self, text: &[u32], from: usize, n: usize, t: usize, k: usize) -> &[u64] {
        let level = self.level;
        level.compiled(
            #[inline(always)]
            || {
                let width = t - k + 1;
                self.hash_block(text, from, n + width - 1, k);
                self.double_minima(n, width);
            },
        );
        &self.x[..n]
    }

    #[inline(always)]
    fn hash_block(&mut self, text: &[u32], from: usize, n: usize, length: usize) {
        let units = &text[from..from + n + length - 1];
        self.double(units, length);
        for x in &mut self.x[..n] {
            *x = mix(*x);
        }
    }

    /// The polynomials of all windows of `length` characters in `units`, by doubling.
    #[inline(always)]
    fn double(&mut self, units: &[u32], length: usize) {
        for (x, unit) in self.x.iter_mut().zip(units) {
            *x = (*unit).into();
        }
        let (mut have, mut power, mut left) = (1, BASE, units.len());
        for bit in (0..length.ilog2()).rev() {
            left -= have;
            let (a, b) = (&self.x[..left], &self.x[have..have + left]);
            for ((y, a), b) in self.y[..left].iter_mut().zip(a).zip(b) {
                *y = a.wrapping_mul(power).wrapping_add(*b);
            }
            (have, power) = (have * 2, power.wrapping_mul(power));
            if length >> bit & 1 == 1 {
                left -= 1;
                let (a, next) = (&self.y[..left], &units[have..have + left]);
                for ((x, a), unit) in self.x[..left].iter_mut().zip(a).zip(next) {
                    *x = a.wrapping_mul(BASE).wrapping_add((*unit).into());
                }
                (have, power) = (have + 1, power.wrapping_mul(BASE));
            } else {
                std::mem::swap(&mut self.x, &mut self.y);
            }
        }
    }

    /// The minimum of each `width` consecutive values, also by doubling.
    #[inline(always)]
    fn double_minima(&mut self, n: usize, width: usize) {
        let (mut have, mut left) = (1, n + width - 1);
        while have < width {
            let step = have.min(width - have);
            left -= step;
            let (a, b) = (&self.x[..left], &self.x[step..step + left]);
            for ((y, a), b) in self.y[..left].iter_mut().zip(a).zip(b) {
                *y = *a.min(b);
            }
            std::mem::swap(&mut self.x, &mut self.y);
            have += step;
        }
    }
}

/// Calls `each` with the hash of each window of `length` characters that starts in `range`, in order.
pub(super) fn each_hash<E>(
    text: &[u32],
    length: usize,
    range: std::ops::Range<usize>,
    scratch: &mut Scratch,
    check: Check,
    mut each: impl FnMut(usize, u64) -> Result<(), E>,
) -> Result<(), E> {
    let mut at = range.start;
    while at < range.end {
        check();
        let n = BLOCK.min(range.end - at);
        for (i, &hash) in scratch.hashes(text, at, n, length).iter().enumerate() {
            each(at + i, hash)?;
        }
        at += n;
    }
    Ok(())
}
