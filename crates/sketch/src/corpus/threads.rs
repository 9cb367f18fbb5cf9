//! The same jobs on several cores, for a corpus that is in memory.
//!
//! Bands are independent of each other: a thread takes the next one that nobody has taken. Only
//! the calling thread ever calls back, so that the threads need to know nothing of the caller's
//! world.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use super::buckets::Buckets;
use super::collection::{Corpus, Hashes};
use super::connect::{Connected, connect};
use super::identical::Identical;
use super::left_out::LeftOut;
use super::pairs::{Pair, Side, pairs};
use super::records::Records;
use crate::error::Error;
use crate::memory;
use crate::signature::SlotBits;

/// How long the calling thread waits before it looks whether it shall stop.
const PATIENCE: Duration = Duration::from_millis(50);
/// Pairs that a thread hands over at a time, and how many such loads may wait.
const LOAD: usize = 4096;
const LOADS: usize = 16;

/// A corpus in memory whose pairs are verified by signature.
#[derive(Clone, Copy)]
pub struct InMemory<'a> {
    /// The documents.
    pub records: &'a Records,
    /// How their signatures are stored.
    pub slot_bits: SlotBits,
    /// The least estimated similarity that is wanted.
    pub threshold: f64,
    /// Bytes that one thread may use for sorting.
    pub sort_memory: usize,
    /// Set when the work has ended, or shall end early.
    stop: &'a AtomicBool,
}

impl<'a> InMemory<'a> {
    /// Work on `records` that ends early once `stop` is set; it is set at the end in any case.
    #[must_use]
    pub const fn new(
        records: &'a Records,
        slot_bits: SlotBits,
        threshold: f64,
        sort_memory: usize,
        stop: &'a AtomicBool,
    ) -> Self {
        Self { records, slot_bits, threshold, sort_memory, stop }
    }
}

/// Why work in memory ended early.
#[derive(Debug)]
pub enum Interruption {
    /// It was told to stop.
    Stopped,
    /// There was no memory.
    Failed(Error),
}

use Interruption::Stopped;

impl Hashes for InMemory<'_> {
    type Error = Interruption;

    fn refused(cause: Error) -> Interruption {
        Interruption::Failed(cause)
    }

    fn documents(&self) -> u32 {
        self.records.len() as u32
    }

    fn probes(&self) -> usize {
        self.records.layout().probes()
    }

    fn sort_memory(&self) -> usize {
        self.sort_memory
    }

    fn hashes(
        &mut self,
        column: usize,
        visit: &mut dyn FnMut(u32, u64),
    ) -> Result<(), Interruption> {
        self.records.hashes(column, visit);
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<(), Interruption> {
        if self.stop.load(Ordering::Relaxed) { Err(Stopped) } else { Ok(()) }
    }
}

impl Corpus for InMemory<'_> {
    fn bands(&mut self, document: u32) -> Result<Vec<u64>, Interruption> {
        let record = self.records.get(document);
        Ok((0..self.probes()).map(|band| record.hash(band)).collect())
    }

    fn share_band(&mut self, bands: usize, a: u32, b: u32) -> Result<bool, Interruption> {
        Ok(self.records.get(a).shares_band(bands, &self.records.get(b)))
    }

    fn similarity(&mut self, a: u32, b: u32) -> Result<Option<f64>, Interruption> {
        let (a, b) = (self.records.get(a).signature, self.records.get(b).signature);
        let estimate = self.slot_bits.estimate_jaccard(a, b).ok();
        Ok(estimate.filter(|estimate| *estimate >= self.threshold))
    }
}

/// How many threads there are to be, and how they come to life.
#[derive(Clone, Copy)]
pub struct Threads<'a> {
    /// At least one.
    pub count: usize,
    /// `launch(spawn)` calls `spawn` once, and may do something before and after it (such as
    /// blocking signals, which threads inherit).
    pub launch: &'a dyn Fn(&mut dyn FnMut()),
}

/// [`pairs()`] on threads. `visit` gets the pairs in loads; `checkpoint` is called
/// regularly. When either of them unwinds the threads are stopped and waited for.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn pairs_in_threads(
    corpus: InMemory,
    identical: &Identical,
    side: &(dyn Fn(u32) -> Side + Sync),
    limit: usize,
    threads: Threads,
    checkpoint: &mut dyn FnMut(),
    visit: &mut dyn FnMut(&[Pair]),
) -> Result<LeftOut, Error> {
    let next = AtomicUsize::new(0);
    let work = |sender: &SyncSender<Vec<Pair>>| {
        let (mut corpus, mut buckets) = (corpus, Buckets::default());
        let mut load = memory::with_capacity(LOAD).map_err(InMemory::refused)?;
        let mut left_out = LeftOut::default();
        while let Some(band) = take(&next, corpus.probes()) {
            let mut collect = |_: &mut InMemory, pair| {
                load.push(pair);
                if load.len() < LOAD {
                    return Ok(());
                }
                let empty = memory::with_capacity(LOAD).map_err(InMemory::refused)?;
                sender.send(std::mem::replace(&mut load, empty)).map_err(|_| Stopped)
            };
            left_out += super::pairs::of_band(
                &mut corpus,
                band,
                &mut buckets,
                identical,
                side,
                limit,
                &mut collect,
            )?;
        }
        sender.send(load).map_err(|_| Stopped)?;
        Ok(left_out)
    };
    let mut left_out = LeftOut::default();
    let mut receive = |load: Vec<Pair>| visit(&load);
    match run(threads, corpus.stop, &work, checkpoint, &mut receive)? {
        Some(results) => results.into_iter().for_each(|result| left_out += result),
        None => {
            let mut alone = Alone { corpus, checkpoint };
            let found = pairs(&mut alone, identical, side, limit, &mut |_, pair| {
                visit(&[pair]);
                Ok(())
            });
            left_out = unless_stopped(found)?.unwrap_or_default();
        }
    }
    Ok(left_out)
}

