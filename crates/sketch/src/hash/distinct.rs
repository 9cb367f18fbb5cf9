//! Counting distinct hashes.

use super::sort_by_key;
use crate::error::Error;
use crate::limits::Check;
use crate::memory;

/// More hashes are sorted to be counted: a table of them would be larger than the caches.
const MANY: usize = 1 << 16;

/// The number of distinct hashes, which are in any order, and may be in another one afterwards. To put them into a
/// table takes a quarter of the time of sorting them.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub(crate) fn count_distinct(hashes: &mut [u64], check: Check) -> Result<usize, Error> {
    check();
    if hashes.len() > MANY {
        sort_by_key(hashes, check);
        return Ok(hashes.chunk_by(|a, b| a == b).count());
    }
    let size = (2 * hashes.len()).next_power_of_two().max(2);
    let shift = u64::BITS - size.trailing_zeros();
    // An empty place has 0, so that is counted by itself.
    let mut table = memory::filled(0_u64, size)?;
    let mut count = usize::from(hashes.contains(&0));
    for &hash in &*hashes {
        // Hashes are uniform in their top bits, and the table is at most half full.
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
