//! Groups of documents that share buckets, as many at a time as fit into memory.
//!
//! Documents are read again, in order. Documents of the first batch stay in memory. Documents of a later batch are
//! fetched again when it is processed, if the host can do so at little cost; otherwise they go to that batch's file. A
//! group that is too large for memory is a batch of its own, and its documents stay in their file.

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::attributes::Scope;
use super::batch::{Batch, Bytes, Held, Until};
use super::boilerplate::Boilerplates;
use super::form::{Form, Terms, Verify, append_bytes};
use super::group::{ApartPairs, Comparing, Group, Measure};
use super::host::{DocumentPass, Host, JobStep, Process, ReadDocument};
use super::intake::Documents;
use super::sets::{Cache, Distinct, Sets, set_bytes};
use crate::corpus::{Components, LeftOut, NumberedSets, SharedCounts, groups, split};
use crate::pipeline::Crew;
use crate::spool::NewFile;
use crate::stored::{Packing, StoredBytes};
use crate::{Check, Error, Result, Sketcher, memory};

/// Size in bytes from which a group is worth threads, and a check which of its documents can be similar at all.
const LARGE: usize = 1 << 20;

/// Size in bytes above which keeping all sets in memory costs more than it saves: for 35,000 manual pages and HTML
/// files, pairs at 0.8 took 13 s with sets of 340 MB at once, and 8 s with sets of 85 MB.
const NUMBERED: usize = 96 << 20;

/// The most documents of a group that memory does not hold for which all pairs are counted: they take half a megabyte.
const COUNTED: usize = 512;

/// The most documents of such a group that is not split before.
const WHOLE: usize = 128;

/// Number of documents from which threads help to find those that share a bucket.
const JOINED: u32 = 1 << 12;

/// Number of documents above which a group is compared alone, and its results, which may be many, are taken at once.
const FEW: usize = 128;

/// Bytes of documents of small groups in a portion.
const PORTION: usize = 128 << 10;

/// Compares a group, in the caller's thread or in another one, and calls its argument with each result.
pub type Judge<'a, T> = dyn Fn(&mut Group, &mut Emit<T>) -> Result<LeftOut> + Sync + 'a;

/// Takes the results for a group.
pub type Emit<'a, T> = dyn FnMut(T) -> Result<()> + 'a;

/// Takes the results for groups.
pub trait TakeResults<T, E> {
    /// Takes the next result.
    ///
    /// # Errors
    /// Any error, which ends the job.
    fn take(&mut self, found: T) -> Result<(), E>;

    /// Called after each portion: emits deferred rows while the threads work. `part` of `left` documents were compared.
    /// It is called between the same results with any number of threads.
    ///
    /// # Errors
    /// Any error, which ends the job.
    fn meanwhile(&mut self, _part: usize, _left: usize) -> Result<(), E> {
        Ok(())
    }
}

impl<T, E, F: FnMut(T) -> Result<(), E>> TakeResults<T, E> for F {
    fn take(&mut self, found: T) -> Result<(), E> {
        self(found)
    }
}

/// The comparisons that a job left out, and the memory that it lacked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shortfall {
    /// The comparisons that the limit for a bucket has left out.
    pub left_out: LeftOut,
    /// The bytes that would hold the largest group that memory did not hold, if [the floor](super::Shares::floor) was
    /// taken or such groups took seconds.
    pub needed: Option<usize>,
    /// [The floor](super::Shares::floor), if it was taken.
    pub floor: Option<usize>,
}

/// The groups of a job, in batches.
pub struct Groups {
    comparing: Comparing,
    batches: Vec<Batch>,
    /// Number of documents in all batches.
    documents: usize,
    /// The boilerplate of these documents, if it does not count.
    boilerplates: Option<Boilerplates>,
    process: Process,
    /// Groups that memory does not hold: the time taken by them, the bytes that would hold the largest, and true if the
    /// floor was taken.
    beyond: Cell<(Duration, usize, bool)>,
}

