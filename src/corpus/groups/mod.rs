//! Groups of documents that share buckets, as many at a time as fit into memory.
//!
//! The rows are read again, in order. Documents of the first batch stay in memory. Documents of a later batch are
//! fetched again when it is processed, if rows can be fetched repeatedly; otherwise they go to that batch's file. A
//! group that is too large for memory is a batch of its own, and its documents stay in their file.

mod batch;
pub mod group;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sketch::corpus::{Components, Hashes, LeftOut, NumberedSets, SharedCounts, groups, split};
use sketch::pipeline::Crew;
use sketch::stored::{Packing, StoredBytes};
use sketch::{Error, HashPart, Sketcher};

use crate::corpus::groups::batch::{Batch, Bytes, Held, Until};
use crate::corpus::groups::group::{ApartPairs, Cache, Comparing, Distinct, Group, Measure, Sets, exceed, set_bytes};
use crate::corpus::reading::Documents;
use crate::corpus::reading::boilerplate::{Boilerplates, to_bytes};
use crate::corpus::reading::columns::NamedRows;
use crate::corpus::source::reader::{Criteria, Reader, TakeStored};
use crate::corpus::source::rows::Again;
use crate::document::kind::Kind;
use crate::memory::JobShares;
use crate::options::{Verify, bucket_limit};
use crate::pg::job::{Counter, JobPhase, Progress};
use crate::pg::worker_threads::setting;
use crate::prelude::*;

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

/// Compares a group, in the backend or in a thread, and calls its argument with each result.
pub type Judge<'a, T> = dyn Fn(&mut Group, &mut Emit<T>) -> Result<LeftOut, Error> + Sync + 'a;

/// Takes the results for a group.
pub type Emit<'a, T> = dyn FnMut(T) -> Result<(), Error> + 'a;

/// Takes the results for groups.
pub trait Taker<T> {
    /// Takes the next result.
    fn take(&mut self, found: T) -> Result<()>;

    /// Called after each portion: emits deferred rows while the threads work. `part` of `left` documents were compared.
    /// It is called between the same results with any number of threads.
    fn meanwhile(&mut self, _part: usize, _left: usize) -> Result<()> {
        Ok(())
    }
}

impl<T, F: FnMut(T) -> Result<()>> Taker<T> for F {
    fn take(&mut self, found: T) -> Result<()> {
        self(found)
    }
}

/// The batches of a job.
pub struct Batches {
    pub comparing: Comparing,
    batches: Vec<Batch>,
    /// Number of documents in all batches.
    documents: usize,
    /// The rows of batches that stay in their table until they are processed.
    again: Option<Again>,
    /// The boilerplate of these documents, if it does not count.
    boilerplates: Option<Boilerplates>,
    progress: Rc<Progress>,
    /// The time taken by groups that memory does not hold, and the bytes of `maintenance_work_mem` that would hold the
    /// largest of them.
    beyond: Cell<(Duration, usize)>,
}

impl Batches {
    /// Finds the groups, and brings the documents of each together. `second` is the first document of the second
    /// source, if there are two; then groups within one source do not count. If boilerplate does not count, the sets of
    /// counted shingles are compared.
    pub fn gather(
        mut documents: Documents,
        rows: &mut NamedRows,
        second: u32,
        criteria: Criteria,
        memory: &JobShares,
    ) -> Result<Self> {
        documents.columns.finish()?;
        documents.progress.enter(JobPhase::Grouping);
        let is_worth = documents.len() >= JOINED;
        let threads = if is_worth { documents.progress.threads() } else { 0 };
        let mut crew = Crew::With(setting(memory.documents), threads);
        let mut components = groups(&mut documents.columns, &mut crew)?;
        let (batch_of, until) = assign(&documents, &mut components, second, memory.batch)?;
        let again = rows.spools.again();
        let width = documents.columns.probes() + 1;
        let batch = |until: &Until| match until {
            Until::InTable if again.is_none() => Batch::new(width, Until::InFile),
            _ => Batch::new(width, *until),
        };
        let batches = memory::collect(until.iter().map(batch))?;
        // They are not needed after batches are chosen.
        let all = 0..documents.len();
        documents.sizes = Vec::new();
        let roots = memory::collect(all.map(|document| components.find(document)));
        let roots = roots?;
        drop(components);
        let progress = documents.progress.clone();
        progress.enter(JobPhase::Fetching);
        let boilerplates = documents.boilerplates.take();
        let criteria = match &boilerplates {
            Some(_) => Criteria { reader: Reader::new(Kind::Set, None), ..criteria },
            None => criteria,
        };
        let (limit, JobShares { batch: memory, group, .. }) = (bucket_limit(), *memory);
        let comparing = Comparing { criteria, limit, memory, group, apart: ApartPairs::default() };
        let beyond = Cell::default();
        let mut job = Self { comparing, batches, documents: 0, again, boilerplates, progress, beyond };
        job.fill(documents, rows, &roots, &batch_of)?;
        Ok(job)
    }

