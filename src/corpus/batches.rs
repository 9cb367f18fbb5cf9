//! Groups of documents that share buckets, as many at a time as memory holds.
//!
//! The rows are gone through once more, in order. A document of the first batch stays in memory,
//! one of a later batch goes to the end of that batch's file, and the file is read when its turn
//! comes. A group that is too large for memory is a batch of its own, and its documents stay in
//! their file.

use pgrx::pg_sys::Datum;
use sketch::corpus::{Components, ExactGroup, Hashes, groups};
use sketch::{Sketcher, memory};

use crate::corpus::arguments::Criteria;
use crate::corpus::batch::{Batch, Particulars};
use crate::corpus::documents::Documents;
use crate::corpus::group::{Group, Measure};
use crate::corpus::sets::{Cache, Distinct, Signatures};
use crate::error::{Result, engine};
use crate::options::Verify;
use crate::pg::interrupts::check_interrupts;
use crate::pg::memory::Memory;

/// So many distinct documents, or bytes of them, are worth the time of looking for what they share.
const MANY: usize = 16;
const LARGE: usize = 1 << 20;

/// Bytes of sets beyond which to number what they share costs more than it spares: of 35,000 manual pages
/// and HTML files, pairs at 0.8 took 13 s with sets of 340 MB numbered at once, and 8 s with those of 85 MB.
const NUMBERED: usize = 96 << 20;

/// What is called with each group.
pub type Visit<'a> = dyn FnMut(&mut Group) -> Result<()> + 'a;

/// Rows that can be had once more.
pub trait Rows {
    /// Goes through the documents in order, and calls `visit` with each that is wanted: with the
    /// name that it has from then on, and its value.
    fn each(
        &mut self,
        wanted: &dyn Fn(u32) -> bool,
        visit: &mut dyn FnMut(u32, Datum) -> Result<()>,
    ) -> Result<()>;
}

/// The batches of a job.
pub struct Batches {
    criteria: Criteria,
    batches: Vec<Batch>,
    /// Bytes for the documents of a batch, and as many again for what is made of them.
    memory: usize,
}

impl Batches {
    /// Finds the groups, and brings the documents of each together. Where there are two sources,
    /// `second` is the first document of the second one: a group of one source alone is none.
    pub fn gather(
        mut documents: Documents,
        rows: &mut dyn Rows,
        second: u32,
        criteria: Criteria,
        memory: usize,
    ) -> Result<Self> {
        documents.columns.finish()?;
        let mut components = groups(&mut documents.columns)?;
        let batch_of = assign(&documents, &mut components, second, memory)?;
        let width = documents.columns.probes() + 1;
        let count =
            batch_of.iter().filter(|batch| **batch != ALONE).max().map_or(0, |most| most + 1);
        let batches = (0..count).map(|number| Batch::new(width, number > 0)).collect();
        // What the batches were chosen by is not needed any more.
        let all = 0..documents.len();
        documents.sizes = Vec::new();
        let roots = memory::collect(all.map(|document| components.find(document)));
        let roots = roots.map_err(engine)?;
        drop(components);
        let mut job = Self { criteria, batches, memory };
        job.fill(documents, rows, &roots, &batch_of)?;
        Ok(job)
    }

    /// How documents are compared.
    pub fn criteria(&self) -> &Criteria {
        &self.criteria
    }

    fn fill(
        &mut self,
        mut documents: Documents,
        rows: &mut dyn Rows,
        roots: &[u32],
        batch_of: &[u32],
    ) -> Result<()> {
        let wanted = |document: u32| batch_of[roots[document as usize] as usize] != ALONE;
        let mut all = (0..roots.len() as u32).filter(|document| wanted(*document));
        let mut sketcher = Sketcher::new(self.criteria.config.clone());
        let (mut hashes, mut bytes) = (Vec::new(), Vec::new());
        let context = Memory::child(c"minlsh document");
        rows.each(&wanted, &mut |name, value| {
            check_interrupts();
            let Some(document) = all.next() else { return Ok(()) };
            hashes.clear();
            bytes.clear();
            documents.columns.row(document, &mut hashes)?;
            context.run(|| self.compared(value, &mut sketcher, &mut bytes))?;
            // SAFETY: nothing of the value is used any more.
            unsafe { context.reset() };
            let root = roots[document as usize];
            let own = Particulars {
                scope: documents.scopes.get(document as usize).copied(),
                least: documents.leasts.get(document as usize).copied(),
            };
            let batch = &mut self.batches[batch_of[root as usize] as usize];
            batch.push(name, root, own, &hashes, &bytes)
        })
    }

