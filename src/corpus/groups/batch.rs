//! Documents of some groups: in memory, or until they are processed, in their table or in files.

use std::ops::Range;

use sketch::pipeline::Crew;
use sketch::stored::{Packing, StoredBytes};
use sketch::{Error, Level, agree, agreement_hash};

use crate::corpus::reading::columns::Scope;
use crate::corpus::source::reader::TakeStored;
use crate::pg::temp_file::TempFile;
use crate::prelude::*;

/// Documents of some groups.
pub struct Batch {
    pub held: Held,
    files: Option<Files>,
}

/// The storage of a batch until it is processed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// In memory.
    Held,
    /// In their table, from which they are fetched again.
    InTable,
    /// In a temporary file.
    InFile,
}

/// Documents in memory, which threads may read.
#[derive(Default)]
pub struct Held {
    /// The names of its documents, in order.
    pub names: Vec<u32>,
    /// The scope of each document, if there are any.
    pub scopes: Vec<Scope>,
    /// Each document's own threshold, if documents have them.
    pub leasts: Vec<f64>,
    /// The sets that must agree, one after another, unless they stay in a file; and the end of each, if they must
    /// agree.
    sets: Vec<u128>,
    set_ends: Vec<u64>,
    /// The number of each fetched document's origin, if boilerplate does not count.
    pub origins: Vec<u32>,
    /// The group of each document.
    pub roots: Vec<u32>,
    /// The hashes of each document, once the batch is loaded, unless they stay in a file.
    pub hashes: Vec<u64>,
    /// Number of hashes for each document.
    pub width: usize,
    /// The compared bytes of each document as they are stored, one after another.
    bytes: Vec<u8>,
    ends: Vec<u64>,
    packings: Vec<Packing>,
}

/// The compared bytes of documents, with their hashes.
pub struct Bytes<'a> {
    pub held: &'a Held,
    /// The files that have them, if they are not in memory.
    files: Option<&'a mut Files>,
    /// Scratch buffers: one document as stored, and decompressed.
    read: Vec<u8>,
    room: Vec<u8>,
    /// Scratch buffers: two sets.
    sets: [Vec<u128>; 2],
}

/// A batch that is not processed yet: only the scopes of its documents are in memory.
struct Files {
    /// For each document its name and its group, followed by its size in the file and its packing, or by the place of
    /// its row.
    places: TempFile,
    /// Hashes, in document order.
    hashes: TempFile,
    /// The compared bytes, unless they are fetched again.
    bytes: Option<TempFile>,
    /// The elements of the sets that must agree, until they are in memory.
    sets: Option<TempFile>,
}

/// Number of values for each document in [`Files::places`].
const PLACE: usize = 4;

impl Batch {
    /// An empty batch.
    pub fn new(width: usize, until: Until) -> Self {
        let files = || Files {
            places: TempFile::create(),
            hashes: TempFile::create(),
            bytes: (until == Until::InFile).then(TempFile::create),
            sets: None,
        };
        let held = Held { width, ..Held::default() };
        Self { held, files: (until != Until::Held).then(files) }
    }

    /// True if its documents are fetched again.
    pub fn is_in_table(&self) -> bool {
        self.files.as_ref().is_some_and(|files| files.bytes.is_none())
    }

    /// Appends a document with its name and group, its hashes, and its compared bytes as they are stored.
    pub fn push(&mut self, [name, root]: [u32; 2], hashes: &[u64], stored: StoredBytes) -> Result<()> {
        let Some(files) = &mut self.files else {
            memory::extend(&mut self.held.hashes, hashes)?;
            return self.held.push(name, root, stored);
        };
        let StoredBytes { bytes, packing } = stored;
        // A value is smaller than 1 GB.
        files.push([name, root, bytes.len() as u32, packing.0], hashes);
        files.bytes.iter_mut().for_each(|file| file.append(bytes));
        Ok(())
    }

    /// Appends the set of the next document.
    pub fn push_set(&mut self, set: &[u128]) -> Result<()> {
        let Held { sets, set_ends, .. } = &mut self.held;
        let before = set_ends.last().copied().unwrap_or(0);
        memory::push(set_ends, before + set.len() as u64)?;
        match &mut self.files {
            Some(files) if !set.is_empty() => {
                files.sets.get_or_insert_with(TempFile::create).append(set);
            }
            Some(_) => {}
            None => memory::extend(sets, set)?,
        }
        Ok(())
    }

