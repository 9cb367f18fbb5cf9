//! Sorts the entries of a build within maintenance_work_mem: in memory, and beyond it by merging sorted runs in
//! temporary files.
//!
//! Keys are hashes. A pass over their upper bits partitions entries into parts, chunk by chunk. Then each part is
//! collected from the chunks and sorted by itself. Threads, if there are any, do both, while the backend takes the
//! previous parts. Runs are merged the same way: the backend reads the next part of each run, a thread sorts what was
//! read, and the backend takes it.
//!
//! Threads also process the sorted entries: see [`EntryTaker`].

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::{Deref, Range};

use sketch::pipeline::{Compute, Crew, Next};
use sketch::spool::File;
use sketch::{Error, Keyed, MOST_PACKED_BYTES, Packable, SortParts, pack, sort_by_key, unpack};

use crate::error::out_of_memory;
use crate::index::layout::Entry;
use crate::pg::temp_file::TempFile;
use crate::pg::worker_threads::setting;
use crate::prelude::*;

/// Approximate number of entries sorted at a time.
const PART: usize = 16 << 10;
/// Entries partitioned at a time: they fit the second-level cache.
const CHUNK: usize = 64 << 10;
/// Minimum and maximum number of bytes read from a run at a time.
pub const RUN_BUFFER: std::ops::RangeInclusive<usize> = 8 << 10..=128 << 10;
/// Number of buffers for each run: of what was read (as entries and packed), and of the part that is made of it.
pub const READ_SHARES: usize = 3;

/// Accepts entries in any order.
pub struct Sorter {
    entries: Vec<Entry>,
    /// Bytes for everything, and the maximum number of entries in memory besides copies of parts.
    memory: usize,
    capacity: usize,
    runs: Vec<SortedRun>,
    threads: usize,
}

impl Keyed for Entry {
    fn key(&self) -> u64 {
        self.key
    }
}

impl Packable for Entry {
    fn of(key: u64, tid: u64) -> Self {
        Self { key, tid }
    }

    fn numbers(self) -> (u64, u64) {
        (self.key, self.tid)
    }
}

impl Sorter {
    /// A sorter with `memory` bytes.
    pub fn new(memory: usize) -> Self {
        let capacity = ((memory - copies(memory)) / size_of::<Entry>()).max(1024);
        Self { entries: Vec::new(), memory, capacity, runs: Vec::new(), threads: 0 }
    }

    /// Sorts with the help of `threads` threads.
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Number of entries that it has taken.
    pub fn len(&self) -> usize {
        self.entries.len() + self.runs.iter().map(|run| run.left).sum::<usize>()
    }

    /// Adds an entry.
    pub fn push(&mut self, entry: Entry) -> Result<()> {
        self.extend(&[entry])
    }

    /// Adds entries.
    pub fn extend(&mut self, entries: &[Entry]) -> Result<()> {
        let mut rest = entries;
        while !rest.is_empty() {
            if self.entries.len() == self.entries.capacity() {
                self.grow()?;
            }
            let room = self.entries.capacity() - self.entries.len();
            let (some, others) = rest.split_at(room.min(rest.len()));
            self.entries.extend_from_slice(some);
            rest = others;
        }
        Ok(())
    }

    /// Makes room for an entry, by allocating or by writing a run.
    fn grow(&mut self) -> Result<()> {
        let more = self.entries.len().max(1024).min(self.capacity - self.entries.len());
        if more == 0 {
            return self.spill();
        }
        self.entries.try_reserve_exact(more).map_err(|_| out_of_memory())
    }

    fn spill(&mut self) -> Result<()> {
        let memory = copies(self.memory);
        let run = SortedRun::in_file(&mut self.entries, memory, &mut Crew::With(setting(memory), self.threads))?;
        self.runs.push(run);
        self.entries.clear();
        Ok(())
    }

    /// Passes the entries in memory to `taker`, ascending.
    fn sorted(&mut self, taker: &mut impl EntryTaker) -> Result<()> {
        let memory = copies(self.memory);
        sorted(&mut self.entries, memory, &mut Crew::With(setting(memory), self.threads), taker)
    }

    /// Calls `visit` with all entries, ascending.
    pub fn finish(self, mut visit: impl FnMut(Entry) -> Result<()>) -> Result<()> {
        self.finish_by(&mut |part: &[Entry]| part.iter().try_for_each(|entry| visit(*entry)))
    }

