//! Candidate pairs of a corpus, band after band.

use super::buckets::Buckets;
use super::components::Components;
use super::identical::Identical;

/// The probed band hashes of every document. 8 bytes for each document and band.
pub struct Bands {
    columns: Vec<Vec<i64>>,
}

impl Bands {
    /// No documents yet, and `probes` bands for each.
    pub fn new(probes: usize) -> Self {
        Self { columns: vec![Vec::new(); probes] }
    }

    /// Adds the next document; of its `hashes` the first `probes` count.
    pub fn push(&mut self, hashes: &[i64]) {
        for (column, hash) in self.columns.iter_mut().zip(hashes) {
            column.push(*hash);
        }
    }

    /// Calls `visit(a, b)`, `a < b`, for each pair of leaders that share a band, once.
    ///
    /// `checkpoint` is called for each document of a bucket, so that a caller may cancel.
    pub fn pairs(
        &self,
        identical: &Identical,
        checkpoint: &mut dyn FnMut(),
        visit: &mut dyn FnMut(u32, u32),
    ) {
        self.for_each_bucket(identical, &mut |band, bucket| {
            for (position, &a) in bucket.iter().enumerate() {
                checkpoint();
                for &b in &bucket[position + 1..] {
                    if !self.met_before(band, a, b) {
                        visit(a, b);
                    }
                }
            }
        });
    }

    /// Joins the components of leaders that share a band and that `similar(a, b)` confirms.
    ///
    /// Asks only where the answer matters: never about two documents of one component, nor
    /// about the same pair twice. A bucket of `n` documents of one template costs `n`
    /// questions, not `n²`.
    pub fn connect(
        &self,
        identical: &Identical,
        components: &mut Components,
        checkpoint: &mut dyn FnMut(),
        similar: &mut dyn FnMut(u32, u32) -> bool,
    ) {
        self.for_each_bucket(identical, &mut |band, bucket| {
            let mut joined: Vec<Vec<u32>> = Vec::new();
            for part in parts(bucket, components) {
                let mut merged: Vec<u32> = Vec::new();
                let mut i = 0;
                while i < joined.len() {
                    checkpoint();
                    match self.first_similar(band, &part, &joined[i], similar) {
                        Some((a, b)) => {
                            components.union(a, b);
                            let mut other = joined.swap_remove(i);
                            if other.len() > merged.len() {
                                std::mem::swap(&mut other, &mut merged);
                            }
                            merged.extend(other);
                        }
                        None => i += 1,
                    }
                }
                merged.extend(part);
                joined.push(merged);
            }
        });
    }

    fn first_similar(
        &self,
        band: usize,
        left: &[u32],
        right: &[u32],
        similar: &mut dyn FnMut(u32, u32) -> bool,
    ) -> Option<(u32, u32)> {
        let pairs = left.iter().flat_map(|&a| right.iter().map(move |&b| (a.min(b), a.max(b))));
        let mut new = pairs.filter(|&(a, b)| !self.met_before(band, a, b));
        new.find(|&(a, b)| similar(a, b))
    }

    fn for_each_bucket(&self, identical: &Identical, visit: &mut dyn FnMut(usize, &[u32])) {
        let mut buckets = Buckets::default();
        for (band, column) in self.columns.iter().enumerate() {
            let documents =
                identical.leaders().map(|leader| (leader, column[leader as usize] as u64));
            buckets.for_each(documents, &mut |bucket| visit(band, bucket));
        }
    }

    /// Whether two documents share a band before `band`: that is where they were a pair.
    fn met_before(&self, band: usize, a: u32, b: u32) -> bool {
        self.columns[..band].iter().any(|column| column[a as usize] == column[b as usize])
    }
}

/// A bucket by component, in order of first occurrence.
fn parts(bucket: &[u32], components: &mut Components) -> Vec<Vec<u32>> {
    let mut by_root: Vec<(u32, u32)> =
        bucket.iter().map(|&document| (components.find(document), document)).collect();
    by_root.sort_unstable();
    by_root
        .chunk_by(|a, b| a.0 == b.0)
        .map(|part| part.iter().map(|(_, document)| *document).collect())
        .collect()
}
