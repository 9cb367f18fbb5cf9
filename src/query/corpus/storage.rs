//! The records of a whole corpus, within maintenance_work_mem and temporary files.

use sketch::corpus::{Layout, Record, Records};

use crate::error::Result;
use crate::pg::temp_file::TempFile;

/// Records read from the file that are kept at hand: the members of a bucket are compared
/// with each other, one after the other. A power of two.
const CACHED: usize = 4096;

/// Bytes for hashes on their way to the file of columns.
const PENDING: usize = 1 << 20;

/// Bands by which it is told without a look into the file that two documents have met: pairs of
/// near-duplicates nearly always share one of the first.
const TAGGED: usize = 2;

/// Words of a hash.
const HASH: usize = 2;

/// Records by document number.
pub struct Storage {
    /// The first documents, as many as memory holds.
    memory: Records,
    /// Bytes that `memory` may take.
    limit: usize,
    /// The rest.
    file: Option<Spilled>,
}

impl Storage {
    /// No documents yet, and `limit` bytes of memory for them.
    pub fn new(layout: Layout, limit: usize) -> Self {
        Self { memory: Records::new(layout), limit, file: None }
    }

    /// Adds the next document.
    pub fn push(&mut self, signature: &[i32], bands: &[i64]) {
        let layout = self.memory.layout();
        let size = layout.words() * size_of::<i32>();
        if self.file.is_none() && self.memory.bytes() + size <= self.limit {
            self.memory.push(signature, bands);
            return;
        }
        self.file.get_or_insert_with(|| Spilled::new(layout)).push(signature, bands);
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.memory.len() + self.file.as_ref().map_or(0, |file| file.len)
    }

    /// All records, if all of them are in memory.
    pub fn in_memory(&self) -> Option<&Records> {
        self.file.is_none().then_some(&self.memory)
    }

    /// How many bands of each document are known.
    pub fn probes(&self) -> usize {
        self.memory.layout().probes()
    }

    /// Calls `visit(document, hash)` for each document, ascending; see [`Record::hash`].
    pub fn hashes(&mut self, column: usize, visit: &mut dyn FnMut(u32, u64)) -> Result<()> {
        self.memory.hashes(column, visit);
        let first = self.memory.len() as u32;
        self.file.as_mut().map_or(Ok(()), |file| file.hashes(column, first, visit))
    }

    /// Whether two documents share one of the first `bands` bands. (With probability 2^-32 it
    /// says so of two that do not.)
    pub fn share_band(&mut self, bands: usize, a: u32, b: u32) -> Result<bool> {
        let tagged = bands.min(TAGGED);
        if self.file.is_some() {
            let (tags_a, tags_b) = (self.tags(a), self.tags(b));
            if tags_a[..tagged].iter().zip(&tags_b).any(|(a, b)| a == b) {
                return Ok(true);
            }
        }
        if bands == 0 || self.file.is_some() && bands == tagged {
            return Ok(false);
        }
        self.pair(a, b, |a, b| a.shares_band(bands, &b))
    }

    fn tags(&self, document: u32) -> [u32; TAGGED] {
        let in_memory = self.memory.len();
        match &self.file {
            Some(file) if document as usize >= in_memory => {
                file.tags[document as usize - in_memory]
            }
            _ => tags(&self.memory.get(document), self.probes()),
        }
    }

    /// Calls `look` with the records of two documents.
    pub fn pair<T>(&mut self, a: u32, b: u32, look: impl FnOnce(Record, Record) -> T) -> Result<T> {
        let in_memory = self.memory.len() as u32;
        let Some(file) = &mut self.file else {
            return Ok(look(self.memory.get(a), self.memory.get(b)));
        };
        let layout = self.memory.layout();
        if a < in_memory && b < in_memory {
            return Ok(look(self.memory.get(a), self.memory.get(b)));
        }
        if a < in_memory {
            let b = layout.read(file.get(b - in_memory)?);
            return Ok(look(self.memory.get(a), b));
        }
        // The cache may keep only one of them.
        let mut left = std::mem::take(&mut file.left);
        left.clear();
        left.extend_from_slice(file.get(a - in_memory)?);
        let result = {
            let a = layout.read(&left);
            if b < in_memory {
                look(a, self.memory.get(b))
            } else {
                look(a, layout.read(file.get(b - in_memory)?))
            }
        };
        file.left = left;
        Ok(result)
    }
}

fn tags(record: &Record, probes: usize) -> [u32; TAGGED] {
    std::array::from_fn(|band| if band < probes { record.hash(band) as u32 } else { 0 })
}

/// Records in temporary files: one by one for comparing, and by band for sorting.
struct Spilled {
    layout: Layout,
    records: TempFile,
    /// `block` hashes of a band together; block after block, and in each band after band.
    columns: TempFile,
    block: usize,
    len: usize,
    /// The hashes of the documents of a block that is not full yet, band by band.
    pending: Vec<Vec<i32>>,
    record: Vec<i32>,
    /// For each document the low halves of its first hashes.
    tags: Vec<[u32; TAGGED]>,
    /// Which document each cached record is of, and the records.
    cached: Vec<u32>,
    cache: Vec<i32>,
    left: Vec<i32>,
}

impl Spilled {
    fn new(layout: Layout) -> Self {
        let columns = layout.probes() + 1;
        let block = (PENDING / size_of::<u64>() / columns).clamp(64, 4096);
        Self {
            layout,
            records: TempFile::create(layout.words()),
            columns: TempFile::create(block * HASH),
            block,
            len: 0,
            pending: vec![Vec::new(); columns],
            record: Vec::new(),
            tags: Vec::new(),
            cached: vec![u32::MAX; CACHED],
            cache: vec![0; CACHED * layout.words()],
            left: Vec::new(),
        }
    }

    fn push(&mut self, signature: &[i32], bands: &[i64]) {
        self.record.clear();
        self.layout.write(signature, bands, &mut self.record);
        self.records.append(&self.record);
        let hashes = self.layout.read(&self.record);
        self.tags.push(tags(&hashes, self.layout.probes()));
        for (column, pending) in self.pending.iter_mut().enumerate() {
            let hash = hashes.hash(column);
            pending.extend([hash as i32, (hash >> 32) as i32]);
        }
        self.len += 1;
        if self.len.is_multiple_of(self.block) {
            for pending in &mut self.pending {
                self.columns.append(pending);
                pending.clear();
            }
        }
    }

    fn hashes(&mut self, column: usize, first: u32, visit: &mut dyn FnMut(u32, u64)) -> Result<()> {
        let mut document = first;
        let mut each = |words: &[i32]| {
            for hash in words.chunks_exact(HASH) {
                visit(document, u64::from(hash[0] as u32) | u64::from(hash[1] as u32) << 32);
                document += 1;
            }
        };
        let mut words = vec![0; self.block * HASH];
        for block in 0..self.len / self.block {
            let number = block * self.pending.len() + column;
            self.columns.read(number as u64, &mut words)?;
            each(&words);
        }
        each(&self.pending[column]);
        Ok(())
    }

    fn get(&mut self, number: u32) -> Result<&[i32]> {
        let size = self.layout.words();
        let slot = number as usize % CACHED;
        let range = slot * size..(slot + 1) * size;
        if self.cached[slot] != number {
            self.cached[slot] = u32::MAX;
            self.records.read(number.into(), &mut self.cache[range.clone()])?;
            self.cached[slot] = number;
        }
        Ok(&self.cache[range])
    }
}
