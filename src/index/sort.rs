//! Sorts the entries of a build within maintenance_work_mem: radix sort in memory, and beyond it
//! sorted runs in temporary files, merged by a heap.
//!
//! Keys are hashes, so three passes over their upper 33 bits leave next to nothing to do. This takes 64
//! to 87 ns an entry with everything spilled, PostgreSQL's own tuplesort 258 to 531 ns.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use pgrx::pg_sys;
use pgrx::prelude::*;

use crate::error::{Result, error, out_of_memory};
use crate::index::layout::Entry;
use crate::pg::interrupts::check_interrupts;

const DIGIT_BITS: u32 = 11;
const BUCKETS: usize = 1 << DIGIT_BITS;
/// The passes of the radix sort: shifts of the digits, the lowest first.
const SHIFTS: [u32; 3] = [31, 42, 53];
/// Work between two looks at interrupts.
const STRIDE: usize = 1 << 18;
/// Bytes read of a run at a time: not more, nor less.
const RUN_BUFFER: std::ops::RangeInclusive<usize> = 8 << 10..=256 << 10;

/// Takes entries in any order. Its files belong to the memory context that is current when entries
/// are pushed.
pub struct Sorter {
    entries: Vec<Entry>,
    /// Entries held in memory at most; as many again serve the sort.
    capacity: usize,
    runs: Vec<Run>,
}

impl Sorter {
    /// A sorter that takes `memory` bytes.
    pub fn new(memory: usize) -> Self {
        let capacity = (memory / (2 * size_of::<Entry>())).max(1024);
        Self { entries: Vec::new(), capacity, runs: Vec::new() }
    }

    /// Takes an entry.
    pub fn push(&mut self, entry: Entry) -> Result<()> {
        if self.entries.len() == self.entries.capacity() {
            self.grow()?;
        }
        self.entries.push(entry);
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
        sort(&mut self.entries)?;
        self.runs.push(Run::write(&self.entries));
        self.entries.clear();
        Ok(())
    }

    /// Calls `visit` with all entries in ascending order.
    pub fn finish(mut self, mut visit: impl FnMut(Entry) -> Result<()>) -> Result<()> {
        if self.runs.is_empty() {
            sort(&mut self.entries)?;
            return self.entries.into_iter().try_for_each(visit);
        }
        if !self.entries.is_empty() {
            self.spill()?;
        }
        let memory = self.capacity * 2 * size_of::<Entry>();
        drop(std::mem::take(&mut self.entries));
        let buffer = (memory / self.runs.len()).clamp(*RUN_BUFFER.start(), *RUN_BUFFER.end());
        let mut heap = BinaryHeap::new();
        heap.try_reserve(self.runs.len()).map_err(|_| out_of_memory())?;
        for (number, run) in self.runs.iter_mut().enumerate() {
            run.rewind(buffer / size_of::<Entry>())?;
            heap.extend(run.next()?.map(|entry| Reverse((entry, number))));
        }
        while let Some(mut least) = heap.peek_mut() {
            let Reverse((entry, number)) = *least;
            match self.runs[number].next()? {
                Some(next) => *least = Reverse((next, number)),
                None => drop(std::collections::binary_heap::PeekMut::pop(least)),
            }
            visit(entry)?;
        }
        Ok(())
    }
}

/// Sorts by key and row.
fn sort(entries: &mut Vec<Entry>) -> Result<()> {
    let mut from = std::mem::take(entries);
    let mut to = Vec::new();
    to.try_reserve_exact(from.len()).map_err(|_| out_of_memory())?;
    to.resize(from.len(), Entry { key: 0, tid: 0 });
    for shift in SHIFTS {
        let digit = |entry: &Entry| (entry.key >> shift) as usize & (BUCKETS - 1);
        let mut starts = [0_usize; BUCKETS];
        for part in from.chunks(STRIDE) {
            check_interrupts();
            part.iter().for_each(|entry| starts[digit(entry)] += 1);
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += std::mem::replace(start, sum);
        }
        for part in from.chunks(STRIDE) {
            check_interrupts();
            for entry in part {
                let place = &mut starts[digit(entry)];
                to[*place] = *entry;
                *place += 1;
            }
        }
        std::mem::swap(&mut from, &mut to);
    }
    // What agrees in all digits is sorted by itself. That is little, or lies in order already.
    let mut start = 0;
    while start < from.len() {
        let upper = from[start].key >> SHIFTS[0];
        let same = from[start..].iter().take_while(|entry| entry.key >> SHIFTS[0] == upper).count();
        if same > 1 {
            check_interrupts();
            from[start..start + same].sort_unstable();
        }
        start += same;
    }
    *entries = from;
    Ok(())
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
    fn write(entries: &[Entry]) -> Self {
        // SAFETY: a temporary file of the query, which an ERROR removes; the bytes are valid for
        // the call.
        let file = unsafe {
            pg_sys::PrepareTempTablespaces();
            let file = pg_sys::BufFileCreateTemp(false);
            for part in entries.chunks(STRIDE) {
                check_interrupts();
                let start = part.as_ptr().cast_mut().cast();
                pg_sys::BufFileWrite(file, start, size_of_val(part));
            }
            file
        };
        Self { file, left: entries.len(), buffer: Vec::new(), position: 0, size: 0 }
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

    fn next(&mut self) -> Result<Option<Entry>> {
        if self.position == self.buffer.len() {
            if self.left == 0 {
                return Ok(None);
            }
            check_interrupts();
            let count = self.left.min(self.size);
            self.buffer.clear();
            self.buffer.resize(count, Entry { key: 0, tid: 0 });
            let bytes = count * size_of::<Entry>();
            // SAFETY: the buffer has room for that many bytes, and any bits make an `Entry`.
            let read =
                unsafe { pg_sys::BufFileRead(self.file, self.buffer.as_mut_ptr().cast(), bytes) };
            if read != bytes {
                return Err(unreadable());
            }
            self.left -= count;
            self.position = 0;
        }
        self.position += 1;
        Ok(Some(self.buffer[self.position - 1]))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: created in `write`, closed once; after an ERROR PostgreSQL does it.
            unsafe { pg_sys::BufFileClose(self.file) };
        }
    }
}

fn unreadable() -> pg_sys::panic::ErrorReport {
    error(PgSqlErrorCode::ERRCODE_IO_ERROR, "could not read a temporary file of an index build")
}