    fn fill(&mut self, mut documents: Documents, rows: &mut NamedRows, roots: &[u32], batch_of: &[u32]) -> Result<()> {
        let is_wanted = |document: &u32| batch_of[roots[*document as usize] as usize] != ALONE;
        let mut wanted = (0..roots.len() as u32).filter(is_wanted);
        let Self { comparing, batches, documents: total, boilerplates, .. } = self;
        let mut copying = Copying::new(comparing, boilerplates);
        let (mut hashes, mut count) = (Vec::new(), 0);
        rows.each(&mut wanted, &mut |name, row| {
            check_interrupts();
            let document = row.number;
            count += 1;
            documents.progress.set(Counter::Candidates, count);
            *total = count as usize;
            hashes.clear();
            documents.columns.row(document, &mut hashes)?;
            let (root, origin) = (roots[document as usize], copying.origin(document));
            let batch = &mut batches[batch_of[root as usize] as usize];
            let (scope, least) = (documents.scopes.get(document as usize), documents.leasts.get(document as usize));
            memory::extend(&mut batch.held.scopes, scope.copied().as_slice())?;
            memory::extend(&mut batch.held.leasts, least.copied().as_slice())?;
            if let Some(agreement) = &mut documents.agreement {
                batch.push_set(agreement.set(document)?)?;
            }
            if batch.is_in_table() {
                memory::extend(&mut batch.held.origins, origin.as_slice())?;
                batch.push_place([name, root], &hashes, row.place);
                return Ok(());
            }
            copying.copy(row.document()?, origin, &mut |stored| batch.push([name, root], &hashes, stored))
        })
    }

    /// Processes each group by `judge`, and passes the results to `taker`, always in the same order. Threads help with
    /// small groups. Reports what a limit has left out.
    pub fn each<T: Send>(&mut self, judge: &Judge<T>, taker: &mut dyn Taker<T>) -> Result<()> {
        let mut left_out = LeftOut::default();
        self.progress.enter(JobPhase::Comparing);
        let mut before = 0;
        let mut last = Held::default();
        for mut batch in std::mem::take(&mut self.batches) {
            self.load(&mut batch, std::mem::take(&mut last))?;
            let places = (0..).zip(&batch.held.roots).map(|(place, root)| (*root, place));
            let mut order = memory::collect(places)?;
            order.sort_unstable();
            left_out += self.of_batch(&mut batch, &order, false, before, judge, taker)?;
            before += order.len();
            self.progress.set(Counter::Compared, before as u64);
            // The next batch reuses its memory.
            last = batch.held;
        }
        self.comparing.report(left_out);
        self.report_beyond();
        Ok(())
    }

    /// Loads a batch into memory, and reuses the memory of the previous one.
    fn load(&mut self, batch: &mut Batch, before: Held) -> Result<()> {
        let Self { comparing, again, boilerplates, .. } = self;
        let mut copying = Copying::new(comparing, boilerplates);
        let mut origins = std::mem::take(&mut batch.held.origins).into_iter();
        batch.load(comparing.memory, before, &mut |places, take| match again {
            Some(again) => again.each(places, &mut |document| copying.copy(document, origins.next(), take)),
            None => Ok(()),
        })
    }

    /// Notes that a group which memory does not hold took `elapsed`.
    fn note_beyond(&self, held: &Held, group: &[(u32, u32)], elapsed: Duration) {
        let size = held.sizes(group);
        // Its documents, or their sets, are a third of all memory.
        let documents = size + group.len() * (held.width * size_of::<u64>() + PLACE);
        let needed = 3 * (documents / 7 * 8).max(set_bytes(self.comparing.criteria.reader, size));
        let (time, most) = self.beyond.get();
        self.beyond.set((time + elapsed, most.max(needed)));
    }