impl Groups {
    /// Finds the groups, and brings the documents of each together. `second` is the first document of the second
    /// source, if there are two; then groups within one source do not count. If boilerplate does not count, the sets of
    /// counted shingles are compared.
    ///
    /// # Errors
    /// An error of the host, or [`Error::OutOfMemory`].
    pub fn gather<H: Host>(mut documents: Documents, host: &mut H, second: u32) -> Result<Self, H::Error> {
        let is_whole = documents.is_whole;
        if is_whole {
            documents.columns.join();
        }
        documents.columns.finish()?;
        let (process, shares) = (documents.process.clone(), documents.shares);
        (process.progress)(JobStep::Grouping);
        let is_worth = documents.len() >= JOINED;
        let threads = if is_worth { process.threads } else { 0 };
        let mut crew = Crew::With((process.setting)(shares.documents), threads);
        let mut components = groups(&mut documents.columns, &mut crew)?;
        let (batch_of, until) = assign(&documents, &mut components, second, shares.batch)?;
        let can_fetch = host.can_fetch();
        let mut batches = memory::with_capacity(until.len())?;
        for until in until {
            let until = if until == Until::AtHost && !can_fetch { Until::InFile } else { until };
            batches.push(Batch::new(documents.width(), until, process.new_file));
        }
        // They are not needed after batches are chosen.
        let all = 0..documents.len();
        documents.sizes = Vec::new();
        let roots = memory::collect(all.map(|document| components.find(document)))?;
        drop(components);
        (process.progress)(JobStep::Fetched(0));
        let boilerplates = documents.boilerplates.take();
        let mut terms = documents.terms.clone();
        if boilerplates.is_some() {
            terms.form = Form::Elements;
        }
        if is_whole {
            terms.bucket_limit = usize::MAX;
        }
        let comparing = Comparing { terms, is_whole, shares, apart: ApartPairs::default() };
        let beyond = Cell::default();
        let mut job = Self { comparing, batches, documents: 0, boilerplates, process, beyond };
        job.fill(documents, host, &roots, &batch_of)?;
        Ok(job)
    }

    /// Sets the pairs that do not count as similar.
    pub fn set_apart(&mut self, apart: ApartPairs) {
        self.comparing.apart = apart;
    }

    /// The terms of the comparisons.
    pub fn terms(&self) -> &Terms {
        &self.comparing.terms
    }

    fn fill<H: Host>(
        &mut self,
        mut documents: Documents,
        host: &mut H,
        roots: &[u32],
        batch_of: &[u32],
    ) -> Result<(), H::Error> {
        let is_wanted = |document: &u32| batch_of[roots[*document as usize] as usize] != ALONE;
        let mut wanted = (0..roots.len() as u32).filter(is_wanted);
        let Self { comparing, batches, documents: total, boilerplates, process, .. } = self;
        let mut copying = Copying::new(comparing, boilerplates, process);
        let (mut hashes, mut name) = (Vec::new(), 0);
        host.each(DocumentPass::Candidates, &mut wanted, &mut |document, read| {
            hashes.clear();
            documents.columns.row(document, &mut hashes)?;
            let (root, origin) = (roots[document as usize], copying.origin(document));
            let own = [name, root];
            name += 1;
            (process.progress)(JobStep::Fetched(name));
            *total = name as usize;
            let batch = &mut batches[batch_of[root as usize] as usize];
            let Documents { scopes, leasts, .. } = &documents;
            if !scopes.is_empty() {
                let scope = scopes.get(document as usize).copied();
                memory::push(&mut batch.held.scopes, scope.unwrap_or(Scope::ALL))?;
            }
            if !leasts.is_empty() {
                memory::push(&mut batch.held.leasts, leasts.get(document as usize).copied().unwrap_or(0.0))?;
            }
            if let Some(agreement) = &mut documents.agreement {
                batch.push_set(agreement.set(document)?)?;
            }
            if batch.push_number(own, &hashes, document)? {
                return Ok(memory::extend(&mut batch.held.origins, origin.as_slice())?);
            }
            copying.copy(read, origin, &mut |stored| batch.push(own, &hashes, stored))
        })
    }

