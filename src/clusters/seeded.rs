//! A refresh of the changes alone: the documents to look at if it is known which rows were written.
//!
//! Clusters of two or more documents are known as of the last refresh. Two documents that were not written since are
//! joined by no other chain of such documents than before. So these are looked at:
//!
//! - **changed** documents, but for those whose text is that of before;
//! - the **rest** of clusters that lost a document, unless a copy of each lost one is left: then nothing falls apart,
//!   and the rest of the cluster is a block that stands for itself;
//! - the **mates** of changed documents, which share a bucket of the index with them: one document of each text of a
//!   known cluster, and those that had no cluster.
//!
//! A document in a pair that somebody decided are not copies stands for no other one, and no other one for it.
//!
//! The job compares these as it compares all documents, and what it finds is united with the known clusters. Its work
//! is counted beforehand, in documents that are read. If that is more than the last job over all documents has cost,
//! all documents are looked at instead.

use std::collections::{HashMap, HashSet};

use ahash::RandomState;
use sketch::Sketcher;
use sketch::clusters::{Block, ClusterId};
use sketch::corpus::Components;

use crate::clusters::corpus::{Fingerprint, TrackedCorpus, components, fingerprint};
use crate::clusters::places::{
    ClusterPlaces, Known, Mention, StoredMembership, each_of, seen_twice,
};
use crate::clusters::tables::AT_A_TIME;
use crate::corpus::jobs::{Question, Work};
use crate::corpus::source::buckets::is_usable;
use crate::error::out_of_memory;
use crate::index::descent;
use crate::index::info::Info;
use crate::index::layout::u64_to_tid;
use crate::index::minlsh_index::MinlshIndex;
use crate::pg::document_keys::DocumentKeys;
use crate::pg::relation::inheritors;
use crate::pg::table::RowsAt;
use crate::prelude::*;

/// The number of documents that a refresh may read in any case: less than anybody would notice.
const FEW: f64 = 64.0;

/// Steps that cost as much as a document that is read. A document is fetched, cut, signed and compared in about 40 µs;
/// a bucket is looked up, or the row of a member found, in about 2 µs.
const STEPS: f64 = 20.0;

/// Rows of buckets that are gathered before repeated ones are left out.
const GATHERED: usize = 1 << 12;

/// A refresh that begins with the changed documents.
pub struct Seeded<'a> {
    pub corpus: TrackedCorpus<'a>,
    pub snapshot: &'a Snapshot,
    pub index: &'a Info,
    pub next_id: ClusterId,
    /// The cost of a job over all documents.
    pub whole: f64,
}

/// The least cost of a changed document: it is signed twice, to be looked up, and to be compared.
const CHANGED: f64 = 2.0;

/// The number of changed documents that a refresh looks at before it looks at all, if these have cost `whole`.
pub fn most_changed(whole: f64) -> usize {
    (whole.max(FEW) / CHANGED) as usize
}

/// The cost of the last job over all documents, which has read so many of them.
pub fn cost_of_all(index: Oid, read: u32) -> f64 {
    let leaves = leaves_of(index);
    let pages: u64 = leaves.iter().map(|leaf| u64::from(leaf.pages())).sum();
    // A page of entries is gone through in about a step.
    f64::from(read) + pages as f64 / STEPS
}

/// The indexes that have entries: itself, or those below a partitioned one.
fn leaves_of(index: Oid) -> Vec<Open> {
    let all = inheritors(index, Lock::Read).into_iter();
    let opened = all.filter_map(|oid| Open::relation(oid, Lock::Held));
    opened.filter(|open| open.class().relkind as u8 == b'i').collect()
}

/// The fate of a document that was written.
#[derive(Clone, Copy, PartialEq)]
enum Now {
    Gone,
    /// Its text is that of before, and so is all that it is similar to.
    Same,
    Here(Fingerprint),
}

struct Change {
    old: Option<StoredMembership>,
    now: Now,
    is_met: bool,
}

/// Something that is true of the documents of some keys.
type KeyTest<'a> = dyn Fn(Datum) -> bool + 'a;

/// The kinds of documents in a job.
#[derive(Clone, Copy)]
enum Tag {
    Changed,
    Rest,
    /// A document of a known cluster, by the number of its block.
    Block(usize),
    /// One that had no cluster.
    Alone,
}

/// The rest of a cluster, one by one.
struct Rest {
    keys: DocumentKeys,
    /// Of each what is stored, and the document of the job that stands for it.
    stored: Vec<(StoredMembership, u32)>,
}

struct SeededJob {
    keys: DocumentKeys,
    tags: Vec<Tag>,
}

