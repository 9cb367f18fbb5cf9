//! Groups documents that may be similar.

use super::buckets::{HashEntry, each_bucket, is_in_part};
use super::collection::Hashes;
use crate::pipeline::Crew;
use crate::{Result, memory};

/// Number of entries processed together: their table fits the second-level cache.
const TOGETHER: usize = 8192;

/// Maximum number of bits that partition entries: as many positions are written alternately.
const MOST_BITS: u32 = 10;

/// Joins all documents that share a bucket, without comparing them. No verified pair and no cluster spans two of these
/// groups. So each group can be processed alone, with all data about its documents in memory. The crew finds the
/// documents that share a bucket.
pub fn groups<C: Hashes>(corpus: &mut C, crew: &mut Crew) -> Result<Components> {
    let mut components = Components::new(corpus.documents())?;
    let mut runs = Runs::of(corpus);
    crew.each(&mut || runs.next(corpus), &|run, _| shared(run), &mut |shared| {
        shared.into_iter().for_each(|(a, b)| components.union(a, b));
        Ok(())
    })?;
    Ok(components)
}

/// Entries with some bits of their hashes in common, band by band, each in as many passes as memory requires. The order
/// in which documents are joined does not matter, so hashes are not sorted.
struct Runs {
    /// Number of passes over a band, each for a range of the high bits of hashes.
    passes: u64,
    /// Number of low bits of hashes that a run shares.
    bits: u32,
    /// Approximate maximum number of entries in a run.
    size: usize,
    band: usize,
    pass: u64,
    /// Runs that were read but not passed on.
    ready: Vec<Vec<HashEntry>>,
}

impl Runs {
    fn of<C: Hashes>(corpus: &C) -> Self {
        let documents = corpus.documents() as usize;
        // Leaves memory for the results of runs.
        let room = (corpus.sort_memory() / (size_of::<HashEntry>() * 5 / 4)).max(1);
        let passes = documents.div_ceil(room).max(1);
        let count = documents.div_ceil(passes);
        let bits = (count / TOGETHER).max(1).ilog2().min(MOST_BITS);
        // Partitions by a hash have nearly the same size.
        let size = (count >> bits) + (count >> bits) / 16 + 64;
        Self { passes: passes as u64, bits, size, band: 0, pass: 0, ready: Vec::new() }
    }

    /// The next run, with its size in bytes.
    fn next<C: Hashes>(&mut self, corpus: &mut C) -> Result<Option<(Vec<HashEntry>, usize)>> {
        while self.ready.is_empty() && self.band < corpus.probes() {
            corpus.check_interrupts();
            self.read(corpus)?;
            self.pass += 1;
            if self.pass == self.passes {
                (self.band, self.pass) = (self.band + 1, 0);
            }
        }
        Ok(self.ready.pop().map(|run| {
            let bytes = size_of_val(&*run);
            (run, bytes)
        }))
    }

    fn read<C: Hashes>(&mut self, corpus: &mut C) -> Result<()> {
        let Self { passes, bits, size, band, pass, ref mut ready } = *self;
        for _ in 0..1 << bits {
            memory::push(ready, memory::with_capacity(size)?)?;
        }
        let mut outcome = Ok(());
        corpus.hashes(band, &mut |document, hash| {
            if is_in_part(hash, pass, passes) && outcome.is_ok() {
                let run = &mut ready[hash as usize & ((1 << bits) - 1)];
                outcome = memory::push(run, HashEntry { hash, document });
            }
        })?;
        outcome
    }
}

/// For each entry that is not the first with its hash: the first one's document, and its own.
fn shared(entries: &[HashEntry]) -> Result<Vec<(u32, u32)>> {
    let mut shared = Vec::new();
    let size = (2 * entries.len()).next_power_of_two();
    // The numbers of first entries, from 1.
    let mut firsts: Vec<u32> = memory::filled(0, size)?;
    for (number, entry) in (1..).zip(entries) {
        // By bits that neither passes nor runs have used.
        let mut at = (entry.hash >> MOST_BITS) as usize & (size - 1);
        while firsts[at] != 0 && entries[firsts[at] as usize - 1].hash != entry.hash {
            at = (at + 1) & (size - 1);
        }
        match firsts[at] {
            0 => firsts[at] = number,
            first => {
                let first = entries[first as usize - 1].document;
                memory::push(&mut shared, (first, entry.document))?;
            }
        }
    }
    Ok(shared)
}

/// A partition of documents 0..n into components; at first each document is alone.
///
/// Union by the least number with path halving: the root of a component is its least document, for any order of unions
/// (Tarjan, van Leeuwen 1984).
///
/// ```
/// use minlsh_sketch::corpus::Components;
///
/// let mut components = Components::new(4)?;
/// components.union(3, 1);
/// assert_eq!((components.find(3), components.find(2)), (1, 2));
/// # Ok::<(), minlsh_sketch::Error>(())
/// ```
pub struct Components {
    parents: Vec<u32>,
}

impl Components {
    /// `documents` components of one document each.
    pub fn new(documents: u32) -> Result<Self> {
        Ok(Self { parents: memory::collect(0..documents)? })
    }

    /// The least document of the component of `document`.
    pub fn find(&mut self, document: u32) -> u32 {
        let mut current = document as usize;
        while self.parents[current] as usize != current {
            let grandparent = self.parents[self.parents[current] as usize];
            self.parents[current] = grandparent;
            current = grandparent as usize;
        }
        current as u32
    }

    /// Joins the components of `a` and `b`.
    pub fn union(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.parents[a.max(b) as usize] = a.min(b);
    }
}

/// Lists the documents of each component that has at least `least` of them. `rooted` has the root of each document.
pub(crate) fn by_root(rooted: impl IntoIterator<Item = (u32, u32)>, least: usize) -> Result<Vec<Vec<u32>>> {
    let mut rooted = memory::collect(rooted)?;
    rooted.sort_unstable();
    let mut lists = Vec::new();
    for list in rooted.chunk_by(|a, b| a.0 == b.0).filter(|list| list.len() >= least) {
        memory::push(&mut lists, memory::collect(list.iter().map(|(_, document)| *document))?)?;
    }
    Ok(lists)
}

/// Splits a group: joins documents that share a bucket and may be similar. `may_be_similar` never returns false for a
/// similar pair. As with [`groups`](super::groups()), no verified pair spans two parts, so each can be processed alone.
///
/// The results equal the whole group's, also under a limit of failed comparisons: a document that meets more than
/// `limit` others, over all bands, stays with all of them.
pub fn split<C: Hashes>(corpus: &mut C, limit: usize, may_be_similar: &dyn Fn(u32, u32) -> bool) -> Result<Components> {
    let documents = corpus.documents();
    let mut components = Components::new(documents)?;
    let mut meets = memory::filled(0_usize, documents as usize)?;
    for band in 0..corpus.probes() {
        each_bucket(corpus, band, &|_| true, &mut |_, bucket| {
            bucket.iter().for_each(|document| meets[*document as usize] += bucket.len() - 1);
            Ok(())
        })?;
    }
    // The hash of the whole signature follows the bands.
    for column in 0..=corpus.probes() {
        let is_whole = column == corpus.probes();
        each_bucket(corpus, column, &|_| true, &mut |corpus, bucket| {
            if is_whole || bucket.iter().any(|document| meets[*document as usize] > limit) {
                bucket[1..].iter().for_each(|document| components.union(bucket[0], *document));
                return Ok(());
            }
            for (position, &b) in bucket.iter().enumerate() {
                corpus.check_interrupts();
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