    /// Appends a document that is fetched again from `place`.
    pub fn push_place(&mut self, [name, root]: [u32; 2], hashes: &[u64], place: u64) {
        let values = [name, root, (place >> 32) as u32, place as u32];
        self.files.iter_mut().for_each(|files| files.push(values, hashes));
    }

    /// Reads from files what fits into `memory` bytes, and reuses the memory of the previous batch. `fetch` is called
    /// with the places of documents to fetch, and with a function that takes them in order.
    pub fn load(
        &mut self,
        memory: usize,
        before: Held,
        fetch: &mut dyn FnMut(&mut dyn Iterator<Item = u64>, &mut TakeStored) -> Result<()>,
    ) -> Result<()> {
        let Some(mut files) = self.files.take() else { return Ok(()) };
        let held = &mut self.held;
        let memory = memory as u64;
        let size = files.hashes.len() + files.bytes.as_ref().map_or(0, TempFile::len);
        let stays = files.bytes.is_some() && size > memory;
        let count = files.places.len() as usize / size_of::<[u32; PLACE]>();
        if !stays || files.hashes.len() <= memory / 4 {
            held.hashes = sized(before.hashes, count * held.width)?;
            files.hashes.read(0, &mut held.hashes)?;
        }
        if let Some(mut sets) = files.sets.take_if(|sets| !stays || sets.len() <= memory / 4) {
            held.sets = memory::filled(0, sets.len() as usize / size_of::<u128>())?;
            sets.read(0, &mut held.sets)?;
        }
        let mut places = memory::filled(0_u32, count * PLACE)?;
        files.places.read(0, &mut places)?;
        let places = places.as_chunks::<PLACE>().0;
        let Some(bytes) = &mut files.bytes else {
            held.bytes = before.bytes;
            held.bytes.clear();
            let whole = |&[.., high, low]: &[u32; PLACE]| u64::from(high) << 32 | u64::from(low);
            let mut fetched = places.iter();
            return fetch(&mut places.iter().map(whole), &mut |stored| {
                let Some(&[name, root, ..]) = fetched.next() else { return Ok(()) };
                held.push(name, root, stored)
            });
        };
        for &[name, root, size, packing] in places {
            held.place(name, root, size as usize, Packing(packing))?;
        }
        if stays {
            self.files = Some(files);
        } else {
            held.bytes = sized(before.bytes, bytes.len() as usize)?;
            bytes.read(0, &mut held.bytes)?;
        }
        Ok(())
    }

    /// The bytes of its documents, in memory or in files.
    pub fn bytes(&mut self) -> Bytes<'_> {
        Bytes { files: self.files.as_mut(), ..Bytes::held(&self.held) }
    }

    /// True if its documents are in memory.
    pub fn is_held(&self) -> bool {
        self.files.is_none()
    }
}

impl Files {
    /// Appends a document.
    fn push(&mut self, values: [u32; PLACE], hashes: &[u64]) {
        self.places.append(&values);
        self.hashes.append(hashes);
    }

    /// Reads the hashes of a document.
    fn row(&mut self, place: u32, row: &mut [u64]) -> Result<()> {
        self.hashes.read(u64::from(place) * size_of_val(row) as u64, row)
    }
}

impl Held {
    /// True if the hashes are in memory.
    pub fn has_hashes(&self) -> bool {
        !self.hashes.is_empty()
    }

    /// Appends the compared bytes of a document.
    fn push(&mut self, name: u32, root: u32, stored: StoredBytes) -> Result<()> {
        self.place(name, root, stored.bytes.len(), stored.packing)?;
        memory::extend(&mut self.bytes, stored.bytes).map_err(Into::into)
    }

    /// Appends a document whose bytes follow the previous one's.
    fn place(&mut self, name: u32, root: u32, size: usize, packing: Packing) -> Result<()> {
        memory::push(&mut self.names, name)?;
        memory::push(&mut self.roots, root)?;
        let before = self.ends.last().copied().unwrap_or(0);
        memory::push(&mut self.ends, before + size as u64)?;
        memory::push(&mut self.packings, packing).map_err(Into::into)
    }

