//! The comparisons that a limit has left out.

/// The comparisons that a limit has left out. In a bucket of `n` documents that are not similar there would be
/// `n²` comparisons: each document makes `limit` of them without success, and no more.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LeftOut {
    /// Pairs that share a bucket and were not compared there.
    pub comparisons: u64,
    /// Documents that reached the limit, each once for every bucket in which it did.
    pub documents: u64,
}

impl LeftOut {
    pub(super) fn add(&mut self, comparisons: usize) {
        if comparisons > 0 {
            self.comparisons += comparisons as u64;
            self.documents += 1;
        }
    }
}

impl std::ops::AddAssign for LeftOut {
    fn add_assign(&mut self, other: Self) {
        self.comparisons += other.comparisons;
        self.documents += other.documents;
    }
}
