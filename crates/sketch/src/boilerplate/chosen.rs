//! The documents by which an origin is judged.

use crate::error::Error;
use crate::memory;

/// The most documents of an origin that are looked at.
pub const CHOSEN: usize = 200;

/// For each origin the documents of the least fingerprints, each with a value. They are the same in whichever order
/// documents come.
pub struct OriginSample<T> {
    /// By origin, in the order of fingerprints.
    origins: Vec<Vec<(u64, T)>>,
}

impl<T> Default for OriginSample<T> {
    fn default() -> Self {
        Self { origins: Vec::new() }
    }
}

impl<T> OriginSample<T> {
    /// Adds a document of the origin of that number if it is chosen as things stand; `value` makes its value then.
    /// A later one may take its place. Those of one fingerprint are one document.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], and those of `value`.
    pub fn offer<E: From<Error>>(
        &mut self,
        origin: u32,
        fingerprint: u64,
        value: impl FnOnce() -> Result<T, E>,
    ) -> Result<(), E> {
        let origin = origin as usize;
        if origin >= self.origins.len() {
            let more = origin + 1 - self.origins.len();
            memory::reserve(&mut self.origins, more)?;
            self.origins.resize_with(origin + 1, Vec::new);
        }
        let chosen = &mut self.origins[origin];
        let place = chosen.binary_search_by_key(&fingerprint, |(fingerprint, _)| *fingerprint);
        let Err(place) = place else { return Ok(()) };
        if place == CHOSEN {
            return Ok(());
        }
        let value = value()?;
        if chosen.len() == CHOSEN {
            chosen.pop();
        }
        memory::reserve(chosen, 1)?;
        chosen.insert(place, (fingerprint, value));
        Ok(())
    }

    /// The number of origins, up to the greatest that has a document.
    #[must_use]
    pub fn origins(&self) -> u32 {
        self.origins.len() as u32
    }

    /// The values of the documents that are chosen of an origin.
    pub fn of_origin(&self, origin: u32) -> impl ExactSizeIterator<Item = &T> {
        self.origins[origin as usize].iter().map(|(_, value)| value)
    }
}
