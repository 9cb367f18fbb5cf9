//! Worker threads that process batches, which go out and come back in order.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

use crate::{Check, Error, Result, memory};

/// Time that the reader waits for a thread between two checks for interrupts.
const PATIENCE: Duration = Duration::from_millis(20);

/// Maximum number of batches in flight for each thread, within memory. Batches take unequal time: while the reader
/// processes a long one, the threads have enough to do.
const AHEAD: usize = 8;

/// Stack size of a thread: at least the main thread of a server has it.
const STACK: usize = 2 << 20;

/// A computation over batches; each thread has its own value.
pub trait BatchWork: Send {
    /// A batch with its results.
    type Batch: Default + Send;

    /// Maximum number of batches for each thread that may be finished before their turn, in addition to those in
    /// flight: they are processed during a long one. The bytes of a batch must then include its results.
    const EARLY: usize = 0;

    /// Processes a batch. An earlier call may have begun it: existing results are replaced. Calls `check_interrupts`
    /// often, which may unwind.
    ///
    /// # Errors
    /// Any error of the batch.
    fn work(&mut self, batch: &mut Self::Batch, check_interrupts: Check) -> Result<()>;
}

/// The reader's settings for its threads.
#[derive(Clone, Copy)]
pub struct Setting {
    /// Called with a function that starts the threads, and must call it. Threads inherit settings that it makes
    /// meanwhile, such as blocked signals.
    pub around_spawn: fn(&mut dyn FnMut()),
    /// Called first by each thread.
    pub at_start: fn(),
    /// Called often by the reader; may unwind.
    pub check_interrupts: fn(),
    /// Maximum bytes of batches in flight; a single batch may be larger.
    pub memory: usize,
}

#[derive(Default)]
struct Queue<B> {
    waiting: VecDeque<(u64, B)>,
    /// The batches in flight, in order, with their sizes. A batch that came back has a flag: false if the reader must
    /// process it.
    places: VecDeque<(Option<(B, bool)>, usize)>,
    /// Number of the first of them.
    first: u64,
    bytes: usize,
    /// Number of them that came back.
    done: usize,
}

impl<B> Queue<B> {
    fn put(&mut self, number: u64, batch: B, is_computed: bool) {
        let at = usize::try_from(number - self.first).unwrap_or(usize::MAX);
        if let Some((place, _)) = self.places.get_mut(at) {
            *place = Some((batch, is_computed));
            self.done += 1;
        }
    }
}

#[derive(Default)]
struct Exchange<B> {
    state: Mutex<Queue<B>>,
    /// Signals a batch to process, or the end.
    work: Condvar,
    /// Signals that the first batch can be taken.
    finished: Condvar,
    stop: AtomicBool,
    /// Number of threads that have finished their start-up allocations.
    started: AtomicUsize,
}

impl<B> Exchange<B> {
    fn lock(&self) -> MutexGuard<'_, Queue<B>> {
        // No foreign code runs under the lock, so it is never poisoned halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reader's side of the exchange.
pub struct Hands<'scope, 'env, W: BatchWork> {
    scope: &'scope Scope<'scope, 'env>,
    shared: &'scope Exchange<W::Batch>,
    setting: Setting,
    own: W,
    /// Makes the threads' values, one for each thread to start; `None` once they are started.
    others: Option<&'env mut dyn FnMut() -> Vec<W>>,
    /// True after the first batch, which alone is not worth threads.
    any: bool,
    next: u64,
    /// Processed batches, for reuse.
    spare: Vec<W::Batch>,
    threads: Vec<ScopedJoinHandle<'scope, ()>>,
}

/// Stops the threads and waits for them, however the reader ends.
impl<W: BatchWork> Drop for Hands<'_, '_, W> {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // A thread that has not seen `stop` holds the lock, or waits for the signal.
        drop(self.shared.lock());
        self.shared.work.notify_all();
        // The end of the scope would wait for the work of threads, but not for their exit.
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Runs `body` with threads that have ended when it returns or unwinds. `own` is the reader's value; `others` makes the
/// threads' values, once there is work for them.
pub fn hands<W: BatchWork, R>(
    setting: Setting,
    own: W,
    others: &mut dyn FnMut() -> Vec<W>,
    body: impl FnOnce(&mut Hands<'_, '_, W>) -> R,
) -> R {
    let shared = &Exchange::default();
    std::thread::scope(|scope| {
        body(&mut Hands {
            scope,
            shared,
            setting,
            own,
            others: Some(others),
            any: false,
            next: 0,
            spare: Vec::new(),
            threads: Vec::new(),
        })
    })
}

impl<'scope, W: BatchWork + 'scope> Hands<'scope, '_, W> {
    /// A batch to fill: a used one with its old content, or a new one.
    pub fn batch(&mut self) -> W::Batch {
        self.spare.pop().unwrap_or_default()
    }