    /// Appends what is compared of a document.
    fn compared(&self, value: Datum, sketcher: &mut Sketcher, out: &mut Vec<u8>) -> Result<()> {
        // SAFETY: a value of that kind, as the rows promise.
        unsafe {
            let reader = self.criteria.reader;
            if self.criteria.verify == Verify::Exact {
                return reader.append(value, out);
            }
            if let Some(sketched) = reader.sketch(value, sketcher)? {
                // Of a few kB at most.
                out.extend(sketched.signature.iter().flat_map(|slot| slot.to_ne_bytes()));
            }
            Ok(())
        }
    }

    /// Calls `visit` with each group.
    pub fn each(&mut self, visit: &mut Visit) -> Result<()> {
        for mut batch in std::mem::take(&mut self.batches) {
            batch.load(self.memory)?;
            let mut order =
                memory::collect((0..).zip(&batch.roots).map(|(place, root)| (*root, place)))
                    .map_err(engine)?;
            order.sort_unstable();
            for places in order.chunk_by(|a: &(u32, u32), b| a.0 == b.0) {
                check_interrupts();
                let places = places.iter().map(|(_, place)| *place);
                let places = memory::collect(places).map_err(engine)?;
                self.group(&mut batch, &places, visit)?;
            }
        }
        Ok(())
    }
}

impl Batches {
    /// Calls `visit` with the group of the documents at `places`.
    fn group(&self, batch: &mut Batch, places: &[u32], visit: &mut Visit) -> Result<()> {
        let Criteria { reader, verify, threshold, ref config, .. } = self.criteria;
        let mut visit = |batch, measure| {
            visit(&mut Group::new(batch, places, measure, threshold.get(), self.memory))
        };
        if verify == Verify::Signature {
            let signatures = Signatures::of(batch, places, config.num_perm())?;
            return visit(batch, Measure::Estimated(&signatures));
        }
        let distinct = Distinct::of(batch, places)?;
        if distinct.places.len() < MANY && distinct.bytes(batch) < LARGE.min(self.memory / 64) {
            let sets = distinct.few(batch, reader, config)?;
            return visit(batch, Measure::Few(&distinct, &sets));
        }
        let Some(sets) = distinct.sets(batch, reader, config, self.memory.min(NUMBERED))? else {
            let mut cache = Cache::new(reader, config.clone(), places.len(), self.memory)?;
            return visit(batch, Measure::OneByOne(&mut cache));
        };
        let numbered =
            ExactGroup::new(&sets, self.memory, &mut check_interrupts).map_err(engine)?;
        visit(batch, Measure::Many(&distinct, &numbered))
    }
}

/// The group of a document that shares no bucket.
const ALONE: u32 = u32::MAX;

/// Bytes in which the sizes of groups are counted.
const UNIT: usize = 64;

/// The batch of each group, at the place of its least document.
fn assign(
    documents: &Documents,
    components: &mut Components,
    second: u32,
    memory: usize,
) -> Result<Vec<u32>> {
    let count = documents.len() as usize;
    // What a group takes, and at last its batch: both are four bytes a document.
    let mut sizes: Vec<u32> = memory::filled(0, count).map_err(engine)?;
    // How many documents a group has: none, one, more; and for two sources, of each.
    let mut members: Vec<[u8; 2]> = memory::filled([0; 2], count).map_err(engine)?;
    let hashes = (documents.columns.probes() + 1) * size_of::<u64>();
    // Its name, scope, group and end.
    let place = 3 * size_of::<u32>() + size_of::<u64>();
    for (document, size) in (0..).zip(&documents.sizes) {
        let root = components.find(document) as usize;
        let units = (*size as usize + hashes + place).div_ceil(UNIT) as u32;
        sizes[root] = sizes[root].saturating_add(units);
        let members = &mut members[root][usize::from(document >= second)];
        *members = members.saturating_add(1);
    }
    // Vectors that grow have room left; and the first batch is filled beside the groups and batches of all documents.
    let limit = (memory - memory / 8).saturating_sub(2 * size_of::<u32>() * count).max(memory / 4);
    let (mut batch, mut taken) = (0, 0);
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
        if taken > 0 && taken + size > limit {
            (batch, taken) = (batch + 1, 0);
        }
        taken += size;
        *place = batch;
    }
    Ok(batch_of)
}
