//! The threads: batches go out in order, and come back in order.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

use crate::{Check, Error, Result, memory};

/// The time that the reader waits for a thread between two looks at interrupts.
const PATIENCE: Duration = Duration::from_millis(20);

/// Batches for each thread that may be out when the reader goes on reading, if memory holds them. Batches take
/// unequal time: while the reader computes a long one, the threads have enough to do.
const AHEAD: usize = 8;

/// Bytes of the stack of a thread, as the main thread of a server has at least.
const STACK: usize = 2 << 20;

/// A computation over batches; each thread has one of these.
pub trait BatchWork: Send {
    /// A batch and its results.
    type Batch: Default + Send;

    /// Batches for each thread that may be done before their turn, beside those that may be out anyway: as many more
    /// are computed while a long one is. The bytes of a batch must then count its results.
    const EARLY: usize = 0;

    /// Computes a batch. It may have been begun before: results that are there are replaced.
    /// `check_interrupts` is called often, and may unwind.
    ///
    /// # Errors
    /// Whatever is wrong with the batch.
    fn work(&mut self, batch: &mut Self::Batch, check_interrupts: Check) -> Result<()>;
}

/// The setting under which the reader wants its threads.
#[derive(Clone, Copy)]
pub struct Setting {
    /// Called with a function that starts the threads, and must call it. Threads inherit what is set meanwhile, such as
    /// blocked signals.
    pub around_spawn: fn(&mut dyn FnMut()),
    /// Called by a thread before all else.
    pub at_start: fn(),
    /// Called by the reader often; may unwind.
    pub check_interrupts: fn(),
    /// Bytes of batches that are out at a time; one may be out however large it is.
    pub memory: usize,
}

#[derive(Default)]
struct Queue<B> {
    waiting: VecDeque<(u64, B)>,
    /// The batches that are out, in order, with their bytes: each that came back, and whether it was computed. If not,
    /// the reader has to.
    places: VecDeque<(Option<(B, bool)>, usize)>,
    /// The number of the first of them.
    first: u64,
    bytes: usize,
    /// Those of them that came back.
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
    /// There is a batch to compute, or nothing more to do.
    work: Condvar,
    /// The first batch can be taken.
    finished: Condvar,
    stop: AtomicBool,
    /// Threads that have what they take as they start.
    started: AtomicUsize,
}

impl<B> Exchange<B> {
    fn lock(&self) -> MutexGuard<'_, Queue<B>> {
        // No code of others runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reader's side.
pub struct Hands<'scope, 'env, W: BatchWork> {
    scope: &'scope Scope<'scope, 'env>,
    shared: &'scope Exchange<W::Batch>,
    setting: Setting,
    own: W,
    /// Makes what the threads need, for as many threads as there should be; until they are started.
    others: Option<&'env mut dyn FnMut() -> Vec<W>>,
    /// True if a batch was given: one is not worth threads.
    any: bool,
    next: u64,
    /// Emptied batches, to be filled again.
    spare: Vec<W::Batch>,
    threads: Vec<ScopedJoinHandle<'scope, ()>>,
}

/// Stops the threads and waits for them, however the reader ends.
impl<W: BatchWork> Drop for Hands<'_, '_, W> {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // Who has seen no stop holds the lock or waits for the signal.
        drop(self.shared.lock());
        self.shared.work.notify_all();
        // The end of the scope would wait for their work, and not for their end.
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Runs `body` with hands that are gone when it returns or unwinds. `own` is the reader's; `others`
/// makes the threads', when there is work for them.
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
    /// A batch to fill: one that was taken, as it was left, or a new one.
    pub fn batch(&mut self) -> W::Batch {
        self.spare.pop().unwrap_or_default()
    }

    /// Gives a batch of so many bytes to be computed, and calls `take` with those that are done, in order.
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

    /// Computes a batch while no other one is out, and frees it: one that takes so much memory that the threads must
    /// not have another beside it.
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

    /// Calls `take` with all that are out.
    pub fn finish<E: From<Error>>(&mut self, take: &mut dyn FnMut(&mut W::Batch) -> Result<(), E>) -> Result<(), E> {
        self.collect(0, 0, take)
    }

    /// Starts threads once, as many as there should be and can be had. A caller who knows that there is work for them
    /// need not wait for the second batch.
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
                // What is spare now is for what the thread takes as it starts: nobody else may take it.
                while shared.started.load(Ordering::Acquire) < threads.len() {
                    std::thread::yield_now();
                }
            }
        });
    }

    /// Takes what is done until at most `most` batches are out, beside up to `early` that are done, and their bytes fit
    /// the setting. Where the threads are behind, the reader computes a batch itself.
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
                    // An error is due when the turn of the batch comes.
                    let is_computed = self.own.work(&mut batch, &mut check_interrupts).is_ok();
                    self.shared.lock().put(number, batch, is_computed);
                }
                None => drop(self.shared.finished.wait_timeout(state, PATIENCE)),
            }
        }
    }
}

/// The loop of a thread until it has to stop.
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
        // Also what should not happen, a panic, is the reader's to report.
        state.put(number, batch, matches!(done, Ok(Ok(()))));
        let is_first = state.first == number;
        drop(state);
        if is_first {
            shared.finished.notify_one();
        }
    }
}
