//! Documents with equal hashes, found by sorting.

use super::collection::Hashes;
use crate::error::Error;
use crate::memory;

/// Bits of the hash by which entries are sorted; the rest is compared within a run.
const SORTED_BITS: u32 = 33;
/// Three passes of 11 bits: their counters stay in the first-level cache.
const DIGIT_BITS: u32 = 11;
/// Fewer entries are sorted by comparing them: counters for digits would cost more.
const FEW: usize = 1000;

/// A function that is called with the corpus and the documents of a bucket.
type VisitBucket<'a, C> = dyn FnMut(&mut C, &[u32]) -> Result<(), <C as Hashes>::Error> + 'a;

/// Sorts (hash, document) entries, reusing its memory.
#[derive(Default)]
pub(super) struct HashBuckets {
    entries: Vec<Entry>,
    scratch: Vec<Entry>,
    bucket: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    hash: u64,
    document: u32,
}

impl HashBuckets {
    /// Calls `visit` with each set of two or more documents that have the same hash in `column`, of those that `wanted`
    /// lets pass; each ascending, in an order that depends on the hashes only.
    pub(super) fn for_each<C: Hashes>(
        &mut self,
        corpus: &mut C,
        column: usize,
        wanted: &dyn Fn(u32) -> bool,
        visit: &mut VisitBucket<C>,
    ) -> Result<(), C::Error> {
        // Entries are held twice, for sorting.
        let room = (corpus.sort_memory() / (2 * size_of::<Entry>())).max(1);
        let parts = (corpus.documents() as usize).div_ceil(room) as u64;
        for part in 0..parts {
            corpus.check_interrupts()?;
            let entries = &mut self.entries;
            entries.clear();
            let mut outcome = Ok(());
            corpus.hashes(column, &mut |document, hash| {
                // The sort looks at the low bits first; a part is told by the high ones.
                let here = parts == 1 || ((hash >> 32) * parts) >> 32 == part;
                if here && wanted(document) && outcome.is_ok() {
                    outcome = memory::push(entries, Entry { hash, document });
                }
            })?;
            outcome.and_then(|()| self.sort())?;
            self.runs(corpus, visit)?;
        }
        Ok(())
    }

    fn runs<C: Hashes>(
        &mut self,
        corpus: &mut C,
        visit: &mut VisitBucket<C>,
    ) -> Result<(), C::Error> {
        let mut start = 0;
        while start < self.entries.len() {
            let digits = sorted_bits(self.entries[start].hash);
            let run = self.entries[start..].iter();
            let len = run.take_while(|entry| sorted_bits(entry.hash) == digits).count();
            if len > 1 {
                self.run(start..start + len, corpus, visit)?;
            }
            start += len;
        }
        Ok(())
    }

    /// A run has equal sorted bits: nearly always equal hashes.
    fn run<C: Hashes>(
        &mut self,
        range: std::ops::Range<usize>,
        corpus: &mut C,
        visit: &mut VisitBucket<C>,
    ) -> Result<(), C::Error> {
        let run = &mut self.entries[range];
        if run.iter().any(|entry| entry.hash != run[0].hash) {
            run.sort_unstable_by_key(|entry| (entry.hash, entry.document));
        }
        for bucket in run.chunk_by(|a, b| a.hash == b.hash).filter(|bucket| bucket.len() > 1) {
            self.bucket.clear();
            memory::reserve(&mut self.bucket, bucket.len())?;
            self.bucket.extend(bucket.iter().map(|entry| entry.document));
            visit(corpus, &self.bucket)?;
        }
        Ok(())
    }

    /// Least significant digit first: stable, so documents stay ascending within a bucket.
    fn sort(&mut self) -> Result<(), Error> {
        if self.entries.len() < FEW {
            self.entries.sort_unstable_by_key(|entry| (sorted_bits(entry.hash), entry.document));
            return Ok(());
        }
        memory::resize(&mut self.scratch, self.entries.len(), Entry::default())?;
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
        Ok(())
    }
}

fn sorted_bits(hash: u64) -> u64 {
    hash & ((1 << SORTED_BITS) - 1)
}
