//! The shingles that many documents have.
//!
//! Nearly all shingles of an origin are in one or two of its documents. Sorting them all, or putting them into a table,
//! would take most of the time of a job. So they are counted roughly first: one byte counts all shingles whose hashes
//! begin alike. Only shingles with a high count are then counted by themselves.

use hashbrown::HashTable;

use crate::hash::sort_by_key;
use crate::{Check, Result, memory};

/// A shingle is boilerplate if at least so many documents have it.
pub const LEAST: usize = 5;

/// And more than one of so many.
const SHARE: usize = 5;

/// Counters of which there are at least so many.
const FEWEST: usize = 1 << 10;

/// Parts of the range of hashes, at most.
const MOST_PARTS: u64 = 1 << 16;

/// Appends the hashes of the document of a number; it is passed what it must call often.
pub type HashesOf<'a> = dyn FnMut(usize, &mut Vec<u64>, Check) -> Result<()> + 'a;

/// The hashes, ascending, of those shingles that more than a fifth of some documents have, and at least five. There are
/// up to [`CHOSEN`](super::CHOSEN) documents, with about so many shingles in all. `hashes` is called once with each if
/// all hashes take half of `memory` bytes at most, else several times, and more often if the rest does not suffice to
/// count all shingles at once.
pub fn shared_by_many(
    documents: usize,
    shingles: usize,
    memory: usize,
    hashes: &mut HashesOf,
    check: Check,
) -> Result<Vec<u64>> {
    let least = LEAST.max(documents / SHARE + 1);
    if documents < least {
        return Ok(Vec::new());
    }
    let kept = Kept::read(documents, shingles, memory / 2, hashes, check)?;
    let memory = if kept.is_some() { memory / 2 } else { memory };
    // Enough counters that hardly a shingle with fewer documents is counted by itself.
    let wanted = (shingles / least).saturating_mul(4).max(FEWEST);
    let most = (memory / 2).max(FEWEST);
    let mut parts = wanted.div_ceil(most).next_power_of_two() as u64;
    let mut counting = PartCounts { least: least as u8, ..PartCounts::default() };
    let mut buffer = Vec::new();
    // Those that are found if the range of hashes is counted in so many parts; `None` if memory wants more of them.
    let mut count = |parts: u64| -> Result<Option<Vec<u64>>> {
        let mut shared = Vec::new();
        let counters = (wanted / parts as usize).next_power_of_two().max(FEWEST);
        // At some point it is rather too much memory than no end.
        let room = if parts < MOST_PARTS { memory / 2 } else { usize::MAX };
        for part in 0..parts {
            let mut each = |take: &mut Take| {
                for document in 0..documents {
                    check();
                    buffer.clear();
                    match &kept {
                        Some(kept) if parts == 1 => {
                            take(document as u32, kept.of(document))?;
                            continue;
                        }
                        Some(kept) => memory::extend(&mut buffer, kept.of(document))?,
                        None => hashes(document, &mut buffer, check)?,
                    }
                    if parts > 1 {
                        buffer.retain(|hash| hash & (parts - 1) == part);
                    }
                    take(document as u32, &buffer)?;
                }
                Ok(())
            };
            if !counting.count(counters, room, &mut each)? {
                return Ok(None);
            }
            memory::reserve(&mut shared, counting.entries.len())?;
            shared.extend(counting.found());
        }
        sort_by_key(&mut shared, check);
        Ok(Some(shared))
    };
    loop {
        if let Some(shared) = count(parts)? {
            return Ok(shared);
        }
        parts *= 2;
    }
}

/// The hashes of all documents.
struct Kept {
    hashes: Vec<u64>,
    /// The end of each document among them.
    ends: Vec<usize>,
}