    /// Processes each group by `judge`, and passes the results to `taker`, always in the same order. Threads help with
    /// small groups.
    ///
    /// # Errors
    /// An error of the host or of `taker`, or [`Error::OutOfMemory`].
    pub fn each<H: Host, T: Send>(
        &mut self,
        host: &H,
        judge: &Judge<T>,
        taker: &mut dyn TakeResults<T, H::Error>,
    ) -> Result<Shortfall, H::Error> {
        let mut left_out = LeftOut::default();
        (self.process.progress)(JobStep::Compared(0));
        let mut before = 0;
        let mut last = Held::default();
        for mut batch in std::mem::take(&mut self.batches) {
            self.load(host, &mut batch, std::mem::take(&mut last))?;
            let places = (0..).zip(&batch.held.roots).map(|(place, root)| (*root, place));
            let mut order = memory::collect(places)?;
            order.sort_unstable();
            left_out += self.of_batch(&mut batch, &order, false, before, judge, taker)?;
            before += order.len();
            (self.process.progress)(JobStep::Compared(before));
            // The next batch reuses its memory.
            last = batch.held;
        }
        let (time, needed, takes_floor) = self.beyond.get();
        let is_worth = takes_floor || time >= Duration::from_secs(2);
        Ok(Shortfall {
            left_out,
            needed: is_worth.then_some(needed),
            floor: takes_floor.then_some(self.comparing.shares.floor),
        })
    }

    /// Loads a batch into memory, and reuses the memory of the previous one.
    fn load<H: Host>(&mut self, host: &H, batch: &mut Batch, before: Held) -> Result<(), H::Error> {
        let Self { comparing, boilerplates, process, .. } = self;
        let mut copying = Copying::new(comparing, boilerplates, process);
        let mut origins = std::mem::take(&mut batch.held.origins).into_iter();
        let to_fetch = batch.load(comparing.shares.batch, before)?;
        if to_fetch.is_empty() {
            return Ok(());
        }
        let mut places = to_fetch.iter();
        host.fetch(&mut to_fetch.iter().map(|[.., number, _]| *number), &mut |_, read| {
            let Some(&[name, root, ..]) = places.next() else { return Ok(()) };
            copying.copy(read, origins.next(), &mut |stored| batch.held.push(name, root, stored))
        })
    }

    /// Notes that a group which memory does not hold took `elapsed`, and whether the floor was taken for it.
    fn note_beyond(&self, held: &Held, group: &[(u32, u32)], elapsed: Duration, takes_floor: bool) {
        let size = held.sizes(group);
        // Its documents, or their sets, are a third of all memory.
        let documents = size + group.len() * (held.width * size_of::<u64>() + PLACE);
        let needed = 3 * (documents / 7 * 8).max(set_bytes(self.comparing.terms.form, size));
        let (time, most, before) = self.beyond.get();
        self.beyond.set((time + elapsed, most.max(needed), before || takes_floor));
    }

