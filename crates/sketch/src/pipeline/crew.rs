//! Processes data in memory part by part, by the caller alone or with threads.

use super::hands::{BatchWork, Setting, hands};
use crate::{Check, Error, Result};

/// The workers that process parts.
pub enum Crew<'a> {
    /// The caller alone, who calls this often; it may unwind.
    Alone(Check<'a>),
    /// The caller, and this number of threads, which may be none.
    With(Setting, usize),
}

/// Computes the result of a part. It may be called again for a part that an earlier call has begun.
pub type Compute<'a, P, R> = dyn Fn(&mut P, Check) -> Result<R> + Sync + 'a;

/// Returns the next part, with the number of bytes that it and its result take.
pub type Next<'a, P, E> = dyn FnMut() -> Result<Option<(P, usize)>, E> + 'a;

impl Crew<'_> {
    /// Checks for interrupts.
    pub fn check(&mut self) {
        match self {
            Self::Alone(check) => check(),
            Self::With(setting, _) => (setting.check_interrupts)(),
        }
    }

    /// Number of workers.
    pub fn size(&self) -> usize {
        match self {
            Self::Alone(_) => 1,
            Self::With(_, threads) => threads + 1,
        }
    }

    /// Computes each part, and calls `take` with the results, in the order of the parts. Only the caller calls `next`
    /// and `take`.
    pub fn each<P: Send, R: Send, E: From<Error>>(
        &mut self,
        next: &mut Next<P, E>,
        compute: &Compute<P, R>,
        take: &mut dyn FnMut(R) -> Result<(), E>,
    ) -> Result<(), E> {
        let &mut Self::With(setting, threads @ 1..) = self else {
            while let Some((mut part, _)) = next()? {
                self.check();
                take(compute(&mut part, &mut || self.check())?)?;
            }
            return Ok(());
        };
        let mut others = || (0..threads).map(|_| Computing(compute)).collect();
        let mut take = |(_, result): &mut (Option<P>, Option<R>)| match result.take() {
            Some(result) => take(result),
            None => Ok(()),
        };
        hands(setting, Computing(compute), &mut others, |hands| {
            let (mut first, mut second) = (next()?, None);
            if first.is_some() {
                second = next()?;
            }
            // Two parts justify threads, because parts are large.
            if second.is_some() {
                hands.start();
            }
            while let Some((part, bytes)) = first {
                // Batches that are done are used again.
                let mut batch = hands.batch();
                batch.0 = Some(part);
                hands.give(batch, bytes, &mut take)?;
                first = match second.take() {
                    None => next()?,
                    given => given,
                };
            }
            hands.finish(&mut take)
        })
    }
}

struct Computing<'a, P, R>(&'a Compute<'a, P, R>);

impl<P: Send, R: Send> BatchWork for Computing<'_, P, R> {
    /// A part and its result.
    type Batch = (Option<P>, Option<R>);

    fn work(&mut self, (part, result): &mut Self::Batch, check: Check) -> Result<()> {
        check();
        if let Some(given) = part {
            *result = Some((self.0)(given, check)?);
            // Frees its memory before the result is taken.
            *part = None;
        }
        Ok(())
    }
}
