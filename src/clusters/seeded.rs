//! A refresh of changed documents only: finds the documents to examine if it is known which rows were written.
//!
//! Clusters of two or more documents are known as of the last refresh. No new chain of unchanged documents can join two
//! of them. So a refresh examines:
//!
//! - **changed** documents, except those with the same text as before;
//! - the **rest** of clusters that lost a document, unless a copy of each lost one remains: then nothing falls apart,
//!   and the rest of the cluster is a block;
//! - the **mates** of changed documents, which share a bucket of the index with them: one document for each text of a
//!   known cluster, and documents without a cluster.
//!
//! A document in a pair that someone marked as apart neither represents another one nor is represented.
//!
//! The job compares these as it compares all documents, and its result is united with the known clusters. The cost is
//! estimated beforehand, in documents to read. If it exceeds the cost of the last job over all documents, all documents
//! are examined instead.

use std::collections::{HashMap, HashSet};

use ahash::RandomState;
use sketch::clusters::{Block, ClusterId};
use sketch::corpus::Components;
use sketch::{Sketcher, sort_by};

use crate::clusters::corpus::{Fingerprint, TrackedCorpus, components, fingerprint};
use crate::clusters::places::{
    ClusterPlaces, ClusterSizes, Mention, StoredMembership, each_of, members_of, seen_twice,
};
use crate::clusters::tables::{AT_A_TIME, RefreshState, Tables};
use crate::corpus::jobs::{Question, check_room};
use crate::corpus::source::buckets::is_usable;
use crate::index::info::Info;
use crate::index::layout::u64_to_tid;
use crate::index::minlsh_index::MinlshIndex;
use crate::index::{descent, nbtree};
use crate::pg::relation::inheritors;
use crate::pg::table::RowsAt;
use crate::prelude::*;

/// Number of documents that a refresh may always read, which takes an unnoticeable time.
const FEW: f64 = 64.0;

/// Number of steps that cost as much as reading a document. A document is fetched, split, signed and compared in about
/// 40 µs. A bucket is looked up, or a member's row found, in about 2 µs.
const STEPS: f64 = 20.0;

/// Minimum cost of a changed document: it is signed for the look-up, and again for the comparison.
const CHANGED: f64 = 2.0;

/// Number of changed documents up to which a refresh examines them only; `whole` is the cost of all documents.
pub fn most_changed(whole: f64) -> usize {
    (whole.max(FEW) / CHANGED) as usize
}

/// The cost of a job over all documents that read `read` documents.
pub fn cost_of_all(index: Oid, read: u32) -> f64 {
    let leaves = leaves_of(index);
    let pages: u64 = leaves.iter().map(|leaf| u64::from(leaf.pages())).sum();
    // Reading a page of entries takes about a step.
    f64::from(read) + pages as f64 / STEPS
}

/// The indexes that have entries: `index` itself, or the leaves of a partitioned index.
fn leaves_of(index: Oid) -> Vec<Open> {
    let all = inheritors(index, Lock::Read).into_iter();
    let opened = all.filter_map(|oid| Open::relation(oid, Lock::Held));
    opened.filter(|open| open.class().relkind as u8 == b'i').collect()
}

/// A document to examine: what the last refresh stored of it, and why it is examined.
struct Seed {
    old: Option<StoredMembership>,
    part: SeedPart,
}

/// The role of a document in a refresh.
#[derive(Clone, Copy, PartialEq)]
enum SeedPart {
    /// It was written, and no longer exists.
    Gone,
    /// It was written, and has no text or no scope.
    Empty,
    /// It was rewritten with the same text, so its neighbours are unchanged.
    Same,
    Written(Fingerprint),
    /// It belongs to the rest of a cluster. The document with this number represents it: a copy, or itself.
    Rest(u32),
    /// It belongs to a known cluster, which is the block with this number.
    Block(usize),
    /// It had no cluster.
    Alone,
}