    /// A crew for a group of `size` bytes.
    fn crew(&self, size: usize) -> Crew<'static> {
        let Process { threads, setting, .. } = self.process;
        // Its memory is in addition to what is made already.
        Crew::With(setting(self.comparing.shares.batch / 4), if size >= LARGE { threads } else { 0 })
    }

    /// Processes the groups of a batch: first each of the large ones, then the others, many at a time. In a file all
    /// count as large. `order` has root and place of each document; `before` documents were processed earlier. Groups
    /// that do not fit into memory are split first, unless they already are parts of one.
    fn of_batch<T: Send, E: From<Error>>(
        &self,
        batch: &mut Batch,
        order: &[(u32, u32)],
        is_split: bool,
        mut before: usize,
        judge: &Judge<T>,
        taker: &mut dyn TakeResults<T, E>,
    ) -> Result<LeftOut, E> {
        let (comparing, mut left_out) = (&self.comparing, LeftOut::default());
        let (setting, threads) = (self.process.setting, self.process.threads);
        let groups = || order.chunk_by(|a, b| a.0 == b.0);
        let is_held = batch.is_held();
        // Threads have no files for the sets that do not fit.
        let most = LARGE.min(comparing.shares.batch / 16);
        let is_small = |held: &Held, group: &[(u32, u32)]| is_held && group.len() <= FEW && held.sizes(group) < most;
        for group in groups() {
            if is_small(&batch.held, group) {
                continue;
            }
            let size = batch.held.sizes(group);
            let crew = || self.crew(size);
            let started = Instant::now();
            let split = if is_split { None } else { comparing.split(batch.bytes(), group, crew())? };
            let takes_floor = comparing.share(is_held) < comparing.shares.floor;
            let (more, is_beyond) = match split {
                Some(order) => (self.of_batch(batch, &order, true, before, judge, taker)?, takes_floor),
                None => comparing.at_once((batch.bytes(), self.process.new_file), group, crew(), judge, taker)?,
            };
            left_out += more;
            if is_beyond {
                self.note_beyond(&batch.held, group, started.elapsed(), takes_floor);
            }
            before += group.len();
            (self.process.progress)(JobStep::Compared(before));
        }
        let held = &batch.held;
        let mut small = groups().filter(|group| is_small(held, group));
        let mut next = || {
            let (mut portion, mut bytes) = (Vec::new(), 0);
            while bytes < PORTION
                && let Some(group) = small.next()
            {
                bytes += held.sizes(group);
                memory::push(&mut portion, group)?;
            }
            Ok::<_, E>((!portion.is_empty()).then_some((portion, bytes)))
        };
        let memory = comparing.shares.batch;
        // Sets that are not in use.
        let spare = Mutex::new(memory::with_capacity::<NumberedSets>(threads + 1)?);
        let spare = || spare.lock().unwrap_or_else(PoisonError::into_inner);
        let compute = |portion: &mut Vec<&[(u32, u32)]>, check: Check| {
            let room = spare().pop();
            let mut room = room.unwrap_or_else(|| NumberedSets::new(memory));
            let (mut found, mut left_out) = (Vec::new(), LeftOut::default());
            for (number, group) in (1..).zip(&*portion) {
                // They are scattered over the batch.
                portion.get(number).into_iter().for_each(|next| held.fetch(next));
                // The host's files are for the caller's thread alone.
                let source = (Bytes::held(held), memory, NewFile::in_memory());
                left_out += comparing.group(source, group, &mut Crew::Alone(check), &mut room, &mut |group| {
                    judge(group, &mut |result| memory::push(&mut found, result))
                })?;
            }
            spare().push(room);
            Ok((portion.iter().map(|group| group.len()).sum::<usize>(), found, left_out))
        };
        Crew::With(setting(memory), threads).each(&mut next, &compute, &mut |(part, found, more)| {
            let left = self.documents.saturating_sub(before);
            left_out += more;
            before += part;
            (self.process.progress)(JobStep::Compared(before));
            found.into_iter().try_for_each(|found| taker.take(found))?;
            taker.meanwhile(part, left)
        })?;
        Ok(left_out)
    }
}

/// Copies the compared bytes of documents, one after another.
struct Copying<'a> {
    terms: &'a Terms,
    sketcher: Sketcher,
    boilerplates: Option<&'a mut Boilerplates>,
    room: Vec<u8>,
    hashes: Vec<u64>,
    check: fn(),
}

impl<'a> Copying<'a> {
    fn new(comparing: &'a Comparing, boilerplates: &'a mut Option<Boilerplates>, process: &Process) -> Self {
        let terms = &comparing.terms;
        Self {
            terms,
            sketcher: Sketcher::new(terms.config.clone()),
            boilerplates: boilerplates.as_mut(),
            room: Vec::new(),
            hashes: Vec::new(),
            check: process.check(),
        }
    }

    /// The number of a document's origin, if boilerplate does not count.
    fn origin(&self, document: u32) -> Option<u32> {
        self.boilerplates.as_ref().map(|boilerplates| boilerplates.origin(document))
    }

    /// Calls `take` with the compared bytes of a document, without the boilerplate of its origin.
    fn copy<E: From<Error>>(
        &mut self,
        read: &mut ReadDocument<E>,
        origin: Option<u32>,
        take: &mut dyn FnMut(StoredBytes) -> Result<()>,
    ) -> Result<(), E> {
        let Self { terms, sketcher, boilerplates, room, hashes, check } = self;
        let (Some(boilerplates), Some(origin)) = (boilerplates, origin) else {
            return read(terms.compared(), &mut |stored| Ok(take(stored)?));
        };
        read(boilerplates.form, &mut |stored| {
            boilerplates.counted(stored, origin, hashes, check)?;
            room.clear();
            match terms.verify {
                Verify::Exact => append_bytes(hashes, room)?,
                Verify::Signature => {
                    append_bytes(sketcher.sketch_hashes(hashes, check)?.unwrap_or_default(), room)?;
                }
            }
            Ok(take(StoredBytes::plain(room))?)
        })
    }
}

