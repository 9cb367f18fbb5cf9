//! The memory of a job.

/// Bytes for each kind of work of a job over documents.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// For the documents or their hashes.
    pub documents: usize,
    /// For documents that are being signed, before the comparison.
    pub reading: usize,
    /// For the rows that the host stores.
    pub rows: usize,
    /// For the sets that must agree, if there are any.
    pub agreeing: Option<usize>,
    /// For a batch of documents to compare, and as many again for what is made of them.
    pub batch: usize,
    /// For a group whose documents stay in a file: nothing else is kept by then.
    pub group: usize,
    /// For what is made of a large group in any case.
    pub floor: usize,
    /// For the shingles of each origin that do not count, if boilerplate does not count.
    pub boilerplate: Option<usize>,
}

/// With less memory for a group of megabytes, its documents are read again and again: clusters at 0.7 of 5,000 files of
/// 31 MB took about 30 times as long with 1 MB for all as with 64 MB, and with this floor 1.5 times as long.
const FLOOR: usize = 16 << 20;

impl Shares {
    /// The shares of a job that may take `all` bytes: a third each for documents, for rows, and for documents that are
    /// being signed and then compared. Boilerplate takes a quarter before, if it does not count.
    pub fn of(all: usize, without_boilerplate: bool) -> Self {
        let boilerplate = without_boilerplate.then_some(all / 4);
        let share = (all - boilerplate.unwrap_or(0)) / 3;
        Self {
            documents: share,
            reading: share,
            rows: share,
            agreeing: None,
            batch: share,
            group: 2 * share,
            floor: FLOOR,
            boilerplate,
        }
    }
}
