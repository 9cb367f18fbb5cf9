//! A group of documents, split by what can be similar at all.

use super::buckets::Buckets;
use super::collection::Hashes;
use super::components::Components;
use crate::memory;

/// Joins the documents of a group that share a bucket and may be similar, as `may_be_similar` says; it is never wrong
/// when it says no. As with [`groups`](super::groups()), no verified pair reaches across two of the parts, so each can
/// be asked about alone.
///
/// The answers are those of the whole group under a limit of failed comparisons, too: a document that meets more than
/// `limit` others, over all bands, stays with all of them.
///
/// # Errors
/// Those of the corpus.
pub fn split<C: Hashes>(
    corpus: &mut C,
    limit: usize,
    may_be_similar: &mut dyn FnMut(u32, u32) -> bool,
) -> Result<Components, C::Error> {
    let documents = corpus.documents();
    let mut components = Components::new(documents).map_err(C::refused)?;
    let mut meets = memory::filled(0_usize, documents as usize).map_err(C::refused)?;
    let mut buckets = Buckets::default();
    for band in 0..corpus.probes() {
        buckets.for_each(corpus, band, &|_| true, &mut |_, bucket| {
            bucket.iter().for_each(|document| meets[*document as usize] += bucket.len() - 1);
            Ok(())
        })?;
    }
    // Behind the bands is the hash of the whole signature.
    for column in 0..=corpus.probes() {
        let is_whole = column == corpus.probes();
        buckets.for_each(corpus, column, &|_| true, &mut |corpus, bucket| {
            if is_whole || bucket.iter().any(|document| meets[*document as usize] > limit) {
                bucket[1..].iter().for_each(|document| components.union(bucket[0], *document));
                return Ok(());
            }
            for (position, &b) in bucket.iter().enumerate() {
                corpus.check_interrupts()?;
                for &a in &bucket[..position] {
                    if components.find(a) != components.find(b) && may_be_similar(a, b) {
                        components.union(a, b);
                    }
                }
            }
            Ok(())
        })?;
    }
    Ok(components)
}