    /// Passes all entries to `taker`, ascending.
    pub fn finish_by(mut self, taker: &mut impl EntryTaker) -> Result<()> {
        let (threads, memory) = (self.threads, self.memory);
        if self.runs.is_empty() {
            return self.sorted(taker);
        }
        if !self.entries.is_empty() {
            self.spill()?;
        }
        drop(std::mem::take(&mut self.entries));
        merged(&mut self.runs, memory, &mut Crew::With(setting(memory / 2), threads), taker)
    }
}

/// Takes entries in ascending order, and processes them in any thread.
pub trait EntryTaker {
    /// Entries to process together.
    type Part: Send;
    /// Result of processing a part.
    type Made: Send;

    /// Takes the next entries.
    fn take(&mut self, entries: &[Entry]) -> Result<()>;

    /// Returns the next part to process, with the bytes that it and its result take.
    fn ready(&mut self) -> Option<(Self::Part, usize)>;

    /// Processes a part, which may be a second attempt. Runs in any thread.
    fn make(part: &mut Self::Part, check: Check) -> Result<Self::Made, Error>;

    /// Takes the result of the next part.
    fn made(&mut self, made: Self::Made) -> Result<()>;
}

/// A taker without processing.
impl<F: FnMut(&[Entry]) -> Result<()>> EntryTaker for F {
    type Part = ();
    type Made = ();

    fn take(&mut self, entries: &[Entry]) -> Result<()> {
        self(entries)
    }

    fn ready(&mut self) -> Option<((), usize)> {
        None
    }

    fn make((): &mut (), _: Check) -> Result<(), Error> {
        Ok(())
    }

    fn made(&mut self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// A part to be sorted or processed, or its result.
enum SortTask<S, M> {
    Sort(S),
    Make(M),
}

/// Sorts the parts that `next` returns with a crew, passes them to `taker`, and processes the parts that it makes
/// ready.
fn each<P: Send, S: Send + Deref<Target = [Entry]>, T: EntryTaker>(
    crew: &mut Crew,
    next: &mut Next<P, crate::error::SqlError>,
    sort: &Compute<P, S>,
    taker: &mut T,
) -> Result<()> {
    let taker = RefCell::new(taker);
    // Results are not taken at once but between two parts, so that threads have work meanwhile.
    let later = RefCell::new(VecDeque::new());
    let take_one = || later.borrow_mut().pop_front().map(|made| taker.borrow_mut().made(made)).transpose();
    let make = |task: &mut SortTask<P, T::Part>, check: Check| match task {
        SortTask::Sort(part) => sort(part, check).map(SortTask::Sort),
        SortTask::Make(part) => T::make(part, check).map(SortTask::Make),
    };
    let mut ready = None;
    loop {
        let mut next = || -> Result<_> {
            take_one()?;
            if let Some((part, bytes)) = ready.take().or_else(|| taker.borrow_mut().ready()) {
                return Ok(Some((SortTask::Make(part), bytes)));
            }
            Ok(next()?.map(|(part, bytes)| (SortTask::Sort(part), bytes)))
        };
        crew.each(&mut next, &make, &mut |done| {
            match done {
                SortTask::Make(made) => {
                    let mut later = later.borrow_mut();
                    later.try_reserve(1).map_err(|_| out_of_memory())?;
                    later.push_back(made);
                }
                SortTask::Sort(part) => taker.borrow_mut().take(&part)?,
            }
            Ok(())
        })?;
        while take_one()?.is_some() {}
        // The last sorted parts may have made others ready.
        ready = taker.borrow_mut().ready();
        if ready.is_none() {
            return Ok(());
        }
    }
}

/// Bytes for copies of parts.
fn copies(memory: usize) -> usize {
    memory / 8
}

/// Sorts entries by key and row, and passes them on part by part, with `memory` bytes for copies of parts.
fn sorted(entries: &mut [Entry], memory: usize, crew: &mut Crew, taker: &mut impl EntryTaker) -> Result<()> {
    if entries.len() < 2 * CHUNK {
        return sorted_in_place(entries, crew, taker);
    }
    let parts = SortParts::of(entries);
    let chunks = parted(entries, parts, crew)?;
    let size = |part: usize| chunks.iter().map(|chunk| chunk.of(part, part + 1).len()).sum();
    let sizes: Vec<usize> = (0..parts.count()).map(size).collect();
    // The largest part may be too large to copy if most keys are equal.
    if sizes.iter().any(|size| size * size_of::<Entry>() > memory) {
        drop(chunks);
        return sorted_in_place(entries, crew, taker);
    }
    let mut start = 0;
    let mut next = || {
        let (mut end, mut count) = (start, 0);
        while end < sizes.len() && count < PART {
            count += sizes[end];
            end += 1;
        }
        let range = std::mem::replace(&mut start, end)..end;
        // A copy, and its result.
        let bytes = 2 * count * size_of::<Entry>();
        Ok((!range.is_empty()).then_some(((range, count), bytes)))
    };
    let sort = |(range, count): &mut (Range<usize>, usize), check: Check| {
        let mut part = memory::with_capacity(*count)?;
        chunks.iter().for_each(|chunk| part.extend_from_slice(chunk.of(range.start, range.end)));
        sort_by_key(&mut part, check);
        Ok(part)
    };
    each(crew, &mut next, &sort, taker)
}

struct Chunk<'a> {
    entries: &'a [Entry],
    ends: Vec<u32>,
}

impl Chunk<'_> {
    /// The entries of the parts from `first` to `end`, exclusive.
    fn of(&self, first: usize, end: usize) -> &[Entry] {
        let start = |part: usize| if part == 0 { 0 } else { self.ends[part - 1] as usize };
        &self.entries[start(first)..start(end)]
    }
}

