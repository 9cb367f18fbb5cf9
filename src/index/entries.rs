//! The entries of many rows, made a batch of rows at a time: by the backend, and by threads beside it.

use sketch::pipeline::{BatchWork, Signer, SignerBatch};
use sketch::{ScopeHash, Sketcher, memory};

use crate::index::keys::{NO_BAND, buckets};
use crate::index::layout::Entry;
use crate::options::IndexOptions;

/// Copies of rows, and then their entries.
#[derive(Default)]
pub struct RowCopies {
    /// Their documents; an empty signature stands for NULL.
    pub documents: SignerBatch,
    /// The address and the scope of each.
    pub places: Vec<(u64, ScopeHash)>,
    /// The entries made of them.
    pub entries: Vec<Entry>,
}

impl RowCopies {
    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.documents.clear();
        self.places.clear();
    }
}

/// Makes entries.
pub struct Maker {
    signer: Signer,
    mask: u64,
    keys: Vec<u64>,
}

impl Maker {
    /// Makes the entries of an index with these options, of whose keys the bits of `mask` are stored.
    ///
    /// # Errors
    /// [`sketch::Error::OutOfMemory`].
    pub fn new(options: &IndexOptions, mask: u64) -> Result<Self, sketch::Error> {
        let sketcher = Sketcher::new(options.config.clone());
        let signer = Signer::new(sketcher, options.banding);
        let signer = match options.min_match {
            Some(min_match) => signer.of_passages(min_match)?,
            None => signer.looking_for_saturated(),
        };
        Ok(Self { signer, mask, keys: Vec::new() })
    }
}

impl BatchWork for Maker {
    type Batch = RowCopies;

    fn work(
        &mut self,
        rows: &mut RowCopies,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<(), sketch::Error> {
        let RowCopies { documents, places, entries } = rows;
        self.signer.work(documents, check_interrupts)?;
        entries.clear();
        for (bands, &(tid, scope)) in documents.hashes().zip(&*places) {
            buckets(scope, bands, self.mask, &mut self.keys, check_interrupts)?;
            if self.keys.is_empty() {
                memory::push(&mut self.keys, NO_BAND)?;
            }
            memory::reserve(entries, self.keys.len())?;
            entries.extend(self.keys.iter().map(|&key| Entry { key, tid }));
        }
        Ok(())
    }
}
