//! Windows that enough documents have.

use ahash::AHashMap;
use pgrx::prelude::*;
use sketch::memory;
use sketch::passage::WindowHashes;

use crate::corpus::passages::texts::{Frequent, Texts};
use crate::error::{Result, engine, error};
use crate::index::layout::Entry;
use crate::index::sort::Sorter;
use crate::pg::interrupts::check_interrupts;

/// Sorts what `record` makes of the number and the place of every window whose fingerprint is frequent.
pub fn sorted(
    texts: &mut Texts,
    frequent: &Frequent,
    record: &dyn Fn(u32, usize) -> u64,
) -> Result<Sorter> {
    let (min_match, normalization, share) = (texts.min_match, texts.normalization(), texts.share);
    let files = texts.files.clone();
    let mut hashes = WindowHashes::new().map_err(engine)?;
    let mut sorter = Sorter::new(share);
    let mut batch: Vec<(usize, u64)> = Vec::new();
    texts.each(&mut |_, text| {
        if text.is_copy {
            return Ok(());
        }
        let characters = Texts::characters(&normalization, text)?;
        let wanted = |entry: u64| frequent.has(entry ^ text.salt);
        batch.clear();
        hashes
            .each(&characters, min_match, &wanted, &mut check_interrupts, &mut |place, hash| {
                memory::push(&mut batch, (place, hash ^ text.salt))
            })
            .map_err(engine)?;
        let entry = |&(place, key): &(usize, u64)| Entry { key, tid: record(text.number, place) };
        files.run(|| batch.iter().map(entry).try_for_each(|entry| sorter.push(entry)))
    })?;
    Ok(sorter)
}

/// The number of documents of each window that is in enough of them.
pub struct Counts(AHashMap<u64, u32>);

impl Counts {
    /// Counts them.
    pub fn of(texts: &mut Texts, frequent: &Frequent, min_documents: u32) -> Result<Self> {
        /// Bytes that a window takes in the table, at most.
        const SIZE: usize = 40;
        let limit = texts.share / SIZE;
        let sorter = sorted(texts, frequent, &|number, _| number.into())?;
        let mut counts = AHashMap::new();
        let mut run = Run::default();
        let mut keep = |run: Run| {
            if run.documents < min_documents {
                return Ok(());
            }
            if counts.len() == limit {
                return Err(too_many());
            }
            memory::insert_at(&mut counts, run.key, run.documents).map_err(engine).map(|_| ())
        };
        sorter.finish(|Entry { key, tid }| {
            if run.documents == 0 || key != run.key {
                let before = std::mem::replace(&mut run, Run { key, documents: 1, last: tid });
                return keep(before);
            }
            run.documents += u32::from(tid != run.last);
            run.last = tid;
            Ok(())
        })?;
        keep(run)?;
        Ok(Self(counts))
    }

    /// In how many documents a window is; `None` if not in enough.
    pub fn get(&self, window: u64) -> Option<u32> {
        self.0.get(&window).copied()
    }

    /// The same, once for each window.
    pub fn take(&mut self, window: u64) -> Option<u32> {
        self.0.remove(&window)
    }
}

/// The documents that one window has been seen in.
#[derive(Clone, Copy, Default)]
struct Run {
    key: u64,
    documents: u32,
    last: u64,
}

fn too_many() -> pg_sys::panic::ErrorReport {
    error(
        PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
        "the passages that documents have in common do not fit into maintenance_work_mem",
    )
    .set_hint("Raise maintenance_work_mem or min_documents.")
}