impl Comparing {
    /// Bytes for values made of a large group, whose documents are in memory or in a file, above
    /// [the floor](super::Shares::floor).
    fn share(&self, is_held: bool) -> usize {
        if is_held { self.shares.batch } else { self.shares.group }
    }

    /// Judges a group in the caller's thread, and gives `taker` what is found at once. The crew helps to make the sets
    /// of a large group. Returns true as well if its share of memory does not hold them.
    fn at_once<T, E: From<Error>>(
        &self,
        (bytes, new_file): (Bytes, NewFile),
        group: &[(u32, u32)],
        mut crew: Crew,
        judge: &Judge<T>,
        taker: &mut dyn TakeResults<T, E>,
    ) -> Result<(LeftOut, bool), E> {
        let (mut outcome, mut is_beyond) = (Ok(()), false);
        let is_held = bytes.is_held();
        let (share, memory) = (self.share(is_held), self.share(is_held).max(self.shares.floor));
        // Beside the counts of pairs.
        let most = SharedCounts::bytes(group.len().min(COUNTED)).min(memory / 2);
        let mut room = NumberedSets::new(memory - most);
        let judged = self.group((bytes, memory, new_file), group, &mut crew, &mut room, &mut |group| {
            is_beyond = group.set_bytes().is_none_or(|bytes| bytes > share);
            judge(group, &mut |found| {
                outcome = taker.take(found);
                // Only stops the job: `outcome` is the error that is reported.
                if outcome.is_ok() { Ok(()) } else { Err(Error::Stopped) }
            })
        });
        outcome?;
        Ok((judged?, is_beyond))
    }

    /// Splits a group whose sets do not fit into memory, by the outlines of its documents. Returns root and place of
    /// each, in order, without documents that cannot be similar to any other. `None` if the group fits into memory.
    fn split(&self, mut bytes: Bytes, group: &[(u32, u32)], mut crew: Crew) -> Result<Option<Vec<(u32, u32)>>> {
        let Terms { form, verify, threshold, bucket_limit, ref config, .. } = self.terms;
        let (size, all) = (bytes.held.sizes(group), self.share(bytes.is_held()).max(self.shares.floor));
        let memory = all.min(NUMBERED);
        // Skips the search for copies if the group fits even with them.
        if verify != Verify::Exact || size < LARGE || set_bytes(form, size) <= memory {
            return Ok(None);
        }
        let places = memory::collect(group.iter().map(|(_, place)| *place))?;
        let distinct = Distinct::of(&mut bytes, &places, &mut crew)?;
        // Most of a group without a common band are dissimilar.
        let is_small = distinct.places.len() <= WHOLE && !self.is_whole;
        if is_small || set_bytes(form, distinct.sizes(&bytes).sum()) <= memory {
            return Ok(None);
        }
        // Half of memory is for outlines, the other half for sorting.
        let half = all / 2;
        let outlines = distinct.outlines(&mut bytes, form, config, half, &mut crew)?;
        let mut group = Group::new(bytes, &places, Measure::Same, (self, half), &mut crew);
        let mut components = split(&mut group, bucket_limit, &|a, b| {
            let [a, b] = [a, b].map(|document| distinct.of_document(document));
            a == b || outlines[a].may_reach(&outlines[b], threshold)
        })?;
        let roots = (0..places.len() as u32).map(|document| components.find(document));
        let mut order = memory::collect(roots.zip(places.iter().copied()))?;
        order.sort_unstable();
        let mut of_several = memory::with_capacity(order.len())?;
        for part in order.chunk_by(|a, b| a.0 == b.0).filter(|part| part.len() > 1) {
            of_several.extend_from_slice(part);
        }
        Ok(Some(of_several))
    }