impl SeededJob {
    /// # Safety
    /// The key is of the type of the keys.
    unsafe fn push(&mut self, key: Datum, tag: Tag) -> Result<u32> {
        // SAFETY: a key of the type that `find` has made `keys` for, as this function asks of its caller.
        unsafe { self.keys.push(key)? };
        memory::push(&mut self.tags, tag)?;
        Ok(self.tags.len() as u32 - 1)
    }
}

/// Clusters of which not every document is named.
#[derive(Default)]
struct KnownBlocks {
    blocks: Vec<Block>,
    /// The number of each cluster's block; none of a cluster that is named one by one.
    numbers: HashMap<ClusterId, Option<usize>, RandomState>,
    /// The texts of which the job has a document for a block.
    texts: HashSet<(usize, Fingerprint), RandomState>,
}

impl KnownBlocks {
    fn add(&mut self, cluster: ClusterId, size: u64) -> Result<usize> {
        let number = self.blocks.len();
        memory::push(&mut self.blocks, Block { cluster, size, component: 0 })?;
        memory::insert_at(&mut self.numbers, cluster, Some(number))?;
        Ok(number)
    }

    /// True if a text of a block is a new one.
    fn is_new(&mut self, number: usize, print: Fingerprint) -> Result<bool> {
        self.texts.try_reserve(1).map_err(|_| out_of_memory())?;
        Ok(self.texts.insert((number, print)))
    }
}

/// The cost that may still be spent.
struct Budget(f64);

impl Budget {
    /// False if it is too much.
    fn spend(&mut self, documents: f64) -> bool {
        self.0 -= documents;
        self.0 >= 0.0
    }
}

