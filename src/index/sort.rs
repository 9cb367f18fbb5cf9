//! Sorts the entries of a build within maintenance_work_mem: in memory, and beyond it by sorted runs in temporary
//! files, which are merged.
//!
//! Keys are hashes. One pass over the upper bits brings entries into parts, chunk by chunk. Then each part is collected
//! from the chunks, and sorted by itself: both by threads, if there are some, while the backend takes the parts before
//! it. Runs are merged in the same way: the
//! backend reads the next part of each run, a thread sorts what was read, and the backend takes it.

use std::ops::Range;

use pgrx::pg_sys;
use pgrx::prelude::*;
use sketch::pipeline::Crew;
use sketch::{Error, Keyed, Parts, memory, sort_by_key};

use crate::error::{Result, engine, error, out_of_memory};
use crate::index::layout::Entry;
use crate::pg::hands::setting;
use crate::pg::interrupts::check_interrupts;

/// Entries that are sorted at a time, about.
const PART: usize = 16 << 10;
/// Entries that are brought into parts at a time: the second-level cache has room for them.
const CHUNK: usize = 64 << 10;
/// Entries that are written between two looks at interrupts.
const STRIDE: usize = 1 << 18;
/// Bytes read of a run at a time: not more, nor less.
const RUN_BUFFER: std::ops::RangeInclusive<usize> = 8 << 10..=128 << 10;

/// Takes entries in any order. Its files belong to the memory context that is current when entries
/// are pushed.
pub struct Sorter {
    entries: Vec<Entry>,
    /// Bytes for all; and entries held in memory at most, beside copies of parts.
    memory: usize,
    capacity: usize,
    runs: Vec<Run>,
    threads: usize,
}

impl Keyed for Entry {
    fn key(&self) -> u64 {
        self.key
    }
}

impl Sorter {
    /// A sorter that takes `memory` bytes.
    pub fn new(memory: usize) -> Self {
        let capacity = ((memory - copies(memory)) / size_of::<Entry>()).max(1024);
        Self { entries: Vec::new(), memory, capacity, runs: Vec::new(), threads: 0 }
    }

    /// So many threads help to sort.
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Takes an entry.
    pub fn push(&mut self, entry: Entry) -> Result<()> {
        if self.entries.len() == self.entries.capacity() {
            self.grow()?;
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Takes entries.
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

    /// Makes room for an entry, in memory or by writing a run.
    fn grow(&mut self) -> Result<()> {
        let more = self.entries.len().max(1024).min(self.capacity - self.entries.len());
        if more == 0 {
            return self.spill();
        }
        self.entries.try_reserve_exact(more).map_err(|_| out_of_memory())
    }

    fn spill(&mut self) -> Result<()> {
        let mut run = Run::create();
        self.sorted(&mut |part| {
            run.write(part);
            Ok(())
        })?;
        self.runs.push(run);
        self.entries.clear();
        Ok(())
    }

    /// Calls `take` with the entries in memory, in ascending order.
    fn sorted(&mut self, take: &mut Take) -> Result<()> {
        let memory = copies(self.memory);
        with_crew(self.threads, memory, |crew| sorted(&mut self.entries, memory, crew, take))
    }

    /// Calls `visit` with all entries in ascending order.
    pub fn finish(self, mut visit: impl FnMut(Entry) -> Result<()>) -> Result<()> {
        self.finish_parts(|part| part.iter().try_for_each(|entry| visit(*entry)))
    }

    /// Calls `take` with all entries in ascending order, some at a time.
    pub fn finish_parts(mut self, mut take: impl FnMut(&[Entry]) -> Result<()>) -> Result<()> {
        let (threads, memory) = (self.threads, self.memory);
        if self.runs.is_empty() {
            return self.sorted(&mut take);
        }
        if !self.entries.is_empty() {
            self.spill()?;
        }
        drop(std::mem::take(&mut self.entries));
        with_crew(threads, memory / 2, |crew| merged(&mut self.runs, memory, crew, &mut take))
    }
}

/// Takes some entries, which are the next in ascending order.
type Take<'a> = dyn FnMut(&[Entry]) -> Result<()> + 'a;

/// Bytes for copies of parts.
fn copies(memory: usize) -> usize {
    memory / 8
}

/// Calls `sort` with those who sort; what is out at a time takes `memory` bytes.
fn with_crew<T>(threads: usize, memory: usize, sort: impl FnOnce(&mut Crew) -> T) -> T {
    match threads {
        0 => sort(&mut Crew::Alone(&mut { check_interrupts })),
        _ => sort(&mut Crew::With(setting(memory), threads)),
    }
}

/// Sorts entries by key and row, and calls `take` with one part after the other. `memory` bytes are for copies of
/// parts.
fn sorted(entries: &mut [Entry], memory: usize, crew: &mut Crew, take: &mut Take) -> Result<()> {
    let parts = Parts::of(entries);
    if entries.len() < 2 * CHUNK {
        return sorted_in_place(entries, parts, crew, take);
    }
    let chunks = parted(entries, parts, crew)?;
    let size = |part: usize| chunks.iter().map(|chunk| chunk.of(part, part + 1).len()).sum();
    let sizes: Vec<usize> = (0..parts.count()).map(size).collect();
    // A copy of the largest part is too much where most keys are the same.
    if sizes.iter().any(|size| size * size_of::<Entry>() > memory) {
        drop(chunks);
        return sorted_in_place(entries, parts, crew, take);
    }
    let mut start = 0;
    let mut next = || {
        let (mut end, mut count) = (start, 0);
        while end < sizes.len() && count < PART {
            count += sizes[end];
            end += 1;
        }
        let range = std::mem::replace(&mut start, end)..end;
        Ok((!range.is_empty()).then_some(((range, count), count * size_of::<Entry>())))
    };
    let sort = |(range, count): &mut (Range<usize>, usize), check: &mut dyn FnMut()| {
        let mut part = memory::with_capacity(*count)?;
        chunks.iter().for_each(|chunk| part.extend_from_slice(chunk.of(range.start, range.end)));
        sort_by_key(&mut part, check);
        Ok(part)
    };
    crew.each(&mut next, &sort, engine, &mut |part: Vec<Entry>| take(&part))
}

/// Some entries in their parts.
struct Chunk<'a> {
    entries: &'a [Entry],
    ends: Vec<u32>,
}

impl Chunk<'_> {
    /// Those of the parts from `first` to `end`, which is not among them.
    fn of(&self, first: usize, end: usize) -> &[Entry] {
        let start = |part: usize| if part == 0 { 0 } else { self.ends[part - 1] as usize };
        &self.entries[start(first)..start(end)]
    }
}