/// A refresh that starts from the changed documents.
struct SeededJob<'a> {
    corpus: TrackedCorpus<'a>,
    question: &'a Question<'a>,
    snapshot: &'a Snapshot,
    next_id: ClusterId,
    sizes: ClusterSizes,
    /// Keys in pairs that are marked as apart, and their numbers in order of keys.
    apart: (DocumentKeys, Vec<u32>),
    /// The remaining budget, in documents to read.
    budget: f64,
    /// The keys of the documents, the changed ones first. `changed` has the numbers of these, in order of keys.
    keys: DocumentKeys,
    changed: Vec<u32>,
    seeds: Vec<Seed>,
    /// Clusters whose documents are not all listed.
    blocks: Vec<Block>,
    /// The number of each cluster's block; `None` for a cluster whose documents are listed one by one.
    numbers: HashMap<ClusterId, Option<usize>, RandomState>,
    /// The texts that have a document for a block.
    texts: HashSet<(usize, Fingerprint), RandomState>,
}

/// Adds the documents of an update to `places`, and returns the blocks of known clusters. `None` if examining all
/// documents is cheaper. `changed` are the written keys, ascending.
pub fn find(
    corpus: TrackedCorpus,
    (info, snapshot): (&Info, &Snapshot),
    state: &RefreshState,
    changed: DocumentKeys,
    places: &mut ClusterPlaces,
) -> Result<Option<Vec<Block>>> {
    let (whole, written) = (state.whole.max(FEW), changed.len());
    // Each usually has at least one mate. The cost of a job that is abandoned is lost.
    if (CHANGED + 1.0) * written as f64 > whole {
        return Ok(None);
    }
    let leaves = leaves_of(info.index.oid);
    let documents = Relation::open(corpus.tracked.documents.oid, Lock::Held);
    let index = Open::relation(info.index.oid, Lock::Held);
    let (Some(documents), Some(index)) = (documents, index) else { return Ok(None) };
    let session = Session::open();
    let question = corpus.question(&session)?;
    if !leaves.iter().all(|leaf| is_usable(leaf.oid()))
        || !question.source().has_scopes_of(info, &documents)
        || !question.source().key_is_unique
    {
        return Ok(None);
    }
    let mut sizes = ClusterSizes::default();
    let stored = members_of(corpus.tables, &changed, state.next_id, &mut sizes)?;
    let seeds = stored.into_iter().map(|old| Seed { old, part: SeedPart::Gone });
    let apart = apart(corpus.tables)?;
    let mut job = SeededJob {
        corpus,
        question: &question,
        snapshot,
        next_id: state.next_id,
        sizes,
        apart,
        budget: whole - CHANGED * written as f64,
        keys: changed,
        // They are ascending and distinct.
        changed: memory::collect(0..written as u32)?,
        seeds: memory::collect(seeds)?,
        blocks: Vec::new(),
        numbers: HashMap::default(),
        texts: HashSet::default(),
    };
    let buckets = job.changes(&index)?;
    if !job.rests()? || !job.mates(&leaves, &buckets)? {
        return Ok(None);
    }
    job.unite(places).map(Some)
}

/// Reads the keys in pairs that are marked as apart, and their numbers in order of keys.
fn apart(tables: &Tables) -> Result<(DocumentKeys, Vec<u32>)> {
    let mut keys = DocumentKeys::new(tables.key.base_type, tables.key.collation())?;
    tables.each("SELECT a FROM {apart} UNION ALL SELECT b FROM {apart}", &[], |row| {
        if let Some(key) = row.typed(1, tables.key.base_type)? {
            keys.push(key)?;
        }
        check_room(keys.bytes()).map(|()| Continue::Yes)
    })?;
    let sorted = keys.sorted()?;
    Ok((keys, sorted))
}

