//! Windows of many texts, told apart by a hash of all their characters.

use super::characters::{Characters, Units};
use super::hashes::{Scratch, each_hash};
use super::winnow::Fingerprints;
use crate::error::Error;
use crate::simd::Level;

/// Hashes windows.
pub struct WindowHashes {
    fingerprints: Fingerprints,
    scratch: Scratch,
}

impl WindowHashes {
    /// With the best instructions of the machine.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new() -> Result<Self, Error> {
        Ok(Self { fingerprints: Fingerprints::new()?, scratch: Scratch::new(Level::best())? })
    }

    /// Calls `each` with the place and the hash of every window of `min_match` characters whose
    /// fingerprint is `wanted`, in order.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], and those of `each`.
    pub fn each<E: From<Error>>(
        &mut self,
        text: &Characters,
        min_match: usize,
        wanted: &dyn Fn(u64) -> bool,
        check_interrupts: &mut dyn FnMut(),
        each: &mut dyn FnMut(usize, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let stretches = self.fingerprints.stretches(text, min_match, check_interrupts)?;
        let mut wanted = stretches.iter().filter(|stretch| wanted(stretch.entry)).peekable();
        while let Some(first) = wanted.next() {
            let mut windows = first.from..first.to;
            while let Some(next) = wanted.next_if(|next| next.from == windows.end) {
                windows.end = next.to;
            }
            let scratch = &mut self.scratch;
            match text.units() {
                Units::Bytes(text) => {
                    each_hash(text, min_match, windows, scratch, check_interrupts, &mut *each)?;
                }
                Units::Wide(text) => {
                    each_hash(text, min_match, windows, scratch, check_interrupts, &mut *each)?;
                }
            }
        }
        Ok(())
    }
}