/// [`connect()`] on threads, each with components of its own, joined at the end.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn connect_in_threads(
    corpus: InMemory,
    identical: &Identical,
    limit: usize,
    threads: Threads,
    checkpoint: &mut dyn FnMut(),
) -> Result<Connected, Error> {
    let next = AtomicUsize::new(0);
    let work = |_: &SyncSender<()>| {
        let (mut corpus, mut buckets) = (corpus, Buckets::default());
        let mut connected = Connected::nothing(corpus.documents()).map_err(InMemory::refused)?;
        while let Some(band) = take(&next, corpus.probes()) {
            super::connect::of_band(
                &mut corpus,
                band,
                &mut buckets,
                identical,
                limit,
                &mut connected,
            )?;
        }
        Ok(connected)
    };
    let mut all = Connected::nothing(corpus.documents())?;
    match run(threads, corpus.stop, &work, checkpoint, &mut |()| ())? {
        Some(results) => {
            for part in results {
                all.components.absorb(&part.components);
                memory::extend(&mut all.links, &part.links)?;
                all.left_out += part.left_out;
            }
        }
        None => {
            let found = connect(&mut Alone { corpus, checkpoint }, identical, limit);
            all = unless_stopped(found)?.unwrap_or(all);
        }
    }
    Ok(all)
}

fn take(next: &AtomicUsize, count: usize) -> Option<usize> {
    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < count)
}

/// A result, `None` if the work was told to stop.
fn unless_stopped<T>(result: Result<T, Interruption>) -> Result<Option<T>, Error> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Stopped) => Ok(None),
        Err(Interruption::Failed(cause)) => Err(cause),
    }
}

/// Sets the flag when it goes out of scope, also by unwinding: before the scope of the threads
/// waits for them.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` on threads while this thread passes on what they send, and returns
/// what they return: `None` if the system grants no thread at all. One that fails stops the
/// others.
fn run<M: Send, R: Send>(
    threads: Threads,
    stop: &AtomicBool,
    work: &(dyn Fn(&SyncSender<M>) -> Result<R, Interruption> + Sync),
    checkpoint: &mut dyn FnMut(),
    receive: &mut dyn FnMut(M),
) -> Result<Option<Vec<R>>, Error> {
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(LOADS);
        let mut handles = Vec::new();
        (threads.launch)(&mut || {
            for _ in 0..threads.count {
                let sender = sender.clone();
                let work = move || {
                    let result = unless_stopped(work(&sender));
                    if result.is_err() {
                        stop.store(true, Ordering::Relaxed);
                    }
                    result
                };
                // As many as the system grants.
                handles.extend(std::thread::Builder::new().spawn_scoped(scope, work));
            }
        });
        if handles.is_empty() {
            return Ok(None);
        }
        let _end = StopAtEnd(stop);
        drop(sender);
        loop {
            checkpoint();
            match receiver.recv_timeout(PATIENCE) {
                Ok(message) => receive(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let mut results = Vec::new();
        for handle in handles {
            let result = handle.join().unwrap_or_else(|panic| resume_unwind(panic));
            results.extend(result?);
        }
        Ok(Some(results))
    })
}

/// The corpus on the calling thread.
struct Alone<'a, 'b> {
    corpus: InMemory<'a>,
    checkpoint: &'b mut dyn FnMut(),
}

impl Hashes for Alone<'_, '_> {
    type Error = Interruption;

    fn refused(cause: Error) -> Interruption {
        InMemory::refused(cause)
    }

    fn documents(&self) -> u32 {
        self.corpus.documents()
    }

    fn probes(&self) -> usize {
        self.corpus.probes()
    }

    fn sort_memory(&self) -> usize {
        self.corpus.sort_memory()
    }

    fn hashes(
        &mut self,
        column: usize,
        visit: &mut dyn FnMut(u32, u64),
    ) -> Result<(), Interruption> {
        self.corpus.hashes(column, visit)
    }

    fn checkpoint(&mut self) -> Result<(), Interruption> {
        (self.checkpoint)();
        self.corpus.checkpoint()
    }
}

impl Corpus for Alone<'_, '_> {
    fn bands(&mut self, document: u32) -> Result<Vec<u64>, Interruption> {
        self.corpus.bands(document)
    }

    fn share_band(&mut self, bands: usize, a: u32, b: u32) -> Result<bool, Interruption> {
        self.corpus.share_band(bands, a, b)
    }

    fn similarity(&mut self, a: u32, b: u32) -> Result<Option<f64>, Interruption> {
        self.corpus.similarity(a, b)
    }
}
