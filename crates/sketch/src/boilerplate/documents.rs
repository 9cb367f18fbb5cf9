//! The documents of an origin, and the sample of them by which the origin is judged.

use super::rule::{LEAST, ORIGINS};
use crate::hash::{sort_by_key, xxh3};
use crate::shingle::{has_any, normalize_text, shingle_hashes};
use crate::{Check, Config, Result, memory};

/// The content of a document.
#[derive(Clone, Copy)]
pub enum Shingled<'a> {
    /// A text, with a configuration for splitting it. The scheme must hash to 64 bits.
    Text(&'a Config, &'a str),
    /// A set, by the hashes of its elements, in any order and with any repeats.
    Elements(&'a [u64]),
}

impl Shingled<'_> {
    /// A hash of the normalised text or of the set, which is equal for copies; `None` if there are no shingles.
    pub fn fingerprint(self, check: Check) -> Result<Option<u64>> {
        match self {
            Self::Text(config, text) => {
                let text = normalize_text(config, text, check)?;
                let has = has_any(config, &text, check);
                Ok(has.then(|| xxh3::hash(text.as_bytes())))
            }
            Self::Elements([]) => Ok(None),
            Self::Elements(hashes) => {
                let mut hashes = memory::copied(hashes)?;
                sort_by_key(&mut hashes, check);
                hashes.dedup();
                let mut bytes = memory::with_capacity(size_of_val(&*hashes))?;
                hashes.iter().for_each(|hash| bytes.extend_from_slice(&hash.to_le_bytes()));
                Ok(Some(xxh3::hash(&bytes)))
            }
        }
    }

    /// Appends the hashes of its shingles to `out`, with repeats.
    pub fn hashes(self, out: &mut Vec<u64>, check: Check) -> Result<()> {
        match self {
            Self::Text(config, text) => shingle_hashes(config, text, out, check),
            Self::Elements(hashes) => memory::extend(out, hashes),
        }
    }
}

/// Maximum size of an origin's sample, and of the sample for all origins.
pub const CHOSEN: usize = 200;

/// For each origin, the documents with the least fingerprints. The sample does not depend on the order of documents.
#[derive(Default)]
pub struct OriginSample {
    /// By origin, in the order of fingerprints.
    origins: Vec<Vec<(u64, u32)>>,
}

impl OriginSample {
    /// Offers a document of an origin to the sample. A later one may replace it. Documents with the same fingerprint
    /// count as one.
    pub fn offer(&mut self, origin: u32, fingerprint: u64, document: u32) -> Result<()> {
        let origin = origin as usize;
        if origin >= self.origins.len() {
            let more = origin + 1 - self.origins.len();
            memory::reserve(&mut self.origins, more)?;
            self.origins.resize_with(origin + 1, Vec::new);
        }
        let chosen = &mut self.origins[origin];
        let place = chosen.binary_search_by_key(&fingerprint, |(fingerprint, _)| *fingerprint);
        if let Err(place @ ..CHOSEN) = place {
            memory::reserve(chosen, 1)?;
            chosen.insert(place, (fingerprint, document));
            chosen.truncate(CHOSEN);
        }
        Ok(())
    }

    /// The sample for all origins: the same number of documents from each judged origin, with the least fingerprints.
    /// It is empty if too few origins are judged, so that no single origin decides what is common to all.
    ///
    /// An origin with too few documents does not take part. The number of documents per origin is the one that gives
    /// the largest sample, and the least such number. If there are more origins than fit, those with the least
    /// fingerprints take part.
    pub fn of_all(&self) -> Result<Vec<u32>> {
        let judged = self.origins.iter().filter(|chosen| chosen.len() >= LEAST);
        let mut judged = memory::collect(judged)?;
        // For each number of documents, how many origins have at least as many.
        let mut having = [0; CHOSEN + 2];
        judged.iter().for_each(|chosen| having[chosen.len()] += 1);
        for documents in (1..=CHOSEN).rev() {
            having[documents] += having[documents + 1];
        }
        let (mut each, mut origins) = (0, 0);
        for (documents, having) in (0..=CHOSEN / ORIGINS).zip(having).skip(1) {
            let taking = having.min(CHOSEN / documents);
            if taking >= ORIGINS && taking * documents > origins * each {
                (each, origins) = (documents, taking);
            }
        }
        judged.retain(|chosen| chosen.len() >= each);
        let fingerprints = |entry: &(u64, u32)| entry.0;
        judged.sort_unstable_by(|a, b| a[..each].iter().map(fingerprints).cmp(b[..each].iter().map(fingerprints)));
        let taking = judged.iter().take(origins);
        memory::collect(taking.flat_map(|chosen| chosen[..each].iter().map(|(_, at)| *at)))
    }

    /// The sampled documents of each origin, by its number.
    pub fn into_origins(self) -> impl Iterator<Item = impl ExactSizeIterator<Item = u32>> {
        self.origins.into_iter().map(|chosen| chosen.into_iter().map(|(_, document)| document))
    }
}
