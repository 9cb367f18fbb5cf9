//! Finds every pair of similar documents, once.

use super::buckets::each_bucket;
use super::collection::{Corpus, LeftOut, picked};
use super::identical::Identical;
use crate::{Result, memory};

/// Two documents and their similarity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The lesser number.
    pub a: u32,
    /// The greater number.
    pub b: u32,
    /// At least the threshold.
    pub similarity: f64,
}

/// The side of a document when two collections are compared: pairs have a document of each side.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PairSide {
    /// The first collection.
    Left,
    /// The second collection.
    Right,
    /// Both: it makes pairs with all documents.
    Both,
}

/// A function that is called with the corpus and each pair found.
pub type VisitPair<'a, C> = dyn FnMut(&mut C, Pair) -> Result<()> + 'a;

/// Calls `visit` with each pair of similar leaders that share a band, once. `side` restricts the pairs; within one
/// collection it returns [`PairSide::Both`] for every document.
///
/// # Complexity
///
/// A sort of the hashes for each band, and one comparison for each pair that shares a band. A document makes at most
/// `limit` comparisons without success in a bucket, and then one more.
pub fn pairs<C: Corpus>(
    corpus: &mut C,
    identical: &Identical,
    side: &dyn Fn(u32) -> PairSide,
    limit: usize,
    visit: &mut VisitPair<C>,
) -> Result<LeftOut> {
    let mut left_out = LeftOut::default();
    let mut sides = Sides::default();
    let wanted = |document| identical.is_leader(document);
    for band in 0..corpus.probes() {
        each_bucket(corpus, band, &wanted, &mut |corpus, bucket| {
            sides.split(bucket, side)?;
            for &a in bucket {
                let partners = sides.partners(a, side(a), bucket);
                let (others, is_similar) = of_document(corpus, band, a, partners, limit, visit)?;
                left_out.add(others, is_similar);
            }
            Ok(())
        })?;
    }
    Ok(left_out)
}

/// Finds the pairs of `a` with `partners`. Returns the number of partners beyond the limit, and whether a random one of
/// them was similar.
fn of_document<C: Corpus>(
    corpus: &mut C,
    band: usize,
    a: u32,
    partners: &[u32],
    limit: usize,
    visit: &mut VisitPair<C>,
) -> Result<(usize, bool)> {
    corpus.check_interrupts();
    let mut in_vain = 0;
    for (position, &b) in partners.iter().enumerate() {
        if in_vain == limit {
            let others = &partners[position..];
            let b = others[picked(others.len())];
            let similarity = if corpus.share_band(band, a, b)? { None } else { corpus.similarity(a, b)? };
            if let Some(similarity) = similarity {
                visit(corpus, Pair { a, b, similarity })?;
            }
            return Ok((others.len(), similarity.is_some()));
        }
        if corpus.share_band(band, a, b)? {
            continue;
        }
        match corpus.similarity(a, b)? {
            Some(similarity) => visit(corpus, Pair { a, b, similarity })?,
            None => in_vain += 1,
        }
        if position % 1024 == 1023 {
            corpus.check_interrupts();
        }
    }
    Ok((0, false))
}

/// The documents of a bucket that may form pairs, by side.
#[derive(Default)]
struct Sides {
    left: Vec<u32>,
    right: Vec<u32>,
}

impl Sides {
    fn split(&mut self, bucket: &[u32], side: &dyn Fn(u32) -> PairSide) -> Result<()> {
        self.left.clear();
        self.right.clear();
        for &document in bucket {
            match side(document) {
                PairSide::Left => memory::push(&mut self.left, document)?,
                PairSide::Right => memory::push(&mut self.right, document)?,
                PairSide::Both => {
                    memory::push(&mut self.left, document)?;
                    memory::push(&mut self.right, document)?;
                }
            }
        }
        Ok(())
    }

    /// The partners of `a` that come after it: the first document of a pair makes the pair.
    fn partners<'a>(&'a self, a: u32, side: PairSide, bucket: &'a [u32]) -> &'a [u32] {
        let all = match side {
            PairSide::Left => &self.right,
            PairSide::Right => &self.left,
            PairSide::Both => bucket,
        };
        &all[all.partition_point(|document| *document <= a)..]
    }
}