impl SeededJob<'_> {
    /// Finds the new state of the written documents. Returns their current buckets, ascending.
    fn changes(&mut self, index: &Open) -> Result<Vec<u64>> {
        let Self { question, keys, changed, seeds, .. } = self;
        let mut memory = Memory::scratch(c"minlsh change");
        let criteria = &question.criteria;
        let mut sketcher = Sketcher::new(criteria.config.clone());
        let (mut bytes, mut bands, mut buckets) = (Vec::new(), Vec::new(), Vec::new());
        let scopes = question.source().scopes.len();
        let index = MinlshIndex::of(index)?;
        question.each(&self.corpus.tables.key, keys, &mut |row: &Row| {
            check_interrupts();
            let Some(key) = row.get(1) else { return Ok(()) };
            let Some(at) = keys.find(changed, key) else { return Ok(()) };
            let Seed { old, part } = &mut seeds[at as usize];
            if std::mem::replace(part, SeedPart::Empty) != SeedPart::Gone {
                return Err(seen_twice());
            }
            let Some(document) = row.get(2) else { return Ok(()) };
            let own = (0..scopes).map(|scope| row.value(scope as i16 + 3));
            let Some(own) = own.collect::<Option<Vec<Datum>>>() else { return Ok(()) };
            let mut look = |signature: &[i32], _| {
                criteria.reader.read(document, &mut bytes)?;
                let print = fingerprint(criteria.reader.form(), &criteria.config, &bytes, &mut check_interrupts)?;
                // The fingerprint does not include the document's scope.
                if scopes == 0 && old.is_some_and(|(_, old)| old == Some(print)) {
                    *part = SeedPart::Same;
                    return Ok(());
                }
                *part = SeedPart::Written(print);
                criteria.banding.hashes(signature, &mut bands)?;
                let own = own.iter().map(|value| (Oid::INVALID, Some(*value)));
                // SAFETY: `question.each` returns the scopes of this index after the document.
                let scope = unsafe { index.scope(own) };
                memory::extend(&mut buckets, &index.keys_of(&bands, scope)?).map_err(Into::into)
            };
            memory.run_and_reset(|| criteria.reader.sketch(document, &mut sketcher, &mut look)).map(drop)
        })?;
        buckets.sort_unstable();
        buckets.dedup();
        Ok(buckets)
    }

    /// Finds the rest of the clusters that lost a document, as blocks or one by one. False if it is over budget, or
    /// contradicts the list.
    fn rests(&mut self) -> Result<bool> {
        let lost = self.seeds.iter().filter(|seed| seed.part != SeedPart::Same);
        let mut lost = memory::collect(lost.filter_map(|seed| seed.old))?;
        lost.sort_unstable();
        for of_one in lost.chunk_by(|a, b| a.0 == b.0) {
            let (cluster, named) = (of_one[0].0, of_one.len() as u64);
            let size = self.sizes.get(&cluster).and_then(|size| size.checked_sub(named));
            let Some(size) = size else { return Ok(false) };
            let mut prints = memory::collect(of_one.iter().map(|(_, print)| *print))?;
            prints.dedup();
            if size > 1 && self.has_copies(cluster, prints)? {
                self.add_block(cluster, size)?;
                continue;
            }
            memory::insert_at(&mut self.numbers, cluster, None)?;
            if !self.spend(size as f64 / STEPS) {
                return Ok(false);
            }
            let first = self.seeds.len();
            each_of(self.corpus.tables, cluster, &mut |key, print| {
                if !self.is_written(key) {
                    let itself = self.seeds.len() as u32;
                    self.push(key, Some((cluster, print)), SeedPart::Rest(itself))?;
                }
                Ok(Continue::Yes)
            })?;
            let rest = first..self.seeds.len();
            if rest.len() as u64 != size {
                return Ok(false);
            }
            // Copies of a text are in the same component, so one of them is examined.
            let mut order = memory::collect(rest)?;
            order.sort_unstable_by_key(|at| self.seeds[*at].old);
            let mut before: Option<(Fingerprint, u32)> = None;
            for at in order {
                let print = self.seeds[at].old.and_then(|(_, print)| print);
                let print = print.filter(|_| !self.is_apart(self.keys.key(at as u32)));
                match before.filter(|(before, _)| Some(*before) == print) {
                    Some((_, copy)) => self.seeds[at].part = SeedPart::Rest(copy),
                    None => before = print.map(|print| (print, at as u32)).or(before),
                }
            }
        }
        let (rests, compared) = (self.seeds.len() - self.changed.len(), self.compared().count());
        Ok(self.spend(rests as f64 / STEPS + compared as f64))
    }

    /// True if the rest of a cluster has a copy of each lost document that may represent it.
    fn has_copies(&self, cluster: ClusterId, mut lost: Vec<Option<Fingerprint>>) -> Result<bool> {
        if lost.first() == Some(&None) {
            return Ok(false);
        }
        each_of(self.corpus.tables, cluster, &mut |key, print| {
            if let Ok(place) = lost.binary_search(&print)
                && !self.is_written(key)
                && !self.is_apart(key)
            {
                lost.remove(place);
            }
            Ok(if lost.is_empty() { Continue::No } else { Continue::Yes })
        })?;
        Ok(lost.is_empty())
    }

    /// Adds the documents that share a bucket with a written one. False if they are over budget, or their clusters are
    /// not in the list.
    fn mates(&mut self, leaves: &[Open], buckets: &[u64]) -> Result<bool> {
        let TrackedCorpus { tracked, tables, .. } = self.corpus;
        let key = &tables.key;
        let Some(column) = tracked.documents.column(key.column) else { return Ok(false) };
        for leaf in leaves {
            // Buckets are looked up, or met in a scan of all pages.
            let steps = buckets.len().min(leaf.pages() as usize);
            if !self.spend(steps as f64 / STEPS) {
                return Ok(false);
            }
            let table = catalog::table_of_index(leaf.oid());
            let Some(open) = Open::relation(table, Lock::Held) else { return Ok(false) };
            let Some(table) = Relation::open(table, Lock::Held) else { return Ok(false) };
            // Code in the owner's expressions may have dropped the column, and added another with the same name.
            let own = table.column_called(&column.raw_name);
            let own = own.filter(|own| catalog::base_type(own.type_oid) == key.base_type);
            let Some(own) = own else { return Ok(false) };
            open.predicate_lock(self.snapshot);
            let Some(rows) = self.rows(leaf, buckets)? else { return Ok(false) };
            let Some(mut found) = RowsAt::of(&open, self.snapshot) else { return Ok(false) };
            for some in rows.chunks(AT_A_TIME) {
                let mut mates = DocumentKeys::new(key.base_type, key.collation())?;
                for row in some {
                    let key = found.at(u64_to_tid(*row)).and_then(|row| row.get(own.number));
                    if let Some(key) = key.filter(|key| !self.is_written(*key)) {
                        mates.push(key)?;
                    }
                }
                let stored = members_of(tables, &mates, self.next_id, &mut self.sizes)?;
                for (at, stored) in (0..).zip(stored) {
                    if !self.mate(mates.key(at), stored)? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    /// The distinct rows of a table in some buckets of its index; `None` if they are over budget.
    fn rows(&mut self, leaf: &Open, buckets: &[u64]) -> Result<Option<Vec<u64>>> {
        // Each row costs a fetch and a search; the index costs next to nothing.
        let most = (self.budget * STEPS) as usize;
        let mut rows: HashSet<u64, RandomState> = HashSet::default();
        let index = MinlshIndex::of(leaf)?;
        nbtree::count_search(leaf);
        descent::each(&index, Some(self.snapshot), buckets, &mut |found| {
            found.iter().try_for_each(|row| memory::insert(&mut rows, *row).map(drop))?;
            Ok(if rows.len() <= most { Continue::Yes } else { Continue::No })
        })?;
        let mut rows = memory::collect(rows)?;
        rows.sort_unstable();
        Ok(self.spend(rows.len() as f64 / STEPS).then_some(rows))
    }

    /// Adds a document that shares a bucket with a written one, unless another document represents it. False if it is
    /// over budget, or its cluster is not in the list.
    fn mate(&mut self, key: TypedValue, stored: Option<StoredMembership>) -> Result<bool> {
        let mut part = SeedPart::Alone;
        if let Some((cluster, print)) = stored {
            let number = match self.numbers.get(&cluster) {
                Some(Some(number)) => *number,
                Some(None) => return Ok(true),
                None => match self.sizes.get(&cluster).copied().filter(|size| *size > 1) {
                    Some(size) => self.add_block(cluster, size)?,
                    None => return Ok(false),
                },
            };
            if let Some(print) = print.filter(|_| !self.is_apart(key))
                && !memory::insert(&mut self.texts, (number, print))?
            {
                return Ok(true);
            }
            part = SeedPart::Block(number);
        }
        self.push(key, stored, part)?;
        Ok(self.spend(1.0))
    }

    /// Unites the result with the known clusters, and adds the documents to `places`. Returns the blocks.
    fn unite(mut self, places: &mut ClusterPlaces) -> Result<Vec<Block>> {
        let key = &self.corpus.tables.key;
        let mut compared = memory::collect(self.compared())?;
        let mut keys = DocumentKeys::new(key.base_type, key.collation())?;
        for at in &compared {
            keys.push(self.keys.key(*at))?;
        }
        let work = self.question.of_keys(key, &keys)?;
        sort_by(&mut compared, |a, b| self.keys.compare(*a, *b), &mut check_interrupts);
        let count = self.seeds.len() as u32;
        let mut joined = Components::new(count + self.blocks.len() as u32)?;
        let mut prints = memory::filled(None, self.seeds.len())?;
        let mut first: Option<(u32, u32)> = None;
        components(work, &mut |key, component, print| {
            let Some(at) = self.keys.find(&compared, key) else { return Ok(()) };
            prints[at as usize] = Some(print);
            match first {
                Some((before, other)) if before == component => joined.union(other, at),
                _ => first = Some((component, at)),
            }
            Ok(())
        })?;
        for (at, seed) in (0..).zip(&self.seeds) {
            if let SeedPart::Block(number) = seed.part {
                joined.union(at, count + number as u32);
            }
        }
        for (at, &Seed { old, part }) in (0..).zip(&self.seeds) {
            check_interrupts();
            let now = match (part, prints[at as usize]) {
                (SeedPart::Same | SeedPart::Block(_), _) | (SeedPart::Alone, None) => continue,
                (SeedPart::Gone | SeedPart::Empty, _) => None,
                (SeedPart::Written(print), _) | (SeedPart::Alone, Some(print)) => Some((at, Some(print))),
                (SeedPart::Rest(copy), _) => Some((copy, old.and_then(|(_, print)| print).or(prints[copy as usize]))),
            };
            let now = now.map(|(document, print)| (joined.find(document), print));
            places.push(self.keys.key(at), Mention::Named, old, now)?;
        }
        for (number, block) in (0..).zip(&mut self.blocks) {
            block.component = joined.find(count + number);
        }
        Ok(self.blocks)
    }

    /// Adds a document besides the written ones.
    fn push(&mut self, key: TypedValue, old: Option<StoredMembership>, part: SeedPart) -> Result<()> {
        self.keys.push(key)?;
        memory::push(&mut self.seeds, Seed { old, part }).map_err(Into::into)
    }

    fn add_block(&mut self, cluster: ClusterId, size: u64) -> Result<usize> {
        let number = self.blocks.len();
        memory::push(&mut self.blocks, Block { cluster, size, component: 0 })?;
        memory::insert_at(&mut self.numbers, cluster, Some(number))?;
        Ok(number)
    }

    /// The documents to compare.
    fn compared(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.seeds).filter_map(|(at, seed)| match seed.part {
            SeedPart::Gone | SeedPart::Empty | SeedPart::Same => None,
            SeedPart::Rest(copy) => (copy == at).then_some(at),
            SeedPart::Written(_) | SeedPart::Block(_) | SeedPart::Alone => Some(at),
        })
    }

    /// True if the document with key `key` was written, and has changed.
    fn is_written(&self, key: TypedValue) -> bool {
        let found = self.keys.find(&self.changed, key);
        found.is_some_and(|at| self.seeds[at as usize].part != SeedPart::Same)
    }

    /// True if the document with key `key` is in a pair that is marked as apart.
    fn is_apart(&self, key: TypedValue) -> bool {
        let (keys, sorted) = &self.apart;
        keys.find(sorted, key).is_some()
    }

    /// Subtracts a cost from the budget; false if it is exceeded.
    fn spend(&mut self, documents: f64) -> bool {
        self.budget -= documents;
        self.budget >= 0.0
    }
}
