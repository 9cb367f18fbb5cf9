//! The two least similar documents of a cluster.
//!
//! All links of a cluster are above the threshold, and yet its ends may have nothing in common. The least similar pair
//! shows that; the weakest link does not.

use super::collection::Corpus;
use super::pairs::Pair;
use crate::hash::mix::mix64;
use crate::{Result, memory};

/// The least similar pair of a cluster, among the pairs that were compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeastSimilar {
    /// The pair with its similarity.
    pub pair: Pair,
    /// Number of compared pairs.
    pub compared: u64,
    /// True if all pairs were compared; otherwise another pair may be less similar.
    pub is_exact: bool,
}

/// Finds the least similar pair of `documents`; `None` for fewer than two. Compares all pairs if there are at most
/// `most`. Otherwise it repeatedly searches for the document farthest from a far one, and then compares random pairs,
/// the same each time.
///
/// `similarity` must not stop at a threshold: the wanted pair is below it.
pub fn least_similar(
    documents: &[u32],
    most: u64,
    mut similarity: impl FnMut(u32, u32) -> Result<f64>,
) -> Result<Option<LeastSimilar>> {
    let count = documents.len() as u64;
    if count < 2 {
        return Ok(None);
    }
    let all = count * (count - 1) / 2;
    let mut least =
        LeastSimilar { pair: Pair { a: 0, b: 0, similarity: f64::INFINITY }, compared: 0, is_exact: all <= most };
    let mut compare = |least: &mut LeastSimilar, a: usize, b: usize| {
        let (a, b) = (documents[a].min(documents[b]), documents[a].max(documents[b]));
        let similarity = similarity(a, b)?;
        least.compared += 1;
        if similarity < least.pair.similarity {
            least.pair = Pair { a, b, similarity };
        }
        Ok(similarity)
    };
    if least.is_exact {
        for b in 1..documents.len() {
            for a in 0..b {
                compare(&mut least, a, b)?;
            }
        }
        return Ok(Some(least));
    }
    // As for the diameter of a graph: from any document to the farthest one, and again from there.
    let mut from = 0;
    while least.compared + count - 1 <= most {
        let before = least.pair.similarity;
        let mut farthest = (f64::INFINITY, from);
        for other in (0..documents.len()).filter(|other| *other != from) {
            let similarity = compare(&mut least, from, other)?;
            if similarity < farthest.0 {
                farthest = (similarity, other);
            }
        }
        if least.pair.similarity >= before {
            break;
        }
        from = farthest.1;
    }
    for i in 0.. {
        if least.compared >= most.max(1) {
            break;
        }
        let a = (mix64(2 * i) % count) as usize;
        // Any document but `a`.
        let b = (a + 1 + (mix64(2 * i + 1) % (count - 1)) as usize) % documents.len();
        compare(&mut least, a, b)?;
    }
    Ok(Some(least))
}

/// The highest threshold at which the connected `documents` would stay connected: the least similarity on their maximum
/// spanning tree (single linkage; Gower, Ross 1969). 1 for a single document.
///
/// Compares every two of them (Prim's algorithm), so it suits clusters of moderate size.
pub fn weakest_link<C: Corpus>(corpus: &mut C, documents: &[u32]) -> Result<f64> {
    let mut weakest: f64 = 1.0;
    let Some((&first, rest)) = documents.split_first() else { return Ok(weakest) };
    // Each document outside of the tree, with its strongest link to it.
    let mut outside: Vec<(u32, f64)> = memory::collect(rest.iter().map(|&document| (document, 0.0)))?;
    let mut newest = first;
    while !outside.is_empty() {
        corpus.check_interrupts();
        for (document, strongest) in &mut outside {
            // A similarity of 1 cannot be exceeded.
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