/// Brings entries into parts, a chunk at a time.
fn parted<'a>(entries: &'a mut [Entry], parts: Parts, crew: &mut Crew) -> Result<Vec<Chunk<'a>>> {
    let mut chunks = memory::with_capacity(entries.len().div_ceil(CHUNK)).map_err(engine)?;
    let mut rest = entries.chunks_mut(CHUNK);
    let mut next = || Ok(rest.next().map(|chunk| (Some(chunk), 0)));
    let bring = |chunk: &mut Option<&'a mut [Entry]>, check: &mut dyn FnMut()| {
        let (mut ends, mut end) = (memory::with_capacity(parts.count())?, 0);
        if let Some(entries) = chunk {
            parts.bring(entries, check, &mut |count| {
                end += count as u32;
                ends.push(end);
            });
        }
        Ok(chunk.take().map(|entries| Chunk { entries, ends }))
    };
    crew.each(&mut next, &bring, engine, &mut |chunk| {
        chunks.extend(chunk);
        Ok(())
    })?;
    Ok(chunks)
}

/// As [`sorted`], where the entries are.
fn sorted_in_place(
    entries: &mut [Entry],
    parts: Parts,
    crew: &mut Crew,
    take: &mut Take,
) -> Result<()> {
    let (mut ends, mut end) = (Vec::new(), 0);
    parts.bring(entries, &mut || crew.check(), &mut |count| {
        end += count;
        if end - ends.last().copied().unwrap_or(0) >= PART {
            ends.push(end);
        }
    });
    ends.push(end);
    let (mut rest, mut start, mut ends) = (entries, 0, ends.into_iter());
    let mut next = || {
        let Some(end) = ends.next() else { return Ok(None) };
        let (part, others) = std::mem::take(&mut rest).split_at_mut(end - start);
        (rest, start) = (others, end);
        Ok(Some((Some(part), 0)))
    };
    crew.each(&mut next, &sort_part, engine, &mut |part| part.map_or(Ok(()), |part| take(part)))
}

/// Sorts a part, and gives it back.
fn sort_part<'a>(
    part: &mut Option<&'a mut [Entry]>,
    check: &mut dyn FnMut(),
) -> std::result::Result<Option<&'a mut [Entry]>, Error> {
    if let Some(part) = part {
        sort_by_key(part, check);
    }
    Ok(part.take())
}

