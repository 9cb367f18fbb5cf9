//! Documents of some groups: in memory, or until they are processed, at their host or in files.

use std::ops::Range;

use super::attributes::Scope;
use crate::exact::{agree, agreement_hash};
use crate::pipeline::Crew;
use crate::simd::Level;
use crate::spool::{NewFile, Spool};
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
    places: Spool<u32>,
    /// Hashes, in document order.
    hashes: Spool<u64>,
    /// The compared bytes, unless they are fetched again.
    bytes: Option<Spool<u8>>,
    /// The elements of the sets that must agree.
    sets: Spool<u128>,
}

/// Number of values for each document in [`Files::places`].
const PLACE: usize = 4;

impl Batch {
    /// An empty batch.
    pub(super) fn new(width: usize, until: Until, new_file: NewFile) -> Self {
        let files = || Files {
            places: Spool::new(0, new_file),
            hashes: Spool::new(0, new_file),
            bytes: (until == Until::InFile).then(|| Spool::new(0, new_file)),
            sets: Spool::new(0, new_file),
        };
        let held = Held { width, ..Held::default() };
        Self { held, files: (until != Until::Held).then(files) }
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
        files.bytes.iter_mut().try_for_each(|file| file.append(bytes).map(|_| ()))
    }

    /// Appends the set of the next document.
    pub(super) fn push_set(&mut self, set: &[u128]) -> Result<()> {
        let Held { sets, set_ends, .. } = &mut self.held;
        let before = set_ends.last().copied().unwrap_or(0);
        memory::push(set_ends, before + set.len() as u64)?;
        match &mut self.files {
            Some(files) => files.sets.append(set).map(|_| ()),
            None => memory::extend(sets, set),
        }
    }

    /// Appends a document that is fetched again by its number. False if documents of this batch are stored.
    pub(super) fn push_number(&mut self, [name, root]: [u32; 2], hashes: &[u64], number: u32) -> Result<bool> {
        let Some(files) = self.files.as_mut().filter(|files| files.bytes.is_none()) else { return Ok(false) };
        files.push([name, root, number, 0], hashes).map(|()| true)
    }

    /// Reads from files what fits into `memory` bytes, and reuses the memory of the previous batch. Returns name, group
    /// and number of each document that must be fetched and [pushed](Held::push), in order.
    pub(super) fn load(&mut self, memory: usize, before: Held) -> Result<Vec<[u32; PLACE]>> {
        let Some(mut files) = self.files.take() else { return Ok(Vec::new()) };
        let held = &mut self.held;
        let memory = memory as u64;
        let size = files.hashes.bytes() + files.bytes.as_ref().map_or(0, Spool::bytes);
        let stays = files.bytes.is_some() && size > memory;
        if !stays || files.hashes.bytes() <= memory / 4 {
            held.hashes = sized(before.hashes, files.hashes.len() as usize)?;
            files.hashes.read(0, &mut held.hashes)?;
        }
        if !stays || files.sets.bytes() <= memory / 4 {
            files.sets.copy(0, files.sets.len() as usize, &mut held.sets)?;
        }
        let mut places = memory::filled([0_u32; PLACE], files.places.len() as usize / PLACE)?;
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
        self.hashes.append(hashes).map(|_| ())
    }
}

impl Held {
    /// True if the hashes are in memory.
    pub(super) fn has_hashes(&self) -> bool {
        !self.hashes.is_empty()
    }

    /// Appends the compared bytes of a document.
    pub(super) fn push(&mut self, name: u32, root: u32, stored: StoredBytes) -> Result<()> {
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
        range(&self.ends, place).len()
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
        self.stored(place, &self.bytes[range(&self.ends, place)])
    }

    /// A document with these stored bytes.
    fn stored<'a>(&self, place: u32, bytes: &'a [u8]) -> StoredBytes<'a> {
        StoredBytes { bytes, packing: self.packings[place as usize] }
    }
}

/// The range of a document's values among the values of all, by the `ends` of documents.
fn range(ends: &[u64], place: u32) -> Range<usize> {
    let place = place as usize;
    let start = if place == 0 { 0 } else { ends[place - 1] };
    start as usize..ends[place] as usize
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
            memory::extend(&mut copies, self.stored(place)?.bytes)?;
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
        self.files.as_mut().map_or(Ok(()), |files| files.hashes.read(u64::from(place) * row.len() as u64, row))
    }

    /// True if the sets of two documents agree, or if sets are not compared.
    pub(super) fn agree(&mut self, a: u32, b: u32) -> Result<bool> {
        let Self { held, files, sets: [of_a, of_b], .. } = self;
        Ok(held.set_ends.is_empty() || agree(set(held, files, a, of_a)?, set(held, files, b, of_b)?))
    }

    /// A hash of a document's set that must agree.
    pub(super) fn agreement_hash(&mut self, place: u32) -> Result<u64> {
        let Self { held, files, sets: [room, _], .. } = self;
        if held.set_ends.is_empty() { Ok(0) } else { agreement_hash(set(held, files, place, room)?) }
    }

    /// Size of a document's stored bytes, and their packing.
    pub(super) fn stored_size(&self, place: u32) -> (usize, Packing) {
        (self.held.stored_size(place), self.held.packings[place as usize])
    }

    /// The stored bytes of a document.
    pub(super) fn stored(&mut self, place: u32) -> Result<StoredBytes<'_>> {
        stored(self.held, &mut self.files, place, &mut self.read)
    }

    /// The compared bytes of a document.
    pub(super) fn unpacked(&mut self, place: u32) -> Result<&[u8]> {
        let Self { held, files, read, room, .. } = self;
        stored(held, files, place, read)?.unpacked(room)
    }
}

/// The stored bytes of a document; `read` is scratch memory for bytes in a file.
fn stored<'a>(
    held: &'a Held,
    files: &mut Option<&mut Files>,
    place: u32,
    read: &'a mut Vec<u8>,
) -> Result<StoredBytes<'a>> {
    let file = files.as_mut().and_then(|files| files.bytes.as_mut());
    let Some(file) = file else { return Ok(held.of(place)) };
    let range = range(&held.ends, place);
    file.copy(range.start as u64, range.len(), read)?;
    Ok(held.stored(place, read))
}

/// The set of a document that must agree; `read` is scratch memory for a set in a file.
fn set<'a>(held: &'a Held, files: &mut Option<&mut Files>, place: u32, read: &'a mut Vec<u128>) -> Result<&'a [u128]> {
    let range = range(&held.set_ends, place);
    if let Some(set) = held.sets.get(range.clone()) {
        return Ok(set);
    }
    let (Some(files), false) = (files, range.is_empty()) else { return Ok(&[]) };
    files.sets.copy(range.start as u64, range.len(), read)?;
    Ok(read)
}
