//! Finds the shingles that many documents have.
//!
//! Nearly all shingles of an origin are in one or two of its documents. Sorting or tabulating them all would take most
//! of the time of a job. So they are counted approximately first: one-byte counters, each for all shingles with the
//! same leading bits of their hashes. Only shingles with a high counter are then counted exactly.
//!
//! The level of an origin is usually the first one, and a quick check of three of four documents shows it. Only a
//! document that may keep too little is sorted, and merged with the frequent shingles.

use hashbrown::HashTable;

use super::counted::{Boilerplate, has_distinct};
use super::rule::{Enough, LEVELS, least, levels};
use crate::hash::{Keyed, sort_by_key};
use crate::{Check, Result, memory};

/// Minimum number of counters.
const FEWEST: usize = 1 << 10;

/// Maximum number of parts of the range of hashes.
const MOST_PARTS: u64 = 1 << 16;

/// Appends the hashes of document `n`; calls `check` often.
pub type HashesOf<'a> = dyn FnMut(usize, &mut Vec<u64>, Check) -> Result<()> + 'a;

/// Up to [`CHOSEN`](super::CHOSEN) documents that are judged together.
pub struct Judged<'a, 'b> {
    /// Number of documents.
    pub documents: usize,
    /// Approximate number of shingles in all documents.
    pub shingles: usize,
    /// Maximum memory in bytes. `hashes` is called once for each document if all hashes fit in half of it. Otherwise it
    /// is called several times, and more often if the rest cannot hold counts for all shingles at once.
    pub memory: usize,
    /// Returns the hashes of each document.
    pub hashes: &'a mut HashesOf<'b>,
}

/// The shingles that do not count for documents of an origin.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SharedShingles {
    /// Percentage of documents above which a shingle does not count.
    pub level: usize,
    /// Hashes of these shingles, ascending.
    pub hashes: Vec<u64>,
}

impl Judged<'_, '_> {
    /// Returns the hashes, ascending, of the shingles that are common to all documents: in more than a fifth of them,
    /// and in at least five.
    pub fn common(self, check: Check) -> Result<Vec<u64>> {
        let (_, found) = self.found(check)?;
        memory::collect(above(&found, 0))
    }

    /// Returns the shingles that do not count for documents of an origin, without `of_all`, the shingles that are
    /// common to all documents. The level is the lowest one at which three of four documents keep enough, or the
    /// highest.
    pub fn shared(self, enough: Enough, of_all: Option<&Boilerplate>, check: Check) -> Result<SharedShingles> {
        let memory = self.memory;
        let (mut judged, found) = self.found(check)?;
        let level = judged.level(&found, enough, of_all, memory, check)?;
        let mut hashes = memory::collect(above(&found, level))?;
        of_all.iter().for_each(|of_all| of_all.leave_out(&mut hashes, check));
        Ok(SharedShingles { level: LEVELS[level], hashes })
    }
}

/// A frequent shingle, with the number of levels, from the first, at which it does not count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FrequentShingle {
    hash: u64,
    levels: u8,
}

impl Keyed for FrequentShingle {
    fn key(&self) -> u64 {
        self.hash
    }
}

/// The hashes of the shingles that do not count at level number `level`.
fn above(found: &[FrequentShingle], level: usize) -> impl Iterator<Item = u64> {
    let left_out = found.iter().filter(move |found| usize::from(found.levels) > level);
    left_out.map(|found| found.hash)
}

/// The judged documents, which may be read several times.
struct JudgedDocuments<'a, 'b> {
    documents: usize,
    kept: Option<DocumentHashes>,
    hashes: &'a mut HashesOf<'b>,
    /// Scratch buffer: the hashes of one document.
    room: Vec<u64>,
}

impl JudgedDocuments<'_, '_> {
    fn of(&mut self, document: usize, check: Check) -> Result<&[u64]> {
        check();
        if let Some(kept) = &self.kept {
            return Ok(kept.of(document));
        }
        self.room.clear();
        (self.hashes)(document, &mut self.room, check)?;
        Ok(&self.room)
    }

    /// Number of the first level at which three of four documents keep enough, or of the last level.
    fn level(
        &mut self,
        found: &[FrequentShingle],
        enough: Enough,
        of_all: Option<&Boilerplate>,
        memory: usize,
        check: Check,
    ) -> Result<usize> {
        let first = memory::collect(above(found, 0))?;
        let is_small = Boilerplate::bytes(first.len()) <= memory / 4;
        let first = if is_small { Some(Boilerplate::new(&first)?) } else { None };
        // For each level, the number of documents that keep enough there but not at the level before.
        let mut keeping = [0; LEVELS.len()];
        let documents = self.documents;
        let suffices = |count: usize| 4 * count >= 3 * documents;
        let mut own = Vec::new();
        for document in 0..documents {
            if suffices(keeping[0]) {
                break;
            }
            own.clear();
            memory::extend(&mut own, self.of(document, check)?)?;
            if let Some(first) = &first {
                first.leave_out(&mut own, check);
                of_all.iter().for_each(|of_all| of_all.leave_out(&mut own, check));
                if has_distinct(&own, enough.plenty) {
                    keeping[0] += 1;
                    continue;
                }
                own.clear();
                memory::extend(&mut own, self.of(document, check)?)?;
            }
            sort_by_key(&mut own, check);
            own.dedup();
            let shingles = own.len();
            of_all.iter().for_each(|of_all| of_all.leave_out(&mut own, check));
            // For each level, the number of its shingles that start to count there.
            let mut starting = [0; LEVELS.len() + 1];
            let mut others = found.iter().peekable();
            for hash in &own {
                while others.next_if(|other| other.hash < *hash).is_some() {}
                let other = others.next_if(|other| other.hash == *hash);
                starting[other.map_or(0, |other| usize::from(other.levels))] += 1;
            }
            let mut counted = 0;
            let level = starting[..LEVELS.len()].iter().position(|more| {
                counted += more;
                enough.is_kept(shingles, counted)
            });
            level.into_iter().for_each(|level| keeping[level] += 1);
        }
        let mut count = 0;
        let level = keeping.iter().position(|more| {
            count += more;
            suffices(count)
        });
        Ok(level.unwrap_or(LEVELS.len() - 1))
    }
}

