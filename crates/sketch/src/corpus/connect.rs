//! Clusters: the connected components of similar documents.

use super::buckets::each_bucket;
use super::collection::{Corpus, LeftOut, picked};
use super::groups::{Components, by_root};
use super::identical::Identical;
use super::pairs::Pair;
use crate::{Result, memory};

/// Connected components, with the links that connect them.
pub struct Connected {
    /// The components of leaders. Look up a copy by its leader.
    pub components: Components,
    /// Verified pairs that hold the components together: each joined two of them.
    pub links: Vec<Pair>,
    /// The comparisons that the limit has left out.
    pub left_out: LeftOut,
}

/// Joins leaders that share a band and are similar.
///
/// Compares only where the result matters: never two documents of a component, or the same pair twice.
///
/// # Complexity
///
/// A sort of the hashes for each band. A bucket of `n` documents from one template takes `n` comparisons, not `n²`.
pub fn connect<C: Corpus>(corpus: &mut C, identical: &Identical, limit: usize) -> Result<Connected> {
    let components = Components::new(corpus.documents())?;
    let mut connected = Connected { components, links: Vec::new(), left_out: LeftOut::default() };
    let wanted = |document| identical.is_leader(document);
    // Each link makes one component of two.
    let most = identical.leaders().count().saturating_sub(1);
    for band in 0..corpus.probes() {
        if connected.links.len() == most {
            break;
        }
        each_bucket(corpus, band, &wanted, &mut |corpus, bucket| {
            let rooted = bucket.iter().map(|&document| (connected.components.find(document), document));
            let parts = by_root(rooted, 1)?;
            if parts.len() < 2 {
                return Ok(());
            }
            Bucket { corpus, band, limit, connected: &mut connected }.join(parts)
        })?;
    }
    Ok(connected)
}

struct Bucket<'a, C> {
    corpus: &'a mut C,
    band: usize,
    limit: usize,
    connected: &'a mut Connected,
}

/// The failed comparisons of a document in a bucket, and the rest beyond the limit.
#[derive(Clone, Copy, Default)]
struct Tried {
    in_vain: usize,
    /// Number of other documents that it was not compared with, and a random one of them.
    others: usize,
    one: u32,
}

impl<C: Corpus> Bucket<'_, C> {
    fn join(&mut self, parts: Vec<Vec<u32>>) -> Result<()> {
        let (mut joined, mut behind): (Vec<Vec<u32>>, Vec<(u32, Tried)>) = Default::default();
        for part in parts {
            let mut tried = memory::filled(Tried::default(), part.len())?;
            let mut merged: Vec<u32> = Vec::new();
            for others in &mut joined {
                let Some(link) = self.first_similar(&part, &mut tried, others)? else { continue };
                self.connected.components.union(link.a, link.b);
                memory::push(&mut self.connected.links, link)?;
                let mut others = std::mem::take(others);
                if others.len() > merged.len() {
                    std::mem::swap(&mut others, &mut merged);
                }
                memory::extend(&mut merged, &others)?;
            }
            // The others stay in order, so that comparisons depend only on documents that may be similar.
            if !merged.is_empty() {
                joined.retain(|part| !part.is_empty());
            }
            memory::extend(&mut merged, &part)?;
            memory::push(&mut joined, merged)?;
            for (&document, tried) in part.iter().zip(tried).filter(|(_, tried)| tried.others > 0) {
                memory::push(&mut behind, (document, tried))?;
            }
        }
        behind.into_iter().try_for_each(|(document, tried)| self.look_behind(document, tried))
    }

    /// Compares a document that reached the limit with a random one of the others.
    fn look_behind(&mut self, document: u32, Tried { others, one, .. }: Tried) -> Result<()> {
        self.corpus.check_interrupts();
        let (a, b) = (document.min(one), document.max(one));
        let components = &mut self.connected.components;
        let is_known = components.find(a) == components.find(b) || self.corpus.share_band(self.band, a, b)?;
        let similarity = if is_known { None } else { self.corpus.similarity(a, b)? };
        if let Some(similarity) = similarity {
            components.union(a, b);
            memory::push(&mut self.connected.links, Pair { a, b, similarity })?;
        }
        self.connected.left_out.add(others, similarity.is_some());
        Ok(())
    }

    /// Finds the first similar pair of `part` and `others`. `tried` has the earlier comparisons in this bucket for each
    /// document of the part.
    fn first_similar(&mut self, part: &[u32], tried: &mut [Tried], others: &[u32]) -> Result<Option<Pair>> {
        for (&document, tried) in part.iter().zip(tried) {
            self.corpus.check_interrupts();
            for (position, &other) in others.iter().enumerate() {
                if tried.in_vain == self.limit {
                    let others = &others[position..];
                    tried.others += others.len();
                    // Each of all others has the same probability.
                    if let Some(one) = others.get(picked(tried.others)) {
                        tried.one = *one;
                    }
                    break;
                }
                let (a, b) = (document.min(other), document.max(other));
                if self.corpus.share_band(self.band, a, b)? {
                    continue;
                }
                if let Some(similarity) = self.corpus.similarity(a, b)? {
                    return Ok(Some(Pair { a, b, similarity }));
                }
                tried.in_vain += 1;
            }
        }
        Ok(None)
    }
}