/// Merges sorted runs, and calls `take` with one part after the other. Reads about as much of each run as memory holds
/// of all, and takes of that what is certain to be less than what was not read.
fn merged(runs: &mut [Run], memory: usize, crew: &mut Crew, take: &mut Take) -> Result<()> {
    // What is out at a time, what was read for the next, and what is being read.
    let shares = runs.len() * (2 * crew.size() + 2);
    let buffer = (memory / shares).clamp(*RUN_BUFFER.start(), *RUN_BUFFER.end());
    runs.iter_mut().try_for_each(|run| run.rewind(buffer / size_of::<Entry>()))?;
    let mut next = || {
        runs.iter_mut().try_for_each(Run::fill)?;
        let last = runs.iter().filter_map(Run::bound).min();
        let upto = |run: &Run| match last {
            Some(last) => run.rest().partition_point(|entry| *entry <= last),
            None => run.rest().len(),
        };
        let mut part: Vec<Entry> = Vec::new();
        let count = runs.iter().map(upto).sum();
        part.try_reserve_exact(count).map_err(|_| out_of_memory())?;
        for run in runs.iter_mut() {
            let count = upto(run);
            part.extend_from_slice(&run.rest()[..count]);
            run.position += count;
        }
        Ok((count > 0).then_some((part, count * size_of::<Entry>())))
    };
    let sort = |part: &mut Vec<Entry>, check: &mut dyn FnMut()| {
        sort_by_key(part, check);
        Ok(std::mem::take(part))
    };
    crew.each(&mut next, &sort, engine, &mut |part| take(&part))
}

/// Sorted entries in a temporary file.
struct Run {
    file: *mut pg_sys::BufFile,
    left: usize,
    buffer: Vec<Entry>,
    position: usize,
    size: usize,
}

impl Run {
    fn create() -> Self {
        // SAFETY: a temporary file of the query, which an ERROR removes.
        let file = unsafe {
            pg_sys::PrepareTempTablespaces();
            pg_sys::BufFileCreateTemp(false)
        };
        Self { file, left: 0, buffer: Vec::new(), position: 0, size: 0 }
    }

    /// Appends entries, which come in ascending order.
    fn write(&mut self, entries: &[Entry]) {
        for part in entries.chunks(STRIDE) {
            check_interrupts();
            let start = part.as_ptr().cast_mut().cast();
            // SAFETY: an open file; the bytes are valid for the call.
            unsafe { pg_sys::BufFileWrite(self.file, start, size_of_val(part)) };
        }
        self.left += entries.len();
    }

    /// Goes to the first entry, to read `size` entries at a time.
    fn rewind(&mut self, size: usize) -> Result<()> {
        self.buffer.try_reserve_exact(size).map_err(|_| out_of_memory())?;
        self.size = size;
        // SAFETY: an open file.
        match unsafe { pg_sys::BufFileSeek(self.file, 0, 0, 0) } {
            0 => Ok(()),
            _ => Err(unreadable()),
        }
    }

    /// The entries that were read, and not taken yet.
    fn rest(&self) -> &[Entry] {
        &self.buffer[self.position..]
    }

    /// The entry that none of those still to be read is less than, if there are any.
    fn bound(&self) -> Option<Entry> {
        self.buffer.last().copied().filter(|_| self.left > 0)
    }

    /// Reads more if half of the buffer was taken.
    fn fill(&mut self) -> Result<()> {
        let kept = self.buffer.len() - self.position;
        if self.left == 0 || kept > self.size / 2 {
            return Ok(());
        }
        check_interrupts();
        self.buffer.copy_within(self.position.., 0);
        self.position = 0;
        let count = self.left.min(self.size - kept);
        self.buffer.truncate(kept);
        self.buffer.resize(kept + count, Entry { key: 0, tid: 0 });
        let (start, bytes) = (&mut self.buffer[kept..], count * size_of::<Entry>());
        // SAFETY: the buffer has room for that many bytes, and any bits make an `Entry`.
        let read = unsafe { pg_sys::BufFileRead(self.file, start.as_mut_ptr().cast(), bytes) };
        if read != bytes {
            return Err(unreadable());
        }
        self.left -= count;
        Ok(())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: made by `create`, closed once; after an ERROR PostgreSQL does it.
            unsafe { pg_sys::BufFileClose(self.file) };
        }
    }
}

fn unreadable() -> pg_sys::panic::ErrorReport {
    error(PgSqlErrorCode::ERRCODE_IO_ERROR, "could not read a temporary file of an index build")
}