impl<'a, 'b> Judged<'a, 'b> {
    /// Returns the documents, for another pass, and the frequent shingles.
    fn found(self, check: Check) -> Result<(JudgedDocuments<'a, 'b>, Vec<FrequentShingle>)> {
        let Self { documents, shingles, memory, hashes } = self;
        let least = least(documents);
        let mut judged = JudgedDocuments { documents, kept: None, hashes, room: Vec::new() };
        if documents < least {
            return Ok((judged, Vec::new()));
        }
        judged.kept = DocumentHashes::read(documents, shingles, memory / 2, judged.hashes, check)?;
        let memory = if judged.kept.is_some() { memory / 2 } else { memory };
        // Enough counters that few shingles with fewer documents are counted exactly.
        let wanted = (shingles / least).saturating_mul(4).max(FEWEST);
        let most = (memory / 2).max(FEWEST);
        let mut parts = wanted.div_ceil(most).next_power_of_two() as u64;
        let mut counting = PartCounts { least: least as u8, ..PartCounts::default() };
        let mut buffer = Vec::new();
        // Counts the range of hashes in `parts` parts, and returns the frequent shingles; `None` if they do not fit
        // into memory.
        let mut count = |parts: u64| -> Result<Option<Vec<FrequentShingle>>> {
            let mut found = Vec::new();
            let counters = (wanted / parts as usize).next_power_of_two().max(FEWEST);
            // Beyond some number of parts, more memory is better than no end.
            let room = if parts < MOST_PARTS { memory / 2 } else { usize::MAX };
            for part in 0..parts {
                let mut each = |take: &mut TakeText| {
                    for document in 0..documents {
                        let own = judged.of(document, check)?;
                        if parts == 1 {
                            take(document as u32, own)?;
                            continue;
                        }
                        buffer.clear();
                        memory::reserve(&mut buffer, own.len())?;
                        buffer.extend(own.iter().filter(|hash| *hash & (parts - 1) == part));
                        take(document as u32, &buffer)?;
                    }
                    Ok(())
                };
                if !counting.count(counters, room, &mut each)? {
                    return Ok(None);
                }
                memory::reserve(&mut found, counting.entries.len())?;
                found.extend(counting.entries.iter().filter_map(|entry| {
                    let levels = levels(entry.documents as usize, documents);
                    (levels > 0).then_some(FrequentShingle { hash: entry.hash, levels: levels as u8 })
                }));
            }
            sort_by_key(&mut found, check);
            Ok(Some(found))
        };
        let found = loop {
            if let Some(found) = count(parts)? {
                break found;
            }
            parts *= 2;
        };
        Ok((judged, found))
    }
}

/// The hashes of all documents.
struct DocumentHashes {
    hashes: Vec<u64>,
    /// The end of each document's hashes.
    ends: Vec<usize>,
}

impl DocumentHashes {
    /// Reads them, unless they take more than `room` bytes.
    fn read(documents: usize, shingles: usize, room: usize, read: &mut HashesOf, check: Check) -> Result<Option<Self>> {
        let mut kept = Self { hashes: Vec::new(), ends: Vec::new() };
        if shingles * size_of::<u64>() > room {
            return Ok(None);
        }
        memory::reserve(&mut kept.hashes, shingles)?;
        for document in 0..documents {
            check();
            read(document, &mut kept.hashes, check)?;
            // Their number was only estimated.
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

type TakeText<'a> = dyn FnMut(u32, &[u64]) -> Result<()> + 'a;

/// The counts for a part of the hashes.
#[derive(Default)]
struct PartCounts {
    least: u8,
    /// Counters of shingles with the same leading bits of their hashes.
    counters: Vec<u8>,
    entries: HashTable<CountedShingle>,
    /// Scratch buffer: hashes of a document that are counted exactly.
    many: Vec<u64>,
}

impl PartCounts {
    /// Counts all hashes that `each` passes; false if the exact counts take more than `room` bytes.
    fn count(
        &mut self,
        counters: usize,
        room: usize,
        each: &mut dyn FnMut(&mut TakeText) -> Result<()>,
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
            // Without a branch, which would be unpredictable.
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
}

/// A shingle, with the number of documents that have it and the last of them.
struct CountedShingle {
    hash: u64,
    documents: u32,
    last: u32,
}

/// The table's hash of a shingle. The lowest bits select the part, and the highest bits the counter.
fn place(hash: u64) -> u64 {
    hash.rotate_right(16)
}

/// Counts a document with a shingle. A shingle's documents arrive in order. False if the table would take more than
/// `room` bytes.
fn add(entries: &mut HashTable<CountedShingle>, hash: u64, document: u32, room: usize) -> Result<bool> {
    if let Some(entry) = entries.find_mut(place(hash), |entry| entry.hash == hash) {
        entry.documents += u32::from(entry.last != document);
        entry.last = document;
        return Ok(true);
    }
    if entries.len() == entries.capacity() {
        let count = (2 * entries.len()).max(FEWEST);
        // A table's capacity is a power of two. It uses seven of eight slots, and a byte more for each.
        let places = (count * 8).div_ceil(7).next_power_of_two();
        // The first table is made however little memory there is.
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