    /// Reports groups that memory does not hold, if they have taken seconds.
    fn report_beyond(&self) {
        let (time, needed) = self.beyond.get();
        if time < Duration::from_secs(2) {
            return;
        }
        notice("maintenance_work_mem does not hold the largest group of similar documents")
            .set_hint(format!(
                "Set maintenance_work_mem to '{}MB' or more to compare it in less time.",
                needed.div_ceil(1 << 20)
            ))
            .report(PgLogLevel::NOTICE);
    }

    /// Processes the groups of a batch: first each of the large ones, then the others, many at a time. In a file all
    /// count as large. `order` has root and place of each document; `before` documents were processed earlier. Groups
    /// that do not fit into memory are split first, unless they already are parts of one.
    fn of_batch<T: Send>(
        &self,
        batch: &mut Batch,
        order: &[(u32, u32)],
        is_split: bool,
        mut before: usize,
        judge: &Judge<T>,
        taker: &mut dyn Taker<T>,
    ) -> Result<LeftOut> {
        let (comparing, mut left_out) = (&self.comparing, LeftOut::default());
        let threads = self.progress.threads();
        let groups = || order.chunk_by(|a, b| a.0 == b.0);
        let is_held = batch.is_held();
        let is_small = |held: &Held, group: &[(u32, u32)]| is_held && group.len() <= FEW && held.sizes(group) < LARGE;
        for group in groups() {
            if is_small(&batch.held, group) {
                continue;
            }
            let split = if is_split { None } else { comparing.split(batch.bytes(), group, threads)? };
            left_out += match split {
                Some(order) => self.of_batch(batch, &order, true, before, judge, taker)?,
                None => {
                    let started = Instant::now();
                    let (left_out, is_beyond) = comparing.at_once(batch.bytes(), group, threads, judge, taker)?;
                    if is_beyond {
                        self.note_beyond(&batch.held, group, started.elapsed());
                    }
                    left_out
                }
            };
            before += group.len();
            self.progress.set(Counter::Compared, before as u64);
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
            Ok::<_, SqlError>((!portion.is_empty()).then_some((portion, bytes)))
        };
        // Sets that are not in use.
        let spare = Mutex::new(memory::with_capacity::<NumberedSets>(threads + 1)?);
        let spare = || spare.lock().unwrap_or_else(PoisonError::into_inner);
        let compute = |portion: &mut Vec<&[(u32, u32)]>, check: Check| {
            let room = spare().pop();
            let mut room = room.unwrap_or_else(|| NumberedSets::new(comparing.memory));
            let (mut found, mut left_out) = (Vec::new(), LeftOut::default());
            for (number, group) in (1..).zip(&*portion) {
                // They are scattered over the batch.
                portion.get(number).into_iter().for_each(|next| held.fetch(next));
                let (bytes, crew) = (Bytes::held(held), &mut Crew::Alone(check));
                left_out += comparing.group(bytes, group, crew, &mut room, &mut |group| {
                    judge(group, &mut |result| memory::push(&mut found, result))
                })?;
            }
            spare().push(room);
            Ok((portion.iter().map(|group| group.len()).sum::<usize>(), found, left_out))
        };
        Crew::With(setting(comparing.memory), threads).each(&mut next, &compute, &mut |(part, found, more)| {
            let left = self.documents.saturating_sub(before);
            left_out += more;
            before += part;
            self.progress.set(Counter::Compared, before as u64);
            found.into_iter().try_for_each(|found| taker.take(found))?;
            taker.meanwhile(part, left)
        })?;
        Ok(left_out)
    }
}

/// Copies the compared bytes of documents, one after another.
struct Copying<'a> {
    criteria: &'a Criteria,
    sketcher: Sketcher,
    boilerplates: Option<&'a mut Boilerplates>,
    room: Vec<u8>,
    hashes: Vec<u64>,
    /// Memory for one document.
    context: Memory,
}

