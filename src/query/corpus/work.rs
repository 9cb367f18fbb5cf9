//! A whole-corpus query at work: read, collapse copies, find pairs or components, and say what
//! was left out.

use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use pgrx::prelude::*;
use sketch::corpus::{
    Connected, Identical, InMemory, LeftOut, Pair, Side, Threads, connect, connect_in_threads,
    pairs, pairs_in_threads,
};

use crate::error::{Result, warning};
use crate::functions::checkpoint;
use crate::pg::guc::max_parallel_maintenance_workers;
use crate::pg::signals::spawn_without_signals;
use crate::pg::spi::Session;
use crate::query::corpus::collection::{Collection, Part};
use crate::query::corpus::verifier::Verifier;
use crate::query::options::Verify;
use crate::query::question::Question;
use crate::settings::bucket_limit;

/// Fewer documents are done before a thread has come to life.
const WORTH_A_THREAD: usize = 10_000;

/// The documents of a question, exact copies collapsed.
pub struct Work<'a> {
    /// Where the documents come from, and their keys.
    pub parts: Rc<[Part]>,
    /// The documents.
    pub verifier: Verifier<'a>,
    /// Which of them are copies.
    pub identical: Identical,
    threads: usize,
    threshold: f64,
}

impl<'a> Work<'a> {
    /// Reads the documents that `question` is about.
    pub fn start(question: &Question, session: &'a Session) -> Result<Self> {
        let banding = &question.index.settings.banding;
        let questions = std::slice::from_ref(question);
        let collection = Collection::read(questions, banding, question.probes(), session)?;
        Self::on(question, session, collection)
    }

    /// Works on documents that have been read.
    pub fn on(question: &Question, session: &'a Session, collection: Collection) -> Result<Self> {
        // Texts, and temporary files, are read by this thread alone.
        let threads = match question.verify {
            Verify::Signature if collection.len() >= WORTH_A_THREAD => threads(),
            _ => 1,
        };
        let parts = collection.parts.clone();
        let mut verifier = Verifier::new(question, session, collection);
        let identical = Identical::group(&mut verifier)?;
        Ok(Self { parts, verifier, identical, threads, threshold: question.threshold })
    }

    /// Calls `visit` with each pair of similar leaders.
    pub fn pairs(
        &mut self,
        side: &(dyn Fn(u32) -> Side + Sync),
        visit: &mut dyn FnMut(&Identical, Pair),
    ) -> Result<()> {
        let stop = AtomicBool::new(false);
        let (identical, limit) = (&self.identical, bucket_limit());
        let threads = self.threads();
        let left_out = match self.in_memory(&stop) {
            Some(corpus) => pairs_in_threads(
                corpus,
                identical,
                side,
                limit,
                threads,
                &mut checkpoint,
                &mut |load| load.iter().for_each(|pair| visit(identical, *pair)),
            ),
            None => pairs(&mut self.verifier, identical, side, limit, &mut |_, pair| {
                visit(identical, pair);
                Ok(())
            })?,
        };
        report(left_out);
        Ok(())
    }

    /// Joins similar leaders into components.
    pub fn connect(&mut self) -> Result<Connected> {
        let stop = AtomicBool::new(false);
        let threads = self.threads();
        let connected = match self.in_memory(&stop) {
            Some(corpus) => connect_in_threads(
                corpus,
                &self.identical,
                bucket_limit(),
                threads,
                &mut checkpoint,
            ),
            None => connect(&mut self.verifier, &self.identical, bucket_limit())?,
        };
        report(connected.left_out);
        Ok(connected)
    }

    fn threads(&self) -> Threads<'static> {
        Threads { count: self.threads, launch: &spawn_without_signals }
    }

    /// The documents as threads can work on them; `None` if one thread has to do.
    fn in_memory<'b>(&'b self, stop: &'b AtomicBool) -> Option<InMemory<'b>> {
        let collection = &self.verifier.collection;
        let records = collection.storage.in_memory().filter(|_| self.threads > 1)?;
        let slot_bits = collection.parts[0].index.settings.slot_bits;
        let sort_memory = collection.sort_memory / self.threads;
        Some(InMemory::new(records, slot_bits, self.threshold, sort_memory, stop))
    }
}

/// As many as the caller allows and the machine can run.
fn threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    max_parallel_maintenance_workers().min(cores)
}

/// What a limit has left out is never silent.
pub fn report(left_out: LeftOut) {
    if left_out.comparisons > 0 {
        let LeftOut { comparisons, documents } = left_out;
        let limit = bucket_limit();
        warning(format!("{comparisons} pairs of documents that share a band were not compared"))
            .set_detail(format!(
                "{documents} times a document had been compared in vain with {limit} others of a bucket: \
                 many documents have a text in common that does not make them similar."
            ))
            .set_hint("Raise minlsh.bucket_limit, or create an index with a larger shingle_size.")
            .report(PgLogLevel::WARNING);
    }
}