fn parted<'a>(entries: &'a mut [Entry], parts: SortParts, crew: &mut Crew) -> Result<Vec<Chunk<'a>>> {
    let mut chunks = memory::with_capacity(entries.len().div_ceil(CHUNK))?;
    let mut rest = entries.chunks_mut(CHUNK);
    let mut next = || Ok::<_, crate::error::SqlError>(rest.next().map(|chunk| (Some(chunk), 0)));
    let bring = |chunk: &mut Option<&'a mut [Entry]>, check: Check| {
        let mut ends = memory::with_capacity(parts.count())?;
        if let Some(entries) = chunk {
            let made = parts.bring(entries, check);
            ends.extend(made[..parts.count()].iter().map(|end| *end as u32));
        }
        Ok(chunk.take().map(|entries| Chunk { entries, ends }))
    };
    crew.each(&mut next, &bring, &mut |chunk| {
        chunks.extend(chunk);
        Ok(())
    })?;
    Ok(chunks)
}

/// Like [`sorted`], but in place, and in the backend alone.
fn sorted_in_place<'a>(entries: &'a mut [Entry], crew: &mut Crew, taker: &mut impl EntryTaker) -> Result<()> {
    sort_by_key(entries, &mut || crew.check());
    let mut parts = entries.chunks(PART);
    let mut next = || Ok(parts.next().map(|part| (part, 0)));
    each(crew, &mut next, &|part: &mut &'a [Entry], _| Ok(*part), taker)
}

/// Merges sorted runs, and passes them on part by part. Reads about the same amount of each run, within memory, and
/// takes the entries that are certain to be less than all unread ones.
fn merged(runs: &mut [SortedRun], memory: usize, crew: &mut Crew, taker: &mut impl EntryTaker) -> Result<()> {
    rewind(runs, memory / (2 * crew.size() + READ_SHARES))?;
    let mut next = || {
        check_interrupts();
        let part = next_of(runs)?;
        // The part is a copy.
        let bytes = 2 * part.len() * size_of::<Entry>();
        Ok((bytes > 0).then_some((part, bytes)))
    };
    let sort = |part: &mut Vec<Entry>, check: Check| {
        sort_by_key(part, check);
        Ok(std::mem::take(part))
    };
    each(crew, &mut next, &sort, taker)
}

/// Goes back to the first entries of runs in files, to read at most `memory` bytes at a time.
pub fn rewind(runs: &mut [SortedRun], memory: usize) -> Result<()> {
    let buffer = (memory / runs.len().max(1)).clamp(*RUN_BUFFER.start(), *RUN_BUFFER.end());
    runs.iter_mut().try_for_each(|run| run.rewind(buffer / size_of::<Entry>()))
}

/// The next entries of runs, which are less than all later ones. They are in the order of the runs. None are left at
/// the end.
pub fn next_of(runs: &mut [SortedRun]) -> Result<Vec<Entry>> {
    runs.iter_mut().try_for_each(SortedRun::fill)?;
    let last = runs.iter().filter_map(SortedRun::bound).min();
    let upto = |run: &SortedRun| match last {
        Some(last) => run.rest().partition_point(|entry| *entry <= last),
        None => run.rest().len(),
    };
    let mut part = memory::with_capacity(runs.iter().map(upto).sum())?;
    for run in runs.iter_mut() {
        let count = upto(run);
        part.extend_from_slice(&run.rest()[..count]);
        run.position += count;
    }
    Ok(part)
}

/// Sorted entries in a temporary file, packed, or in memory.
pub struct SortedRun {
    /// None if all entries are in `buffer`.
    file: Option<TempFile>,
    /// Unread entries and bytes, and the average bytes of an entry.
    left: usize,
    bytes: usize,
    average: usize,
    /// Bytes that were read but not unpacked.
    packed: Vec<u8>,
    buffer: Vec<Entry>,
    position: usize,
    size: usize,
}

impl SortedRun {
    /// A run of sorted entries in memory.
    pub fn in_memory(buffer: Vec<Entry>) -> Self {
        Self { file: None, left: 0, bytes: 0, average: 0, packed: Vec::new(), buffer, position: 0, size: 0 }
    }

    /// Sorts entries, and writes them to a file, with `memory` bytes for copies of parts.
    pub fn in_file(entries: &mut [Entry], memory: usize, crew: &mut Crew) -> Result<Self> {
        let mut file = TempFile::create();
        let mut run = Self::in_memory(Vec::new());
        let mut append = |part: &[Entry]| {
            check_interrupts();
            let mut bytes = Vec::new();
            pack(part, &mut bytes)?;
            file.append(&bytes)?;
            run.left += part.len();
            run.bytes += bytes.len();
            Ok(())
        };
        sorted(entries, memory, crew, &mut append)?;
        Ok(Self { file: Some(file), ..run })
    }

    /// Goes back to the first entry in the file, to read `size` entries at a time.
    fn rewind(&mut self, size: usize) -> Result<()> {
        self.buffer.try_reserve_exact(size).map_err(|_| out_of_memory())?;
        self.size = size;
        self.average = self.bytes.div_ceil(self.left.max(1));
        let packed = (size * self.average).max(MOST_PACKED_BYTES);
        self.packed = memory::with_capacity(packed)?;
        Ok(())
    }

    /// Entries that were read but not taken.
    fn rest(&self) -> &[Entry] {
        &self.buffer[self.position..]
    }

    /// A lower bound of the unread entries, if there are any.
    fn bound(&self) -> Option<Entry> {
        self.buffer.last().copied().filter(|_| self.left > 0)
    }

    /// Reads more if half of the buffer was taken.
    fn fill(&mut self) -> Result<()> {
        if self.left == 0 || self.rest().len() > self.size / 2 {
            return Ok(());
        }
        self.buffer.drain(..std::mem::take(&mut self.position));
        let kept = self.buffer.len();
        let most = self.size - kept;
        // At least a block.
        let wanted = (most * self.average).max(MOST_PACKED_BYTES).saturating_sub(self.packed.len());
        self.read(wanted.min(self.bytes))?;
        let used = unpack(&self.packed, most, &mut self.buffer)?;
        self.packed.drain(..used);
        let count = self.buffer.len() - kept;
        self.left = self.left.checked_sub(count).filter(|_| count > 0).ok_or_else(unreadable)?;
        Ok(())
    }

    /// Reads `bytes` more bytes.
    fn read(&mut self, bytes: usize) -> Result<()> {
        let kept = self.packed.len();
        memory::resize(&mut self.packed, kept + bytes, 0)?;
        if let Some(file) = &mut self.file {
            file.read(file.len() - self.bytes as u64, &mut self.packed[kept..])?;
        }
        self.bytes -= bytes;
        Ok(())
    }
}

fn unreadable() -> crate::error::SqlError {
    error(PgSqlErrorCode::ERRCODE_IO_ERROR, "could not read a temporary file of an index build")
}
