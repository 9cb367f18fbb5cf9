//! Sorts hashes and values with hashes, and counts distinct hashes.

use std::cmp::Ordering;

use crate::{Check, Result, memory};

/// Maximum number of bits in a digit: the positions of its values fit the first-level cache.
const MOST_BITS: u32 = 10;

const BUCKETS: usize = 1 << MOST_BITS;

/// Amount of work between two calls of `check`.
const RUN: usize = 1 << 16;

/// A value that sorts by a number first, usually a hash: a greater number makes a greater value.
pub trait Keyed: Copy + Ord + Send {
    /// The number.
    fn key(&self) -> u64;
}

impl Keyed for u64 {
    fn key(&self) -> u64 {
        *self
    }
}

/// The bits of keys that partition values. Each part can be sorted alone, because its values are less than the next
/// part's.
#[derive(Clone, Copy, Debug)]
pub struct SortParts {
    shift: u32,
    bits: u32,
}

impl SortParts {
    /// Chooses a partition of values with uniform keys into some hundred parts, or into parts of about eight values if
    /// there are fewer (American flag sort; McIlroy, Bostic, McIlroy 1993). Only the bits in which keys differ count.
    pub fn of<T: Keyed>(values: &[T]) -> Self {
        const IN_A_PART: usize = 8;
        let first = values.first().map_or(0, Keyed::key);
        let differing = values.iter().fold(0, |bits, value| bits | (value.key() ^ first));
        // Above this bit all keys are the same.
        let height = u64::BITS - differing.leading_zeros();
        let bits = ((values.len() / IN_A_PART).max(1).ilog2() + 1).min(MOST_BITS).min(height);
        Self { shift: height - bits, bits }
    }

    /// Number of parts.
    pub fn count(self) -> usize {
        1 << self.bits
    }

    fn of_key(self, key: u64) -> usize {
        (key >> self.shift.min(u64::BITS - 1)) as usize & (self.count() - 1)
    }

    /// Partitions values in place. They are the values for which the parts were chosen, or some of them. Returns the
    /// end of each part; after the last part the ends repeat.
    pub fn bring<T: Keyed>(self, values: &mut [T], check: Check) -> [usize; BUCKETS] {
        let digit = |value: &T| self.of_key(value.key());
        let mut ends = [0; BUCKETS];
        for part in values.chunks(RUN) {
            check();
            part.iter().for_each(|value| ends[digit(value)] += 1);
        }
        // The position of the next value of each part.
        let mut next = [0_usize; BUCKETS];
        let mut end = 0;
        for (next, count) in next.iter_mut().zip(&mut ends) {
            *next = end;
            end += *count;
            *count = end;
        }
        let mut moves = 0;
        for i in 0..BUCKETS {
            while next[i] < ends[i] {
                // The cycles of the first part traverse most of the others.
                if moves >= RUN {
                    check();
                    moves = 0;
                }
                let mut value = values[next[i]];
                // Follows the cycle until a value belongs here.
                loop {
                    moves += 1;
                    let own = digit(&value);
                    if own == i {
                        break;
                    }
                    let place = &mut next[own];
                    std::mem::swap(&mut value, &mut values[*place]);
                    *place += 1;
                }
                values[next[i]] = value;
                next[i] += 1;
            }
        }
        ends
    }
}

/// Sorts in place, and calls `check` often.
///
/// # Complexity
///
/// Linear for uniform keys, such as hashes; `n log n` for others.
pub fn sort_by_key<T: Keyed>(values: &mut [T], check: Check) {
    // Number of values up to which a comparison sort is faster, as it is for equal keys.
    const FEW: usize = 256;
    check();
    let mut keys = values.iter().map(Keyed::key);
    let first = keys.next();
    if values.len() <= FEW || keys.all(|key| Some(key) == first) {
        sort_by(values, Ord::cmp, check);
        return;
    }
    let parts = SortParts::of(values);
    let mut start = 0;
    for &end in &parts.bring(values, check)[..parts.count()] {
        sort_by_key(&mut values[start..end], check);
        start = end;
    }
}

/// Sorts by comparing, and calls `check` often.
pub fn sort_by<T>(values: &mut [T], compare: impl Fn(&T, &T) -> Ordering, check: Check) {
    if values.len() <= RUN {
        values.sort_unstable_by(compare);
        return;
    }
    let mut compared = 0;
    values.sort_unstable_by(|a, b| {
        compared += 1;
        if compared == RUN {
            compared = 0;
            check();
        }
        compare(a, b)
    });
}

/// Number of hashes above which they are sorted to be counted: a table would exceed the caches.
const MANY: usize = 1 << 16;

/// Number of distinct hashes, whose order may change. A table takes a quarter of the time of sorting.
pub(crate) fn count_distinct(hashes: &mut [u64], check: Check) -> Result<usize> {
    check();
    if hashes.len() > MANY {
        sort_by_key(hashes, check);
        return Ok(hashes.chunk_by(|a, b| a == b).count());
    }
    let size = (2 * hashes.len()).next_power_of_two().max(2);
    let shift = u64::BITS - size.trailing_zeros();
    // An empty slot is 0, so the hash 0 is counted separately.
    let mut table = memory::filled(0_u64, size)?;
    let mut count = usize::from(hashes.contains(&0));
    for &hash in &*hashes {
        // The top bits of hashes are uniform, and the table is at most half full.
        let mut at = (hash >> shift) as usize;
        while table[at] != hash {
            if table[at] == 0 {
                table[at] = hash;
                count += 1;
                break;
            }
            at = (at + 1) & (size - 1);
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix::mix64;

    #[test]
    fn each_hash_is_counted_once() {
        for count in [0, 1, 2, 3, 1000, 65_536, 65_537, 200_000] {
            for of in [1, 700, u64::MAX] {
                // mix64(0) is 0.
                let hashes = |first: u64| (first..first + count).map(|i| mix64(i % of)).collect();
                let (mut with_zero, mut without): (Vec<u64>, Vec<u64>) = (hashes(0), hashes(1));
                let expected = count.min(of) as usize;
                assert_eq!(count_distinct(&mut with_zero, &mut || ()).unwrap(), expected);
                assert_eq!(count_distinct(&mut without, &mut || ()).unwrap(), expected);
            }
        }
    }
}