    /// Calls `visit` with the group of some documents, whose sets or outlines a crew has made in `memory` bytes, and in
    /// a file if they do not fit. `room` is reused for later groups.
    fn group(
        &self,
        (mut bytes, memory, new_file): (Bytes, usize, NewFile),
        group: &[(u32, u32)],
        crew: &mut Crew,
        room: &mut NumberedSets,
        visit: &mut dyn FnMut(&mut Group) -> Result<LeftOut>,
    ) -> Result<LeftOut> {
        let Terms { form, verify, ref config, .. } = self.terms;
        crew.check();
        let places = memory::collect(group.iter().map(|(_, place)| *place))?;
        let mut visit =
            |bytes, measure, crew: &mut Crew| visit(&mut Group::new(bytes, &places, measure, (self, memory), crew));
        if verify == Verify::Signature {
            return visit(bytes, Measure::Estimated(config.num_perm()), crew);
        }
        let distinct = Distinct::of(&mut bytes, &places, crew)?;
        if let [_] = distinct.places[..] {
            return visit(bytes, Measure::Same, crew);
        }
        let (is_few, source) = (distinct.places.len() <= COUNTED, (form, config));
        let has_room = distinct.sizes(&bytes).all(|size| form.elements(size) <= memory / size_of::<u64>());
        let is_worth = is_few || set_bytes(form, distinct.sizes(&bytes).sum()) <= memory.min(NUMBERED);
        if has_room && is_worth && distinct.fill(&mut bytes, source, room, crew)? {
            return visit(bytes, Measure::Exact(&distinct, Sets::All(room)), crew);
        }
        if is_few && let Some(counts) = distinct.counts(&mut bytes, source, (room, memory), new_file, crew)? {
            return visit(bytes, Measure::Exact(&distinct, Sets::Counted(&counts)), crew);
        }
        // Half of memory is for outlines, the other half for sets.
        let half = memory / 2;
        let outlines = distinct.outlines(&mut bytes, form, config, half, crew)?;
        let mut cache = Cache::new(form, config, Arc::new(outlines), half);
        visit(bytes, Measure::Exact(&distinct, Sets::Cached(&mut cache)), crew)
    }
}

/// The batch of a document that shares no bucket.
const ALONE: u32 = u32::MAX;

/// Unit of the sizes of groups, in bytes.
const UNIT: usize = 64;

/// Bytes that a batch has of a document beside its hashes and its bytes: its name, scope, group, end, and how it is
/// stored.
const PLACE: usize = 3 * size_of::<u32>() + size_of::<u64>() + size_of::<Packing>();

/// Assigns groups to batches. Returns the batch of each group, at the position of its least document, and for each
/// batch where it is stored until it is processed, if rows can be fetched again.
fn assign(
    documents: &Documents,
    components: &mut Components,
    second: u32,
    memory: usize,
) -> Result<(Vec<u32>, Vec<Until>)> {
    let count = documents.len() as usize;
    // The size of a group, and later its batch: both are four bytes a document.
    let mut sizes: Vec<u32> = memory::filled(0, count)?;
    // For each group, the number of documents in each of two sources.
    let mut members: Vec<[u8; 2]> = memory::filled([0; 2], count)?;
    let hashes = documents.width() * size_of::<u64>();
    for (document, size) in (0..).zip(&documents.sizes) {
        let root = components.find(document) as usize;
        let set = documents.agreement.as_ref().map_or(0, |sets| sets.size(document as usize));
        let units = (*size as usize + set + hashes + PLACE).div_ceil(UNIT) as u32;
        sizes[root] = sizes[root].saturating_add(units);
        let members = &mut members[root][usize::from(document >= second)];
        *members = members.saturating_add(1);
    }
    // Growing vectors have spare capacity, and the first batch is filled while the groups and batches of all documents
    // exist.
    let limit = (memory - memory / 8).saturating_sub(2 * size_of::<u32>() * count).max(memory / 4);
    // Only the first batch is never in a file.
    let (mut until, mut taken) = (vec![Until::Held], 0);
    let mut batch_of = sizes;
    for (place, members) in batch_of.iter_mut().zip(&members) {
        let size = std::mem::replace(place, ALONE) as usize * UNIT;
        let worth = match (second, members) {
            (u32::MAX, [all, _]) => *all > 1,
            (_, [left, right]) => *left > 0 && *right > 0,
        };
        if !worth {
            continue;
        }
        if taken + size > limit {
            // A group that does not fit into memory is a batch of its own, and stays in a file.
            let next = if size > limit { Until::InFile } else { Until::AtHost };
            memory::push(&mut until, next)?;
            taken = 0;
        }
        taken += size;
        *place = until.len() as u32 - 1;
    }
    Ok((batch_of, until))
}
