//! The documents by which an origin is judged.

use crate::error::Error;
use crate::memory;

/// The most documents of an origin that are looked at.
pub const CHOSEN: usize = 200;

/// For each origin the documents of the least fingerprints, by their numbers. They are the same in whichever order
/// documents come.
#[derive(Default)]
pub struct OriginSample {
    /// By origin, in the order of fingerprints.
    origins: Vec<Vec<(u64, u32)>>,
}

impl OriginSample {
    /// Adds a document of the origin of that number if it is chosen as things stand. A later one may take its place.
    /// Those of one fingerprint are one document.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn offer(&mut self, origin: u32, fingerprint: u64, document: u32) -> Result<(), Error> {
        let origin = origin as usize;
        if origin >= self.origins.len() {
            let more = origin + 1 - self.origins.len();
            memory::reserve(&mut self.origins, more)?;
            self.origins.resize_with(origin + 1, Vec::new);
        }
        let chosen = &mut self.origins[origin];
        let is_full = chosen.len() == CHOSEN;
        // Most documents of an origin that has many.
        if is_full && chosen.last().is_some_and(|(greatest, _)| fingerprint > *greatest) {
            return Ok(());
        }
        let place = chosen.binary_search_by_key(&fingerprint, |(fingerprint, _)| *fingerprint);
        let Err(place) = place else { return Ok(()) };
        if is_full {
            chosen.pop();
        }
        memory::reserve(chosen, 1)?;
        chosen.insert(place, (fingerprint, document));
        Ok(())
    }

    /// For each origin, by its number, the documents that are chosen of it.
    pub fn into_origins(self) -> impl Iterator<Item = impl ExactSizeIterator<Item = u32>> {
        self.origins.into_iter().map(|chosen| chosen.into_iter().map(|(_, document)| document))
    }
}
