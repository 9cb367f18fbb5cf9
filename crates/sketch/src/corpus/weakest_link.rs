//! The weakest link that holds a cluster together.

use super::collection::Corpus;
use crate::memory;

/// The highest threshold at which `documents`, which are connected, would still be: the least
/// similarity on their maximum spanning tree (single linkage; Gower, Ross 1969). 1 for one
/// document.
///
/// Compares every two of them (Prim's algorithm): for clusters of moderate size.
///
/// # Errors
/// Those of the corpus.
pub fn weakest_link<C: Corpus>(corpus: &mut C, documents: &[u32]) -> Result<f64, C::Error> {
    let mut weakest: f64 = 1.0;
    let Some((&first, rest)) = documents.split_first() else { return Ok(weakest) };
    // Each document that is not in the tree yet, with its strongest link to it.
    let mut outside: Vec<(u32, f64)> =
        memory::collect(rest.iter().map(|&document| (document, 0.0))).map_err(C::refused)?;
    let mut newest = first;
    while !outside.is_empty() {
        corpus.check_interrupts()?;
        for (document, strongest) in &mut outside {
            // Nothing is gained beyond what a document already has.
            if *strongest < 1.0 && corpus.share_band(corpus.probes(), newest, *document)? {
                let similarity = corpus.similarity(newest, *document)?;
                *strongest = strongest.max(similarity.unwrap_or(0.0));
            }
        }
        let nearest = (0..outside.len()).max_by(|&i, &j| outside[i].1.total_cmp(&outside[j].1));
        let (document, similarity) = outside.swap_remove(nearest.unwrap_or(0));
        weakest = weakest.min(similarity);
        newest = document;
    }
    Ok(weakest)
}
