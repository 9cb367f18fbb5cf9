//! Documents that may have to do with each other.

use super::collection::Hashes;
use super::components::Components;
use crate::error::Error;
use crate::memory;

/// Entries that are looked at together: their table stays in the second-level cache.
const TOGETHER: usize = 2048;

/// The most bits of a hash by which entries are brought together: as many places are written to in turn.
const MOST_BITS: u32 = 10;

/// Joins all documents that share a bucket, unseen: no verified pair, and no cluster, reaches
/// across two of these groups. So whatever is asked of a corpus can be asked of each group alone,
/// with all that must be known of its documents at hand.
///
/// # Errors
/// Those of the corpus.
pub fn groups<C: Hashes>(corpus: &mut C) -> Result<Components, C::Error> {
    let mut components = Components::new(corpus.documents()).map_err(C::refused)?;
    let documents = corpus.documents() as usize;
    let room = (corpus.sort_memory() / size_of::<Entry>()).max(1);
    let parts = documents.div_ceil(room) as u64;
    let bits = (documents / parts.max(1) as usize / TOGETHER).max(1).ilog2().min(MOST_BITS);
    let mut joining = Joining { parts, bits, ..Joining::default() };
    for band in 0..corpus.probes() {
        for part in 0..parts {
            corpus.check_interrupts()?;
            joining.read(corpus, band, part)?;
            joining.join(corpus, &mut components)?;
        }
    }
    Ok(components)
}

#[derive(Clone, Copy, Default)]
struct Entry {
    hash: u64,
    document: u32,
}

/// Joins the documents of one band after the other. The order in which they are joined does not matter, so they are not
/// sorted: those that have some bits of their hashes in common are brought together, and put into a table.
#[derive(Default)]
struct Joining {
    /// A band is read in so many parts, by the high bits of hashes.
    parts: u64,
    /// Low bits of the hashes that are brought together.
    bits: u32,
    entries: Vec<Entry>,
    /// The end of each run of entries that have these bits in common.
    ends: Vec<usize>,
    /// Entries of a run by their hashes, as numbers from 1; or 0.
    table: Vec<u32>,
}

impl Joining {
    fn read<C: Hashes>(&mut self, corpus: &mut C, band: usize, part: u64) -> Result<(), C::Error> {
        let Self { parts, bits, ref mut entries, ref mut ends, .. } = *self;
        let is_here = |hash: u64| parts == 1 || ((hash >> 32) * parts) >> 32 == part;
        let run = |hash: u64| hash as usize & ((1 << bits) - 1);
        ends.clear();
        memory::resize(ends, 1 << bits, 0).map_err(C::refused)?;
        corpus.hashes(band, &mut |_, hash| ends[run(hash)] += usize::from(is_here(hash)))?;
        let mut next = 0;
        for end in &mut *ends {
            next += std::mem::replace(end, next);
        }
        entries.clear();
        if entries.capacity() < next {
            // Parts are nearly alike, so there is hardly room to spare.
            *entries = Vec::new();
            *entries = memory::with_capacity(next + next / 16).map_err(C::refused)?;
        }
        entries.resize(next, Entry::default());
        corpus.hashes(band, &mut |document, hash| {
            if is_here(hash) {
                let end = &mut ends[run(hash)];
                entries[*end] = Entry { hash, document };
                *end += 1;
            }
        })
    }

    fn join<C: Hashes>(
        &mut self,
        corpus: &mut C,
        components: &mut Components,
    ) -> Result<(), C::Error> {
        let Self { entries, ends, table, .. } = self;
        let mut start = 0;
        for &end in &*ends {
            corpus.check_interrupts()?;
            join_run(&entries[start..end], table, components).map_err(C::refused)?;
            start = end;
        }
        Ok(())
    }
}

/// Joins each document with the first one of its hash.
fn join_run(run: &[Entry], table: &mut Vec<u32>, components: &mut Components) -> Result<(), Error> {
    let size = (2 * run.len()).next_power_of_two();
    table.clear();
    memory::resize(table, size, 0)?;
    for (number, &Entry { hash, document }) in (1..).zip(run) {
        // Of the bits that neither parts nor runs are told by.
        let mut at = (hash >> MOST_BITS) as usize & (size - 1);
        loop {
            match table[at] {
                0 => {
                    table[at] = number;
                    break;
                }
                other if run[other as usize - 1].hash == hash => {
                    components.union(run[other as usize - 1].document, document);
                    break;
                }
                _ => at = (at + 1) & (size - 1),
            }
        }
    }
    Ok(())
}
