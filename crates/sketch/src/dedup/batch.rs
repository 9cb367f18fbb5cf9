//! Documents of some groups: in memory, or until they are processed, at their host or in files.

use std::ops::Range;

use super::attributes::Scope;
use crate::exact::{agree, agreement_hash};
use crate::pipeline::Crew;
use crate::simd::Level;
use crate::spool::{NewFile, NumberFile};
use crate::stored::{Packing, StoredBytes};
use crate::{Check, Result, memory};

/// Documents of some groups.
pub(super) struct Batch {
    pub(super) held: Held,
    files: Option<Files>,
}

/// The storage of a batch until it is processed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// In memory.
    Held,
    /// At their host, from which they are fetched again.
    AtHost,
    /// In a temporary file.
    InFile,
}

/// Documents in memory, which threads may read.
#[derive(Default)]
pub(super) struct Held {
    /// The names of its documents, in order.
    pub(super) names: Vec<u32>,
    /// The scope of each document, if there are any.
    pub(super) scopes: Vec<Scope>,
    /// Each document's own threshold, if documents have them.
    pub(super) leasts: Vec<f64>,
    /// The sets that must agree, one after another, unless they stay in a file; and the end of each, if they must
    /// agree.
    sets: Vec<u128>,
    set_ends: Vec<u64>,
    /// The number of each fetched document's origin, if boilerplate does not count.
    pub(super) origins: Vec<u32>,
    /// The group of each document.
    pub(super) roots: Vec<u32>,
    /// The hashes of each document, once the batch is loaded, unless they stay in a file.
    pub(super) hashes: Vec<u64>,
    /// Number of hashes for each document.
    pub(super) width: usize,
    /// The compared bytes of each document as they are stored, one after another.
    bytes: Vec<u8>,
    ends: Vec<u64>,
    packings: Vec<Packing>,
}

/// The compared bytes of documents, with their hashes.
pub(super) struct Bytes<'a> {
    pub(super) held: &'a Held,
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
    /// For each document its name and its group, followed by its size in the file and its packing, or by its number.
    places: NumberFile,
    /// Hashes, in document order.
    hashes: NumberFile,
    /// The compared bytes, unless they are fetched again.
    bytes: Option<NumberFile>,
    /// The elements of the sets that must agree, until they are in memory.
    sets: Option<NumberFile>,
    new_file: NewFile,
}

/// Number of values for each document in [`Files::places`].
const PLACE: usize = 4;

impl Batch {
    /// An empty batch.
    pub(super) fn new(width: usize, until: Until, new_file: NewFile) -> Result<Self> {
        let file = || NumberFile::new(new_file);
        let files = || {
            let bytes = if until == Until::InFile { Some(file()?) } else { None };
            Ok(Files { places: file()?, hashes: file()?, bytes, sets: None, new_file })
        };
        let held = Held { width, ..Held::default() };
        Ok(Self { held, files: if until == Until::Held { None } else { Some(files()?) } })
    }

    /// Appends a document with its name and group, its hashes, and its compared bytes as they are stored.
    pub(super) fn push(&mut self, [name, root]: [u32; 2], hashes: &[u64], stored: StoredBytes) -> Result<()> {
        let Some(files) = &mut self.files else {
            memory::extend(&mut self.held.hashes, hashes)?;
            return self.held.push(name, root, stored);
        };
        let StoredBytes { bytes, packing } = stored;
        // A document is smaller than 4 GB.
        files.push([name, root, bytes.len() as u32, packing.0], hashes)?;
        files.bytes.iter_mut().try_for_each(|file| file.append(bytes))
    }

    /// Appends the set of the next document.
    pub(super) fn push_set(&mut self, set: &[u128]) -> Result<()> {
        let Held { sets, set_ends, .. } = &mut self.held;
        let before = set_ends.last().copied().unwrap_or(0);
        memory::push(set_ends, before + set.len() as u64)?;
        match &mut self.files {
            Some(files) if !set.is_empty() => files.sets()?.append(set),
            Some(_) => Ok(()),
            None => memory::extend(sets, set),
        }
    }

    /// Appends a document that is fetched again by its number. False if documents of this batch are stored.
    pub(super) fn push_number(&mut self, [name, root]: [u32; 2], hashes: &[u64], number: u32) -> Result<bool> {
        let Some(files) = self.files.as_mut().filter(|files| files.bytes.is_none()) else { return Ok(false) };
        files.push([name, root, number, 0], hashes).map(|()| true)
    }

    /// Reads from files what fits into `memory` bytes, and reuses the memory of the previous batch. Returns name, group
    /// and number of each document that must be fetched and [put](Self::put), in order.
    pub(super) fn load(&mut self, memory: usize, before: Held) -> Result<Vec<[u32; PLACE]>> {
        let Some(mut files) = self.files.take() else { return Ok(Vec::new()) };
        let held = &mut self.held;
        let memory = memory as u64;
        let size = files.hashes.len() + files.bytes.as_ref().map_or(0, NumberFile::len);
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
        let mut places = memory::filled([0_u32; PLACE], count)?;
        files.places.read(0, places.as_flattened_mut())?;
        let Some(bytes) = &mut files.bytes else {
            held.bytes = before.bytes;
            held.bytes.clear();
            return Ok(places);
        };
        for [name, root, size, packing] in places {
            held.place(name, root, size as usize, Packing(packing))?;
        }
        if stays {
            self.files = Some(files);
        } else {
            held.bytes = sized(before.bytes, bytes.len() as usize)?;
            bytes.read(0, &mut held.bytes)?;
        }
        Ok(Vec::new())
    }

    /// Appends the next document that was fetched.
    pub(super) fn put(&mut self, [name, root, ..]: [u32; PLACE], stored: StoredBytes) -> Result<()> {
        self.held.push(name, root, stored)
    }