impl<'a> Copying<'a> {
    fn new(comparing: &'a Comparing, boilerplates: &'a mut Option<Boilerplates>) -> Self {
        let criteria = &comparing.criteria;
        Self {
            criteria,
            sketcher: Sketcher::new(criteria.config.clone()),
            boilerplates: boilerplates.as_mut(),
            room: Vec::new(),
            hashes: Vec::new(),
            context: Memory::scratch(c"minlsh document"),
        }
    }

    /// The number of a document's origin, if boilerplate does not count.
    fn origin(&self, document: u32) -> Option<u32> {
        self.boilerplates.as_ref().map(|boilerplates| boilerplates.origin(document))
    }

    /// Calls `take` with the compared bytes of a document, without the boilerplate of its origin.
    fn copy(&mut self, value: Datum, origin: Option<u32>, take: &mut TakeStored) -> Result<()> {
        let Self { criteria, sketcher, boilerplates, room, hashes, context } = self;
        if let (Some(boilerplates), Some(origin)) = (boilerplates, origin) {
            // SAFETY: a row's document, which `reader` has read before.
            let document = unsafe { boilerplates.reader.document(value) };
            context.run_and_reset(|| boilerplates.counted(document, origin, hashes))?;
            if criteria.verify == Verify::Exact {
                return take(StoredBytes::plain(to_bytes(hashes, room)?));
            }
            let signature = sketcher.sketch_hashes(hashes, &mut check_interrupts);
            let slots = signature?.unwrap_or_default();
            room.clear();
            room.extend(slots.iter().flat_map(|slot| slot.to_ne_bytes()));
            return take(StoredBytes::plain(room));
        }
        // SAFETY: a row's document, which `reader` has read before.
        let document = unsafe { criteria.reader.document(value) };
        context.run_and_reset(|| {
            if criteria.verify == Verify::Exact {
                return document.with_stored(room, take);
            }
            room.clear();
            document.sketch(sketcher, |signature, _| {
                // A few kB at most.
                room.extend(signature.iter().flat_map(|slot| slot.to_ne_bytes()));
                Ok(())
            })?;
            take(StoredBytes::plain(room))
        })
    }
}

impl Comparing {
    /// Judges a group in the backend, and gives `taker` what is found at once. Threads help to make the sets of a large
    /// group. Returns true as well if memory does not hold them.
    fn at_once<T>(
        &self,
        bytes: Bytes,
        group: &[(u32, u32)],
        threads: usize,
        judge: &Judge<T>,
        taker: &mut dyn Taker<T>,
    ) -> Result<(LeftOut, bool)> {
        let (mut outcome, mut is_beyond) = (Ok(()), false);
        let mut crew = self.crew(bytes.held.sizes(group), threads);
        let memory = if bytes.is_held() { self.memory } else { self.group };
        // Beside the counts of pairs.
        let most = SharedCounts::bytes(group.len().min(COUNTED)).min(memory / 2);
        let mut room = NumberedSets::new(memory - most);
        let judged = self.group(bytes, group, &mut crew, &mut room, &mut |group| {
            is_beyond = group.is_beyond_memory();
            judge(group, &mut |found| {
                outcome = taker.take(found);
                // Only stops the job: `outcome` is the error that is reported.
                outcome.as_ref().map_err(|_| Error::OutOfMemory { bytes: 0 }).copied()
            })
        });
        outcome?;
        Ok((judged?, is_beyond))
    }

    /// Reports the comparisons that a limit has left out, as a WARNING if random pairs show that similar ones are
    /// missing, otherwise as a NOTICE.
    fn report(&self, LeftOut { comparisons, documents, similar, missing }: LeftOut) {
        if comparisons == 0 {
            return;
        }
        let limit = self.limit;
        let (level, found) = match similar {
            0 => (PgLogLevel::NOTICE, "none of these was similar.".to_owned()),
            _ => {
                let were = if similar == 1 { "was" } else { "were" };
                let found =
                    format!("{similar} of these {were} similar, so about {missing} similar pairs may be missing.");
                (PgLogLevel::WARNING, found)
            }
        };
        let message = format!("{comparisons} pairs of documents that share a bucket were not compared there");
        let report = if similar == 0 { notice(message) } else { warning(message) };
        report
            .set_detail(format!(
                "In {documents} cases a document was compared with {limit} others of a bucket without success \
                 (minlsh.bucket_limit), and of the rest only with one, picked at random: {found}"
            ))
            .set_hint(
                "Raise minlsh.bucket_limit, pass boilerplate => the column that says where a document comes from, or \
                 pass a higher num_perm.",
            )
            .report(level);
    }