    /// Size of a document's compared bytes after decompression.
    pub fn size(&self, place: u32) -> usize {
        self.packings[place as usize].size(self.stored_size(place))
    }

    /// Size of a document's stored bytes.
    fn stored_size(&self, place: u32) -> usize {
        let (start, end) = self.range(place);
        (end - start) as usize
    }

    /// The range of a document's set in the elements of all.
    fn set_range(&self, place: u32) -> Range<usize> {
        let place = place as usize;
        let start = if place == 0 { 0 } else { self.set_ends[place - 1] };
        start as usize..self.set_ends[place] as usize
    }

    /// The range of a document's stored bytes.
    fn range(&self, place: u32) -> (u64, u64) {
        let place = place as usize;
        (if place == 0 { 0 } else { self.ends[place - 1] }, self.ends[place])
    }

    /// Total size of the compared bytes of documents, each given by its root and its place.
    pub fn sizes(&self, group: &[(u32, u32)]) -> usize {
        group.iter().map(|(_, place)| self.size(*place)).sum()
    }

    /// Prefetches the bytes of documents in memory.
    pub fn fetch(&self, group: &[(u32, u32)]) {
        group.iter().for_each(|(_, place)| Level::best().fetch(self.of(*place).bytes));
    }

    /// The stored bytes of a document in memory.
    fn of(&self, place: u32) -> StoredBytes<'_> {
        let (start, end) = self.range(place);
        self.stored(place, &self.bytes[start as usize..end as usize])
    }

    /// A document with these stored bytes.
    fn stored<'a>(&self, place: u32, bytes: &'a [u8]) -> StoredBytes<'a> {
        StoredBytes { bytes, packing: self.packings[place as usize] }
    }
}

/// Resizes a vector, in place if its capacity suffices: memory that was used before causes no page faults.
fn sized<T: Copy + Default>(mut vec: Vec<T>, count: usize) -> Result<Vec<T>, Error> {
    if vec.capacity() < count {
        drop(vec);
        return memory::filled(T::default(), count);
    }
    vec.resize(count, T::default());
    Ok(vec)
}

/// Bytes of the documents in a portion.
const PORTION: usize = 64 << 10;

/// Maximum bytes that are made of a byte of a document: a hash.
const MADE: usize = size_of::<u64>();

/// Makes a value of a document, by its number among the places and its bytes.
pub type Make<'a, R> = dyn Fn(usize, &[u8], Check) -> Result<R, Error> + Sync + 'a;

impl<'a> Bytes<'a> {
    /// The bytes of documents in memory.
    pub fn held(held: &'a Held) -> Self {
        Self { held, files: None, read: Vec::new(), room: Vec::new(), sets: Default::default() }
    }

    /// Makes a value of each document at `places` with a crew, and passes the values to `take`, in order.
    pub fn each<R: Send>(
        &mut self,
        places: &[u32],
        crew: &mut Crew,
        make: &Make<R>,
        take: &mut dyn FnMut(R) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (held, is_held) = (self.held, self.is_held());
        let mut start = 0;
        // The documents of a portion, and copies of those in a file.
        let mut next = || {
            let (mut end, mut size) = (start, 0);
            while end < places.len() && size < PORTION {
                size += held.size(places[end]);
                end += 1;
            }
            if start == end {
                return Ok(None);
            }
            let documents = std::mem::replace(&mut start, end)..end;
            let copies = if is_held { Vec::new() } else { self.copies(&places[documents.clone()])? };
            Ok(Some(((documents, copies), size * (1 + MADE))))
        };
        let compute = |(documents, copies): &mut (Range<usize>, Vec<u8>), check: Check| {
            let mut made = memory::with_capacity(documents.len())?;
            let (mut at, mut room) = (0, Vec::new());
            for document in documents.clone() {
                check();
                let (place, start) = (places[document], at);
                at += held.stored_size(place);
                let stored = match is_held {
                    true => held.of(place),
                    false => held.stored(place, &copies[start..at]),
                };
                made.push(make(document, stored.unpacked(&mut room)?, check)?);
            }
            Ok(made)
        };
        crew.each(&mut next, &compute, &mut |made| made.into_iter().try_for_each(&mut *take))
    }