    /// The bytes of its documents, in memory or in files.
    pub(super) fn bytes(&mut self) -> Bytes<'_> {
        Bytes { files: self.files.as_mut(), ..Bytes::held(&self.held) }
    }

    /// True if its documents are in memory.
    pub(super) fn is_held(&self) -> bool {
        self.files.is_none()
    }
}

impl Files {
    /// Appends a document.
    fn push(&mut self, values: [u32; PLACE], hashes: &[u64]) -> Result<()> {
        self.places.append(&values)?;
        self.hashes.append(hashes)
    }

    /// The file of sets, which is made for the first one.
    fn sets(&mut self) -> Result<&mut NumberFile> {
        match &mut self.sets {
            Some(sets) => Ok(sets),
            none => Ok(none.insert(NumberFile::new(self.new_file)?)),
        }
    }

    /// Reads the hashes of a document.
    fn row(&mut self, place: u32, row: &mut [u64]) -> Result<()> {
        self.hashes.read(u64::from(place) * size_of_val(row) as u64, row)
    }
}

impl Held {
    /// True if the hashes are in memory.
    pub(super) fn has_hashes(&self) -> bool {
        !self.hashes.is_empty()
    }

    /// Appends the compared bytes of a document.
    fn push(&mut self, name: u32, root: u32, stored: StoredBytes) -> Result<()> {
        self.place(name, root, stored.bytes.len(), stored.packing)?;
        memory::extend(&mut self.bytes, stored.bytes)
    }

    /// Appends a document whose bytes follow the previous one's.
    fn place(&mut self, name: u32, root: u32, size: usize, packing: Packing) -> Result<()> {
        memory::push(&mut self.names, name)?;
        memory::push(&mut self.roots, root)?;
        let before = self.ends.last().copied().unwrap_or(0);
        memory::push(&mut self.ends, before + size as u64)?;
        memory::push(&mut self.packings, packing)
    }

    /// Size of a document's compared bytes after decompression.
    pub(super) fn size(&self, place: u32) -> usize {
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
    pub(super) fn sizes(&self, group: &[(u32, u32)]) -> usize {
        group.iter().map(|(_, place)| self.size(*place)).sum()
    }

    /// Prefetches the bytes of documents in memory.
    pub(super) fn fetch(&self, group: &[(u32, u32)]) {
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
fn sized<T: Copy + Default>(mut vec: Vec<T>, count: usize) -> Result<Vec<T>> {
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
pub(super) type Make<'a, R> = dyn Fn(usize, &[u8], Check) -> Result<R> + Sync + 'a;

impl<'a> Bytes<'a> {
    /// The bytes of documents in memory.
    pub(super) fn held(held: &'a Held) -> Self {
        Self { held, files: None, read: Vec::new(), room: Vec::new(), sets: Default::default() }
    }

    /// Makes a value of each document at `places` with a crew, and passes the values to `take`, in order.
    pub(super) fn each<R: Send>(
        &mut self,
        places: &[u32],
        crew: &mut Crew,
        make: &Make<R>,
        take: &mut dyn FnMut(R) -> Result<()>,
    ) -> Result<()> {
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
    fn copies(&mut self, places: &[u32]) -> Result<Vec<u8>> {
        let held = self.held;
        let size = places.iter().map(|place| held.stored_size(*place)).sum();
        let mut copies = memory::with_capacity(size)?;
        for &place in places {
            self.with_stored(place, |stored| memory::extend(&mut copies, stored.bytes))?;
        }
        Ok(copies)
    }

    /// True if they are in memory.
    pub(super) fn is_held(&self) -> bool {
        self.files.is_none()
    }

    /// Reads the hashes of a document, which are in a file.
    pub(super) fn read_hashes(&mut self, place: u32, row: &mut [u64]) -> Result<()> {
        // Only the caller's thread accesses files.
        self.files.as_mut().map_or(Ok(()), |files| files.row(place, row))
    }

    /// True if the sets of two documents agree, or if sets are not compared.
    pub(super) fn agree(&mut self, a: u32, b: u32) -> Result<bool> {
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
    pub(super) fn agreement_hash(&mut self, place: u32) -> Result<u64> {
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

    fn read_set(&mut self, place: u32, set: &mut Vec<u128>) -> Result<()> {
        let range = self.held.set_range(place);
        set.clear();
        memory::resize(set, range.len(), 0)?;
        let file = self.files.as_mut().and_then(|files| files.sets.as_mut());
        file.map_or(Ok(()), |file| file.read((range.start * size_of::<u128>()) as u64, set))
    }

    /// Size of a document's stored bytes, and their packing.
    pub(super) fn stored_size(&self, place: u32) -> (usize, Packing) {
        (self.held.stored_size(place), self.held.packings[place as usize])
    }

    /// Calls `look` with the compared bytes of a document.
    pub(super) fn with<T>(&mut self, place: u32, look: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        let mut room = std::mem::take(&mut self.room);
        let looked = self.with_stored(place, |stored| look(stored.unpacked(&mut room)?));
        self.room = room;
        looked
    }

    /// Calls `look` with the stored bytes of a document.
    pub(super) fn with_stored<T>(&mut self, place: u32, look: impl FnOnce(StoredBytes) -> Result<T>) -> Result<T> {
        let held = self.held;
        let file = self.files.as_mut().and_then(|files| files.bytes.as_mut());
        let Some(file) = file else { return look(held.of(place)) };
        let (start, size) = (held.range(place).0, held.stored_size(place));
        self.read.clear();
        memory::resize(&mut self.read, size, 0)?;
        file.read(start, &mut self.read)?;
        look(held.stored(place, &self.read))
    }
}
