//! Sorting hashes.

/// Sorts where the hashes are, with a call of `check_interrupts` for every run of work that is short.
///
/// Hashes are uniform in their top bits: one pass brings each into a bucket of about eight, and
/// leaves little sorting there (American flag sort; McIlroy, Bostic, McIlroy 1993). Those that are
/// not uniform are sorted all the same, by comparing them.
pub(crate) fn sort(hashes: &mut [u64], check_interrupts: &mut dyn FnMut()) {
    const FEW: usize = 64;
    const IN_A_BUCKET: usize = 8;
    const MAX_BITS: u32 = 10;
    const RUN: usize = 1 << 16;
    if hashes.len() <= FEW {
        hashes.sort_unstable();
        return;
    }
    let bits = ((hashes.len() / IN_A_BUCKET).ilog2() + 1).min(MAX_BITS);
    let bucket = |hash: u64| (hash >> (64 - bits)) as usize;
    let mut ends = [0_usize; 1 << MAX_BITS];
    for part in hashes.chunks(RUN) {
        check_interrupts();
        part.iter().for_each(|&hash| ends[bucket(hash)] += 1);
    }
    // Where the next hash of each bucket goes.
    let mut next = [0_usize; 1 << MAX_BITS];
    let mut end = 0;
    for (next, count) in next.iter_mut().zip(&mut ends) {
        *next = end;
        end += *count;
        *count = end;
    }
    let (mut start, mut moves) = (0, 0);
    for i in 0..1 << bits {
        check_interrupts();
        while next[i] < ends[i] {
            // The cycles of the first bucket go through most of the others.
            if moves >= RUN {
                check_interrupts();
                moves = 0;
            }
            let mut hash = hashes[next[i]];
            // Round the cycle, until a hash comes that belongs here.
            while bucket(hash) != i {
                let place = &mut next[bucket(hash)];
                std::mem::swap(&mut hash, &mut hashes[*place]);
                *place += 1;
                moves += 1;
            }
            hashes[next[i]] = hash;
            next[i] += 1;
        }
        hashes[start..ends[i]].sort_unstable();
        start = ends[i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix::mix64;

    #[test]
    fn few_and_many_hashes_are_sorted() {
        for count in [0, 1, 64, 65, 1000, 65_537, 300_000] {
            let mut hashes: Vec<u64> = (0..count).map(|i| mix64(i % 200_000)).collect();
            let mut expected = hashes.clone();
            expected.sort_unstable();
            sort(&mut hashes, &mut || ());
            assert!(hashes == expected, "{count}");
        }
    }
}