    /// Copies the stored bytes of some documents, one after another.
    fn copies(&mut self, places: &[u32]) -> Result<Vec<u8>, Error> {
        let held = self.held;
        let size = places.iter().map(|place| held.stored_size(*place)).sum();
        let mut copies = memory::with_capacity(size)?;
        for &place in places {
            self.with_stored(place, |stored| memory::extend(&mut copies, stored.bytes))?;
        }
        Ok(copies)
    }

    /// True if they are in memory.
    pub fn is_held(&self) -> bool {
        self.files.is_none()
    }

    /// Reads the hashes of a document, which are in a file.
    pub fn read_hashes(&mut self, place: u32, row: &mut [u64]) {
        if let Some(files) = &mut self.files {
            // Only the backend accesses files.
            files.row(place, row).unwrap_or_else(|report| raise(report));
        }
    }

    /// True if the sets of two documents agree, or if sets are not compared.
    pub fn agree(&mut self, a: u32, b: u32) -> Result<bool, Error> {
        if self.held.set_ends.is_empty() {
            return Ok(true);
        }
        if let (Some(a), Some(b)) = (self.held_set(a), self.held_set(b)) {
            return Ok(agree(a, b));
        }
        let [mut of_a, mut of_b] = std::mem::take(&mut self.sets);
        let outcome = self.read_set(a, &mut of_a).and_then(|()| self.read_set(b, &mut of_b));
        let agrees = outcome.map(|()| agree(&of_a, &of_b));
        self.sets = [of_a, of_b];
        agrees
    }

    /// A hash of a document's set that must agree.
    pub fn agreement_hash(&mut self, place: u32) -> Result<u64, Error> {
        if self.held.set_ends.is_empty() {
            return Ok(0);
        }
        if let Some(set) = self.held_set(place) {
            return agreement_hash(set);
        }
        let [mut set, other] = std::mem::take(&mut self.sets);
        let hash = self.read_set(place, &mut set).and_then(|()| agreement_hash(&set));
        self.sets = [set, other];
        hash
    }

    /// The set of a document, if it is in memory or empty.
    fn held_set(&self, place: u32) -> Option<&'a [u128]> {
        let held = self.held;
        let range = held.set_range(place);
        if range.is_empty() { Some(&[]) } else { held.sets.get(range) }
    }

    fn read_set(&mut self, place: u32, set: &mut Vec<u128>) -> Result<(), Error> {
        let range = self.held.set_range(place);
        set.clear();
        memory::resize(set, range.len(), 0)?;
        if let Some(file) = self.files.as_mut().and_then(|files| files.sets.as_mut()) {
            // Only the backend accesses files.
            let start = (range.start * size_of::<u128>()) as u64;
            file.read(start, set).unwrap_or_else(|report| raise(report));
        }
        Ok(())
    }

    /// Size of a document's stored bytes, and their packing.
    pub fn stored_size(&self, place: u32) -> (usize, Packing) {
        (self.held.stored_size(place), self.held.packings[place as usize])
    }

    /// Calls `look` with the compared bytes of a document.
    pub fn with<T>(&mut self, place: u32, look: impl FnOnce(&[u8]) -> Result<T, Error>) -> Result<T, Error> {
        let mut room = std::mem::take(&mut self.room);
        let looked = self.with_stored(place, |stored| look(stored.unpacked(&mut room)?));
        self.room = room;
        looked
    }

    /// Calls `look` with the stored bytes of a document.
    pub fn with_stored<T>(
        &mut self,
        place: u32,
        look: impl FnOnce(StoredBytes) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let held = self.held;
        let file = self.files.as_mut().and_then(|files| files.bytes.as_mut());
        let Some(file) = file else { return look(held.of(place)) };
        // Only the backend accesses files.
        let (start, size) = (held.range(place).0, held.stored_size(place));
        self.read.clear();
        memory::resize(&mut self.read, size, 0)?;
        file.read(start, &mut self.read).unwrap_or_else(|report| raise(report));
        look(held.stored(place, &self.read))
    }
}