impl Kept {
    /// Reads them, unless they take more than `room` bytes.
    fn read(
        documents: usize,
        shingles: usize,
        room: usize,
        read: &mut HashesOf,
        check: Check,
    ) -> Result<Option<Self>> {
        let mut kept = Self { hashes: Vec::new(), ends: Vec::new() };
        if shingles * size_of::<u64>() > room {
            return Ok(None);
        }
        memory::reserve(&mut kept.hashes, shingles)?;
        for document in 0..documents {
            check();
            read(document, &mut kept.hashes, check)?;
            // They were counted about.
            if size_of_val(&*kept.hashes) > room {
                return Ok(None);
            }
            memory::push(&mut kept.ends, kept.hashes.len())?;
        }
        Ok(Some(kept))
    }

    fn of(&self, document: usize) -> &[u64] {
        let start = if document == 0 { 0 } else { self.ends[document - 1] };
        &self.hashes[start..self.ends[document]]
    }
}

type Take<'a> = dyn FnMut(u32, &[u64]) -> Result<()> + 'a;

/// The counts of a part of the hashes.
#[derive(Default)]
struct PartCounts {
    least: u8,
    /// Counters of shingles whose hashes have the same highest bits.
    counters: Vec<u8>,
    entries: HashTable<CountedShingle>,
    /// Room for the hashes of a document that are counted by themselves.
    many: Vec<u64>,
}

impl PartCounts {
    /// Counts all hashes, which `each` gives; false if those that are counted by themselves take more than `room`
    /// bytes.
    fn count(
        &mut self,
        counters: usize,
        room: usize,
        each: &mut dyn FnMut(&mut Take) -> Result<()>,
    ) -> Result<bool> {
        let Self { least, counters: counts, entries, many } = self;
        counts.clear();
        memory::resize(counts, counters, 0)?;
        let shift = u64::BITS - counters.trailing_zeros();
        each(&mut |_, hashes| {
            for hash in hashes {
                let count = &mut counts[(hash >> shift) as usize];
                *count = count.saturating_add(1);
            }
            Ok(())
        })?;
        entries.clear();
        let mut fits = true;
        each(&mut |document, hashes| {
            if many.len() < hashes.len() {
                memory::resize(many, hashes.len(), 0)?;
            }
            // Without a branch, for whether one is counted is as good as random.
            let mut count = 0;
            for &hash in hashes {
                many[count] = hash;
                count += usize::from(counts[(hash >> shift) as usize] >= *least);
            }
            for &hash in &many[..count] {
                fits = fits && add(entries, hash, document, room)?;
            }
            Ok(())
        })?;
        Ok(fits)
    }

    /// The hashes that as many documents have as wanted.
    fn found(&self) -> impl Iterator<Item = u64> {
        let least = u32::from(self.least);
        let entries = self.entries.iter();
        entries.filter(move |entry| entry.documents >= least).map(|entry| entry.hash)
    }
}

/// A shingle, the number of documents that have it, and the last of them.
struct CountedShingle {
    hash: u64,
    documents: u32,
    last: u32,
}

/// The hash by which a table finds a shingle. The lowest bits select the part, and the highest the counter.
fn place(hash: u64) -> u64 {
    hash.rotate_right(16)
}

/// Counts a document of a shingle, whose documents come one after the other; false if the table would take more than
/// `room` bytes.
fn add(
    entries: &mut HashTable<CountedShingle>,
    hash: u64,
    document: u32,
    room: usize,
) -> Result<bool> {
    if let Some(entry) = entries.find_mut(place(hash), |entry| entry.hash == hash) {
        entry.documents += u32::from(entry.last != document);
        entry.last = document;
        return Ok(true);
    }
    if entries.len() == entries.capacity() {
        let count = (2 * entries.len()).max(FEWEST);
        // A table has places for a power of two, uses seven of eight, and takes a byte more for each.
        let places = (count * 8).div_ceil(7).next_power_of_two();
        // The first table is made however little room there is.
        if count > FEWEST && places * (size_of::<CountedShingle>() + 1) > room {
            return Ok(false);
        }
        let refused = |_| memory::refused::<CountedShingle>(count);
        entries.try_reserve(count - entries.len(), |entry| place(entry.hash)).map_err(refused)?;
    }
    let entry = CountedShingle { hash, documents: 1, last: document };
    entries.insert_unique(place(hash), entry, |entry| place(entry.hash));
    Ok(true)
}