    /// A crew for documents of `bytes` bytes.
    fn crew(&self, bytes: usize, threads: usize) -> Crew<'static> {
        // Its memory is in addition to what is made already.
        Crew::With(setting(self.memory / 4), if bytes >= LARGE { threads } else { 0 })
    }

    /// Splits a group whose sets do not fit into memory, by the outlines of its documents. Returns root and place of
    /// each, in order, without documents that cannot be similar to any other. `None` if the group fits into memory.
    fn split(&self, mut bytes: Bytes, group: &[(u32, u32)], threads: usize) -> Result<Option<Vec<(u32, u32)>>> {
        let Criteria { reader, verify, threshold, ref config, .. } = self.criteria;
        let (size, memory) = (bytes.held.sizes(group), self.memory.min(NUMBERED));
        // Skips the search for copies if the group fits even with them.
        if verify != Verify::Exact || size < LARGE || !exceed(reader, size, memory) {
            return Ok(None);
        }
        let places = memory::collect(group.iter().map(|(_, place)| *place))?;
        let distinct = Distinct::of(&mut bytes, &places)?;
        if distinct.places.len() <= WHOLE || !exceed(reader, distinct.bytes(&bytes), memory) {
            return Ok(None);
        }
        let (threshold, mut crew) = (threshold.get(), self.crew(size, threads));
        // Half of memory is for outlines, the other half for sorting.
        let half = self.memory / 2;
        let outlines = distinct.outlines(&mut bytes, reader, config, half, &mut crew)?;
        let mut group = Group::new(bytes, &places, Measure::Same, (self, half), &mut crew);
        let mut components = split(&mut group, self.limit, &|a, b| {
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

    /// Calls `visit` with the group of some documents, whose sets or outlines a crew has made. `room` is reused for
    /// later groups.
    fn group(
        &self,
        mut bytes: Bytes,
        group: &[(u32, u32)],
        crew: &mut Crew,
        room: &mut NumberedSets,
        visit: &mut dyn FnMut(&mut Group) -> Result<LeftOut, Error>,
    ) -> Result<LeftOut, Error> {
        let Criteria { reader, verify, ref config, .. } = self.criteria;
        crew.check();
        let places = memory::collect(group.iter().map(|(_, place)| *place))?;
        let mut visit = |bytes, measure, crew: &mut Crew| {
            visit(&mut Group::new(bytes, &places, measure, (self, self.memory), crew))
        };
        if verify == Verify::Signature {
            return visit(bytes, Measure::Estimated(config.num_perm()), crew);
        }
        let distinct = Distinct::of(&mut bytes, &places)?;
        if let [_] = distinct.places[..] {
            return visit(bytes, Measure::Same, crew);
        }
        let count = distinct.places.len();
        if count <= COUNTED || !exceed(reader, distinct.bytes(&bytes), self.memory.min(NUMBERED)) {
            let source = (reader, config);
            let fit = distinct.fill(&mut bytes, source, HashPart::default(), room, crew)?;
            if fit == count {
                return visit(bytes, Measure::Exact(&distinct, Sets::All(room)), crew);
            }
            if count <= COUNTED
                && let Some(counts) = distinct.counts(&mut bytes, source, room, crew)?
            {
                return visit(bytes, Measure::Exact(&distinct, Sets::Counted(&counts)), crew);
            }
        }
        // Half of memory is for outlines, the other half for sets.
        let half = if bytes.is_held() { self.memory } else { self.group } / 2;
        let outlines = distinct.outlines(&mut bytes, reader, config, half, crew)?;
        let mut cache = Cache::new(reader, config, Arc::new(outlines), half);
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
    let hashes = (documents.columns.probes() + 1) * size_of::<u64>();
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
            let next = if size > limit { Until::InFile } else { Until::InTable };
            memory::push(&mut until, next)?;
            taken = 0;
        }
        taken += size;
        *place = until.len() as u32 - 1;
    }
    Ok((batch_of, until))
}