impl Seeded<'_> {
    /// Adds the documents of an update to `places`, and returns the blocks of known clusters; `None` if
    /// all documents had better be looked at. `changed` are the keys that were written, ascending.
    pub fn find(
        &self,
        changed: &DocumentKeys,
        places: &mut ClusterPlaces,
    ) -> Result<Option<Vec<Block>>> {
        let mut budget = Budget(self.whole.max(FEW));
        // Each has at least one mate, as a rule. What a job has cost that is left in the end is lost.
        let with_mates = (CHANGED + 1.0) * changed.len() as f64;
        if !budget.spend(CHANGED * changed.len() as f64) || with_mates > self.whole.max(FEW) {
            return Ok(None);
        }
        let leaves = leaves_of(self.index.index.oid);
        let documents = Relation::open(self.corpus.tracked.documents.oid, Lock::Held);
        let index = Open::relation(self.index.index.oid, Lock::Held);
        let (Some(documents), Some(index)) = (documents, index) else { return Ok(None) };
        let session = Session::open();
        let key = &self.corpus.tables.key;
        let key_type = key.base_type;
        let question = self.corpus.question(&session)?;
        if !leaves.iter().all(|leaf| is_usable(leaf.oid()))
            || !question.source().has_scopes_of(self.index, &documents)
            || !question.source().key_is_unique
        {
            return Ok(None);
        }
        let mut known = Known::of(self.corpus.tables, self.next_id);
        // They are ascending, each once.
        let all = memory::collect(0..changed.len() as u32)?;
        let (changes, buckets) = self.changes(&question, &index, (changed, &all), &mut known)?;
        let mut blocks = KnownBlocks::default();
        let keys = || DocumentKeys::new(key_type, key.collation());
        let mut job = SeededJob { keys: keys()?, tags: Vec::new() };
        let mut rest = Rest { keys: keys()?, stored: Vec::new() };
        let written = |key: Datum| {
            // SAFETY: called with keys of members, mates and the rest, which are all of `key_type`, as `changed` is.
            let found = unsafe { changed.find(&all, key) };
            found.is_some_and(|at| changes[at as usize].now != Now::Same)
        };
        for (at, _) in changes.iter().enumerate().filter(|(_, c)| matches!(c.now, Now::Here(_))) {
            // SAFETY: `changed` and `job` were both made for `key_type`.
            unsafe { job.push(changed.datum(at as u32), Tag::Changed)? };
        }
        // SAFETY: called with keys of `key_type`, by whose column the question asks.
        let alone = |key: Datum| unsafe { question.stands_alone(key) };
        if !self.rests(
            (&changes, &written, &alone),
            &mut known,
            &mut budget,
            (&mut blocks, &mut rest, &mut job),
        )? || !self.mates(
            (&leaves, &buckets),
            (&written, &alone, &mut known),
            &mut budget,
            (&mut blocks, &mut job),
        )? {
            return Ok(None);
        }
        let work = question.of_keys(key, &job.keys)?;
        self.unite(changed, &changes, (blocks, &rest, &job), work, places).map(Some)
    }

    /// Finds what became of the documents that were written, and the buckets that they are in now, ascending.
    fn changes(
        &self,
        question: &Question,
        index: &Open,
        (changed, all): (&DocumentKeys, &[u32]),
        known: &mut Known,
    ) -> Result<(Vec<Change>, Vec<u64>)> {
        let mut memory = Memory::scratch(c"minlsh change");
        let stored = known.members(changed)?.into_iter();
        let changes = stored.map(|old| Change { old, now: Now::Gone, is_met: false });
        let mut changes = memory::collect(changes)?;
        let criteria = question.criteria();
        let mut sketcher = Sketcher::new(criteria.config.clone());
        let (mut bytes, mut bands, mut buckets) = (Vec::new(), Vec::new(), Vec::new());
        let scopes = question.source().scopes.len();
        let index = MinlshIndex::of(index)?;
        question.each(&self.corpus.tables.key, changed, &mut |row: &Row| {
            check_interrupts();
            let Some(key) = row.value(1) else { return Ok(()) };
            // SAFETY: `question.each` gives the tracked key, whose base type `changed` was made for, in the first
            // column.
            let Some(at) = (unsafe { changed.find(all, key) }) else { return Ok(()) };
            let change = &mut changes[at as usize];
            if std::mem::replace(&mut change.is_met, true) {
                return Err(seen_twice());
            }
            let Some(document) = row.value(2) else { return Ok(()) };
            let own = (0..scopes).map(|scope| row.value(scope as i16 + 3));
            let Some(own) = own.collect::<Option<Vec<Datum>>>() else { return Ok(()) };
            // SAFETY: `question.each` gives the document in the second column, for whose type the reader was made.
            let document = unsafe { criteria.reader.document(document) };
            let mut look = |signature: &[i32], _| {
                bytes.clear();
                document.append(&mut bytes)?;
                let print = fingerprint(criteria, &bytes, &mut check_interrupts)?;
                // The fingerprint does not tell in which scope the document is.
                if scopes == 0 && change.old.is_some_and(|(_, old)| old == Some(print)) {
                    change.now = Now::Same;
                    return Ok(());
                }
                change.now = Now::Here(print);
                criteria.banding.hashes(signature, &mut bands)?;
                let own = own.iter().map(|value| (Oid::INVALID, *value));
                // SAFETY: behind it `question.each` gives the scopes of the question: the columns of this index.
                let scope = unsafe { index.scope(own) };
                memory::extend(&mut buckets, &index.keys_of(&bands, scope)?).map_err(Into::into)
            };
            memory.run_and_reset(|| document.sketch(&mut sketcher, &mut look))
        })?;
        buckets.sort_unstable();
        buckets.dedup();
        Ok((changes, buckets))
    }

    /// Finds the rest of the clusters that lost a document: as blocks, or one by one. False if it is too much,
    /// or is not what the list says.
    fn rests(
        &self,
        (changes, written, alone): (&[Change], &KeyTest, &KeyTest),
        known: &mut Known,
        budget: &mut Budget,
        (blocks, rest, job): (&mut KnownBlocks, &mut Rest, &mut SeededJob),
    ) -> Result<bool> {
        let lost = changes.iter().filter(|change| change.now != Now::Same);
        let mut lost = memory::collect(lost.filter_map(|change| change.old))?;
        lost.sort_unstable();
        for of_one in lost.chunk_by(|a, b| a.0 == b.0) {
            let (cluster, named) = (of_one[0].0, of_one.len() as u64);
            let Some(size) = known.size(cluster).and_then(|size| size.checked_sub(named)) else {
                return Ok(false);
            };
            let lost = memory::collect(of_one.iter().map(|(_, print)| *print));
            let mut lost = lost?;
            lost.dedup();
            let is_lost = |key: Datum| written(key) || alone(key);
            if size > 1 && self.has_copies(cluster, lost, &is_lost)? {
                blocks.add(cluster, size)?;
                continue;
            }
            memory::insert_at(&mut blocks.numbers, cluster, None)?;
            let first = rest.stored.len();
            if !budget.spend(size as f64 / STEPS) {
                return Ok(false);
            }
            each_of(self.corpus.tables, cluster, &mut |key, print| {
                if !written(key) {
                    // SAFETY: `each_of` reads a column of members, of which `Tables::open` has found that it has the
                    // type of the keys.
                    unsafe { rest.keys.push(key)? };
                    memory::push(&mut rest.stored, ((cluster, print), 0))?;
                }
                Ok(Continue::Yes)
            })?;
            if (rest.stored.len() - first) as u64 != size {
                return Ok(false);
            }
            // Copies of one text are in one component: one of them is looked at.
            let mut order = memory::collect(first..rest.stored.len())?;
            order.sort_unstable_by_key(|at| rest.stored[*at].0.1);
            let mut before: Option<(Fingerprint, u32)> = None;
            for at in order {
                let print = rest.stored[at].0.1.filter(|_| !alone(rest.keys.datum(at as u32)));
                let copy = before.filter(|(before, _)| Some(*before) == print);
                let number = match copy {
                    Some((_, number)) => number,
                    // SAFETY: `find` has made `rest` and `job` for one type.
                    None => unsafe { job.push(rest.keys.datum(at as u32), Tag::Rest)? },
                };
                rest.stored[at].1 = number;
                before = print.map(|print| (print, number)).or(before);
            }
        }
        Ok(budget.spend(rest.stored.len() as f64 / STEPS + job.tags.len() as f64))
    }

    /// True if what is left of a cluster has a copy of each document that it has lost, which may stand for it.
    fn has_copies(
        &self,
        cluster: ClusterId,
        mut lost: Vec<Option<Fingerprint>>,
        is_lost: &KeyTest,
    ) -> Result<bool> {
        if lost.first() == Some(&None) {
            return Ok(false);
        }
        each_of(self.corpus.tables, cluster, &mut |key, print| {
            if let Ok(place) = lost.binary_search(&print)
                && !is_lost(key)
            {
                lost.remove(place);
            }
            Ok(if lost.is_empty() { Continue::No } else { Continue::Yes })
        })?;
        Ok(lost.is_empty())
    }

    /// Adds the documents that share a bucket with one that was written; false if they are too many, or their
    /// clusters are not in the list.
    fn mates(
        &self,
        (leaves, buckets): (&[Open], &[u64]),
        (written, alone, known): (&KeyTest, &KeyTest, &mut Known),
        budget: &mut Budget,
        (blocks, job): (&mut KnownBlocks, &mut SeededJob),
    ) -> Result<bool> {
        let key_type = self.corpus.tables.key.base_type;
        let Some(column) = self.corpus.tracked.documents.column(self.corpus.tables.key.column)
        else {
            return Ok(false);
        };
        for leaf in leaves {
            // Looked up, or met when all pages are read.
            let steps = buckets.len().min(leaf.pages() as usize);
            if !budget.spend(steps as f64 / STEPS) {
                return Ok(false);
            }
            let table = catalog::table_of_index(leaf.oid());
            let Some(open) = Open::relation(table, Lock::Held) else { return Ok(false) };
            let Some(table) = Relation::open(table, Lock::Held) else { return Ok(false) };
            // What the owner's expressions run may have dropped the column, and added another of that name.
            let own = table.column_called(&column.raw_name);
            let own = own.filter(|own| catalog::base_type(own.type_oid) == key_type);
            let Some(own) = own else { return Ok(false) };
            open.predicate_lock(self.snapshot);
            let Some(rows) = self.rows(leaf, buckets, budget)? else { return Ok(false) };
            let Some(mut found) = RowsAt::of(&open, self.snapshot) else { return Ok(false) };
            for some in rows.chunks(AT_A_TIME) {
                let mut mates = DocumentKeys::new(key_type, self.corpus.tables.key.collation())?;
                for row in some {
                    let key = found.at(u64_to_tid(*row)).and_then(|row| row.value(own.number));
                    if let Some(key) = key.filter(|key| !written(*key)) {
                        // SAFETY: `own` is a column of `key_type`, as was looked at above.
                        unsafe { mates.push(key)? };
                    }
                }
                for (at, stored) in (0..).zip(known.members(&mates)?) {
                    let key = mates.datum(at);
                    let alone = alone(key);
                    if !Self::mate((key, stored, alone), known, blocks, job)? {
                        return Ok(false);
                    }
                }
            }
        }
        let rests = job.tags.iter().filter(|tag| matches!(tag, Tag::Block(_) | Tag::Alone));
        Ok(budget.spend(rests.count() as f64))
    }

    /// The rows of a table in some buckets of its index, each once; `None` if they are too many.
    fn rows(&self, leaf: &Open, buckets: &[u64], budget: &mut Budget) -> Result<Option<Vec<u64>>> {
        // What is left costs a fetch and a search each; what is left out next to nothing.
        let most = (budget.0 * STEPS) as usize;
        let (mut rows, mut room): (Vec<u64>, usize) = (Vec::new(), GATHERED);
        let mut are_too_many = false;
        let index = MinlshIndex::of(leaf)?;
        descent::each_of_buckets(&index, self.snapshot, buckets, &mut |row| {
            if rows.len() == room {
                rows.sort_unstable();
                rows.dedup();
                room = (2 * rows.len()).max(GATHERED);
                // Known only when each is there once.
                are_too_many |= rows.len() > most;
            }
            if are_too_many { Ok(()) } else { memory::push(&mut rows, row).map_err(Into::into) }
        })?;
        if are_too_many {
            return Ok(None);
        }
        rows.sort_unstable();
        rows.dedup();
        Ok(budget.spend(rows.len() as f64 / STEPS).then_some(rows))
    }

    /// Adds a document that shares a bucket with one that was written; false if its cluster is not in the list.
    fn mate(
        (key, stored, alone): (Datum, Option<StoredMembership>, bool),
        known: &Known,
        blocks: &mut KnownBlocks,
        job: &mut SeededJob,
    ) -> Result<bool> {
        let Some((cluster, print)) = stored else {
            // SAFETY: `mates` passes a key of those that it has gathered for the type of the tracked key, as `job`
            // is.
            unsafe { job.push(key, Tag::Alone)? };
            return Ok(true);
        };
        let number = match blocks.numbers.get(&cluster) {
            Some(Some(number)) => *number,
            Some(None) => return Ok(true),
            None => match known.size(cluster).filter(|size| *size > 1) {
                Some(size) => blocks.add(cluster, size)?,
                None => return Ok(false),
            },
        };
        let print = print.filter(|_| !alone);
        if print.map_or(Ok(true), |print| blocks.is_new(number, print))? {
            // SAFETY: `mates` has gathered this key by the type of the tracked key, for which `find` has made `job`.
            unsafe { job.push(key, Tag::Block(number))? };
        }
        Ok(true)
    }

    /// Unites what was found with what is known, and adds the documents to `places`. Returns the blocks.
    fn unite(
        &self,
        changed: &DocumentKeys,
        changes: &[Change],
        (blocks, rest, job): (KnownBlocks, &Rest, &SeededJob),
        work: Work,
        places: &mut ClusterPlaces,
    ) -> Result<Vec<Block>> {
        let KnownBlocks { mut blocks, .. } = blocks;
        let count = job.tags.len() as u32;
        let mut joined = Components::new(count + blocks.len() as u32)?;
        let sorted = job.keys.sorted()?;
        let mut prints = memory::filled(None, job.tags.len())?;
        let mut first: Option<(u32, u32)> = None;
        components(work, &mut |key, component, print| {
            // SAFETY: `find` has asked the question for the keys of `job`: it gives keys of their type.
            let Some(at) = (unsafe { job.keys.find(&sorted, key) }) else { return Ok(()) };
            prints[at as usize] = Some(print);
            match first {
                Some((before, other)) if before == component => joined.union(other, at),
                _ => first = Some((component, at)),
            }
            Ok(())
        })?;
        for (at, tag) in (0..).zip(&job.tags) {
            if let Tag::Block(number) = tag {
                joined.union(at, count + *number as u32);
            }
        }
        let mut here = 0;
        for (at, change) in (0..).zip(changes) {
            check_interrupts();
            let now = match change.now {
                Now::Same => continue,
                Now::Gone => None,
                Now::Here(print) => {
                    // They come first in the job, in their order.
                    here += 1;
                    Some((joined.find(here - 1), Some(print)))
                }
            };
            // SAFETY: `changed` and `places` were both made for the type of the tracked key.
            unsafe { places.push(changed.datum(at), Mention::Named, change.old, now)? };
        }
        for (at, &(stored, number)) in (0..).zip(&rest.stored) {
            check_interrupts();
            let now = Some((joined.find(number), stored.1.or(prints[number as usize])));
            // SAFETY: `rest` and `places` were both made for the type of the tracked key.
            unsafe { places.push(rest.keys.datum(at), Mention::Named, Some(stored), now)? };
        }
        for (at, tag) in (0..).zip(&job.tags) {
            if let (Tag::Alone, Some(print)) = (tag, prints[at as usize]) {
                let now = Some((joined.find(at), Some(print)));
                // SAFETY: `job` and `places` were both made for the type of the tracked key.
                unsafe { places.push(job.keys.datum(at), Mention::Named, None, now)? };
            }
        }
        for (number, block) in (0..).zip(&mut blocks) {
            block.component = joined.find(count + number);
        }
        Ok(blocks)
    }
}