    /// Passes on a batch of `bytes` bytes, and calls `take` with finished batches, in order.
    pub fn give<E: From<Error>>(
        &mut self,
        mut batch: W::Batch,
        bytes: usize,
        take: &mut dyn FnMut(&mut W::Batch) -> Result<(), E>,
    ) -> Result<(), E> {
        if std::mem::replace(&mut self.any, true) {
            self.start();
        }
        let threads = self.threads.len();
        if threads == 0 {
            self.own.work(&mut batch, &mut self.setting.check_interrupts)?;
            take(&mut batch)?;
            self.spare.push(batch);
            return Ok(());
        }
        let mut state = self.shared.lock();
        state.waiting.push_back((self.next, batch));
        state.places.push_back((None, bytes));
        state.bytes += bytes;
        self.next += 1;
        drop(state);
        self.shared.work.notify_one();
        self.collect(AHEAD * threads + 1, W::EARLY * threads, take)
    }

    /// Processes a batch while no other is in flight, and frees it: for one so large that the threads must not have
    /// another at the same time.
    pub fn give_alone<E: From<Error>>(
        &mut self,
        mut batch: W::Batch,
        take: &mut dyn FnMut(&mut W::Batch) -> Result<(), E>,
    ) -> Result<(), E> {
        self.finish(take)?;
        self.spare.clear();
        self.own.work(&mut batch, &mut self.setting.check_interrupts)?;
        take(&mut batch)
    }

    /// Calls `take` with all batches in flight.
    pub fn finish<E: From<Error>>(&mut self, take: &mut dyn FnMut(&mut W::Batch) -> Result<(), E>) -> Result<(), E> {
        self.collect(0, 0, take)
    }

    /// Starts the threads once, as many as are wanted and possible. A caller with enough work need not wait for the
    /// second batch.
    pub(super) fn start(&mut self) {
        let Some(others) = self.others.take() else { return };
        let mut works = others();
        let most = (AHEAD + W::EARLY) * works.len() + 2;
        let mut state = self.shared.lock();
        let room = state.waiting.try_reserve(most).and(state.places.try_reserve(most));
        drop(state);
        let room = room.is_ok() && self.spare.try_reserve(most).is_ok();
        if !room || self.threads.try_reserve(works.len()).is_err() {
            return;
        }
        let (scope, shared, at_start) = (self.scope, self.shared, self.setting.at_start);
        let threads = &mut self.threads;
        (self.setting.around_spawn)(&mut || {
            for work in works.drain(..) {
                if memory::spare(memory::THREAD_HEADROOM + STACK).is_err() {
                    break;
                }
                let thread = move || {
                    at_start();
                    shared.started.fetch_add(1, Ordering::Release);
                    serve(shared, work);
                };
                let builder = Builder::new().stack_size(STACK).name("sketch".into());
                threads.extend(builder.spawn_scoped(scope, thread).ok());
                // Memory that is free now is for the threads' start-up allocations, so nothing else is allocated until
                // they are done.
                while shared.started.load(Ordering::Acquire) < threads.len() {
                    std::thread::yield_now();
                }
            }
        });
    }

    /// Takes finished batches until at most `most` are in flight, besides up to `early` finished ones, and their bytes
    /// fit the setting. If the threads fall behind, the reader processes a batch itself.
    fn collect<E: From<Error>>(
        &mut self,
        most: usize,
        early: usize,
        take: &mut dyn FnMut(&mut W::Batch) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut check_interrupts = self.setting.check_interrupts;
        loop {
            check_interrupts();
            let mut state = self.shared.lock();
            let first = state.places.pop_front_if(|(place, _)| place.is_some());
            if let Some((Some((mut batch, is_computed)), bytes)) = first {
                state.first += 1;
                state.bytes -= bytes;
                state.done -= 1;
                drop(state);
                if !is_computed {
                    self.own.work(&mut batch, &mut check_interrupts)?;
                }
                take(&mut batch)?;
                self.spare.push(batch);
                continue;
            }
            let out = state.places.len();
            let few = out - state.done.min(early) <= most;
            if few && (state.bytes <= self.setting.memory || out <= 1) {
                return Ok(());
            }
            match state.waiting.pop_front() {
                Some((number, mut batch)) => {
                    drop(state);
                    // An error is reported at the batch's turn.
                    let is_computed = self.own.work(&mut batch, &mut check_interrupts).is_ok();
                    self.shared.lock().put(number, batch, is_computed);
                }
                None => drop(self.shared.finished.wait_timeout(state, PATIENCE)),
            }
        }
    }
}

/// The loop of a thread, until it must stop.
fn serve<W: BatchWork>(shared: &Exchange<W::Batch>, mut work: W) {
    let is_stopped = || shared.stop.load(Ordering::Relaxed);
    loop {
        let mut state = shared.lock();
        let (number, mut batch) = loop {
            if is_stopped() {
                return;
            }
            match state.waiting.pop_front() {
                Some(found) => break found,
                None => state = shared.work.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(state);
        let mut look = || {
            if is_stopped() {
                resume_unwind(Box::new("stopped"));
            }
        };
        let done = catch_unwind(AssertUnwindSafe(|| work.work(&mut batch, &mut look)));
        let mut state = shared.lock();
        // The reader also reports a panic, which is a bug.
        state.put(number, batch, matches!(done, Ok(Ok(()))));
        let is_first = state.first == number;
        drop(state);
        if is_first {
            shared.finished.notify_one();
        }
    }
}
