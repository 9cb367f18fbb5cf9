//! A corpus of signatures in memory.

use minlsh_sketch::corpus::{Corpus, Hashes};
use minlsh_sketch::{Banding, Error, estimate_jaccard, memory, signature_hash};

/// Slots of a signature.
pub const SLOTS: usize = 24;
/// Bands of a signature.
pub const BANDS: usize = 6;

/// Documents, compared by the estimate of their similarity.
pub struct Signatures {
    signatures: Vec<Vec<i32>>,
    bands: Vec<Vec<u64>>,
    pub threshold: f64,
    pub sort_memory: usize,
}

impl Signatures {
    /// Documents that are compared at `threshold`, sorted in a megabyte.
    pub fn new(signatures: &[Vec<i32>], threshold: f64) -> Self {
        let banding = Banding::new(BANDS as i64, (SLOTS / BANDS) as i64).unwrap();
        let bands = signatures.iter().map(|signature| {
            let mut hashes = Vec::new();
            banding.hashes(signature, &mut hashes).unwrap();
            hashes.into_iter().map(|hash| hash as u64).collect()
        });
        let (bands, signatures) = (bands.collect(), signatures.to_vec());
        Self { signatures, bands, threshold, sort_memory: 1 << 20 }
    }
}

impl Hashes for Signatures {
    fn documents(&self) -> u32 {
        self.signatures.len() as u32
    }

    fn probes(&self) -> usize {
        BANDS
    }

    fn sort_memory(&self) -> usize {
        self.sort_memory
    }

    fn hashes(&mut self, column: usize, visit: &mut dyn FnMut(u32, u64)) -> Result<(), Error> {
        for (document, (signature, bands)) in (0..).zip(self.signatures.iter().zip(&self.bands)) {
            visit(document, bands.get(column).copied().unwrap_or_else(|| signature_hash(signature)));
        }
        Ok(())
    }

    fn check_interrupts(&mut self) {}
}

impl Corpus for Signatures {
    fn bands(&mut self, document: u32) -> Result<Vec<u64>, Error> {
        memory::copied(&self.bands[document as usize])
    }

    fn share_band(&mut self, bands: usize, a: u32, b: u32) -> Result<bool, Error> {
        let of = |document: u32| &self.bands[document as usize][..bands];
        Ok(of(a).iter().zip(of(b)).any(|(a, b)| a == b))
    }

    fn similarity(&mut self, a: u32, b: u32) -> Result<Option<f64>, Error> {
        let of = |document: u32| &self.signatures[document as usize];
        let similarity = estimate_jaccard(of(a), of(b))?;
        Ok((similarity >= self.threshold).then_some(similarity))
    }
}
