//! Documents that may have to do with each other.

use super::buckets::Buckets;
use super::collection::Hashes;
use super::components::Components;

/// Joins all documents that share a bucket, unseen: no verified pair, and no cluster, reaches
/// across two of these groups. So whatever is asked of a corpus can be asked of each group alone,
/// with all that must be known of its documents at hand.
///
/// # Errors
/// Those of the corpus.
pub fn groups<C: Hashes>(corpus: &mut C) -> Result<Components, C::Error> {
    let mut components = Components::new(corpus.documents()).map_err(C::refused)?;
    let mut buckets = Buckets::default();
    for band in 0..corpus.probes() {
        buckets.for_each(corpus, band, &|_| true, &mut |_, bucket| {
            bucket[1..].iter().for_each(|&document| components.union(bucket[0], document));
            Ok(())
        })?;
    }
    Ok(components)
}
