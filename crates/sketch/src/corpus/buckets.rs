//! Finds documents with equal hashes by sorting.

use super::collection::Hashes;
use crate::hash::{Keyed, sort_by_key};
use crate::{Result, memory};

/// A function that is called with the corpus and the documents of a bucket.
type VisitBucket<'a, C> = dyn FnMut(&mut C, &[u32]) -> Result<()> + 'a;

/// A hash of a document.
#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct HashEntry {
    pub(super) hash: u64,
    pub(super) document: u32,
}

impl Keyed for HashEntry {
    fn key(&self) -> u64 {
        self.hash
    }
}

/// True if a hash is in part `part` of `parts`, by its high bits: the parts have about the same size.
pub(super) fn is_in_part(hash: u64, part: u64, parts: u64) -> bool {
    parts == 1 || ((hash >> 32) * parts) >> 32 == part
}

/// Calls `visit` with each set of two or more documents that have the same hash in `column`, among the documents that
/// `wanted` accepts. Sets are in the order of hashes, and their documents ascend.
pub(super) fn each_bucket<C: Hashes>(
    corpus: &mut C,
    column: usize,
    wanted: &dyn Fn(u32) -> bool,
    visit: &mut VisitBucket<C>,
) -> Result<()> {
    let room = (corpus.sort_memory() / size_of::<HashEntry>()).max(1);
    let parts = (corpus.documents() as usize).div_ceil(room) as u64;
    let (mut entries, mut bucket) = (Vec::new(), Vec::new());
    for part in 0..parts {
        corpus.check_interrupts();
        entries.clear();
        let mut outcome: Result<()> = Ok(());
        corpus.hashes(column, &mut |document, hash| {
            if is_in_part(hash, part, parts) && wanted(document) && outcome.is_ok() {
                outcome = memory::push(&mut entries, HashEntry { hash, document });
            }
        })?;
        outcome?;
        sort_by_key(&mut entries, &mut || ());
        for same in entries.chunk_by(|a, b| a.hash == b.hash).filter(|same| same.len() > 1) {
            bucket.clear();
            memory::reserve(&mut bucket, same.len())?;
            bucket.extend(same.iter().map(|entry| entry.document));
            visit(corpus, &bucket)?;
        }
    }
    Ok(())
}
