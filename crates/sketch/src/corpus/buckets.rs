//! Documents with equal hashes, found by sorting.

/// Bits of the hash by which entries are sorted; the rest is compared within a run.
const SORTED_BITS: u32 = 33;
/// Three passes of 11 bits: their counters stay in the first-level cache.
const DIGIT_BITS: u32 = 11;

/// Sorts (hash, document) entries, reusing its memory. 24 bytes for each document.
#[derive(Default)]
pub(super) struct Buckets {
    entries: Vec<Entry>,
    scratch: Vec<Entry>,
    bucket: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    hash: u64,
    document: u32,
}

impl Buckets {
    /// Calls `visit` with each set of two or more documents of `documents` that have the same
    /// hash, ascending, in an order that depends on the hashes only.
    pub(super) fn for_each(
        &mut self,
        documents: impl Iterator<Item = (u32, u64)>,
        visit: &mut dyn FnMut(&[u32]),
    ) {
        self.entries.clear();
        self.entries.extend(documents.map(|(document, hash)| Entry { hash, document }));
        self.sort();
        let mut start = 0;
        while start < self.entries.len() {
            let digits = sorted_bits(self.entries[start].hash);
            let run = self.entries[start..].iter();
            let len = run.take_while(|entry| sorted_bits(entry.hash) == digits).count();
            if len > 1 {
                self.visit_run(start..start + len, visit);
            }
            start += len;
        }
    }

    /// A run has equal sorted bits: nearly always equal hashes.
    fn visit_run(&mut self, range: std::ops::Range<usize>, visit: &mut dyn FnMut(&[u32])) {
        let run = &mut self.entries[range];
        if run.iter().any(|entry| entry.hash != run[0].hash) {
            run.sort_by_key(|entry| entry.hash);
        }
        for bucket in run.chunk_by(|a, b| a.hash == b.hash).filter(|bucket| bucket.len() > 1) {
            self.bucket.clear();
            self.bucket.extend(bucket.iter().map(|entry| entry.document));
            visit(&self.bucket);
        }
    }

    /// Least significant digit first: stable, so documents stay ascending within a bucket.
    fn sort(&mut self) {
        self.scratch.resize(self.entries.len(), Entry::default());
        for shift in (0..SORTED_BITS).step_by(DIGIT_BITS as usize) {
            let digit = |entry: &Entry| (entry.hash >> shift) as usize & ((1 << DIGIT_BITS) - 1);
            let mut places = [0_usize; 1 << DIGIT_BITS];
            for entry in &self.entries {
                places[digit(entry)] += 1;
            }
            let mut next = 0;
            for place in &mut places {
                next += std::mem::replace(place, next);
            }
            for entry in &self.entries {
                let place = &mut places[digit(entry)];
                self.scratch[*place] = *entry;
                *place += 1;
            }
            std::mem::swap(&mut self.entries, &mut self.scratch);
        }
    }
}

fn sorted_bits(hash: u64) -> u64 {
    hash & ((1 << SORTED_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::Buckets;
    use std::collections::BTreeMap;

    #[test]
    fn buckets_are_the_groups_of_equal_hashes() {
        // Few values, some of which differ only above the sorted bits.
        let hashes: Vec<u64> = (0..5000_u64).map(|i| (i * i % 97) << 30 | (i % 3) << 60).collect();
        let mut expected: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for (document, &hash) in (0_u32..).zip(&hashes) {
            expected.entry(hash).or_default().push(document);
        }
        let mut found = Vec::new();
        let documents = (0_u32..).zip(hashes.iter().copied());
        Buckets::default().for_each(documents, &mut |bucket| found.push(bucket.to_vec()));
        let mut expected: Vec<Vec<u32>> =
            expected.into_values().filter(|bucket| bucket.len() > 1).collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_lone_document_is_in_no_bucket() {
        Buckets::default().for_each([(7, 1), (8, 2)].into_iter(), &mut |_| panic!("a bucket"));
        Buckets::default().for_each(std::iter::empty(), &mut |_| panic!("a bucket"));
    }
}
