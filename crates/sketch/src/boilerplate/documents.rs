//! The documents of an origin: what each has, and by which of them the origin is judged.

use super::rule::{LEAST, ORIGINS};
use crate::hash::{sort_by_key, xxh3};
use crate::shingle::{has_any, normalize_text, shingle_hashes};
use crate::{Check, Config, Result, memory};

/// The content of a document.
#[derive(Clone, Copy)]
pub enum Shingled<'a> {
    /// A text, cut as a configuration says whose scheme hashes to 64 bits.
    Text(&'a Config, &'a str),
    /// A set, by the hashes of its elements, in any order and with any repeats.
    Elements(&'a [u64]),
}

impl Shingled<'_> {
    /// A hash of a text once it is normalised, or of a set, which is that of all its copies; `None` if there are no
    /// shingles.
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

/// The most documents by which an origin is judged, and the most that stand for all.
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
    /// Documents with the same fingerprint are one document.
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

    /// The documents that stand for all: equally many of each origin that is judged, of the least fingerprints. There
    /// are none if too few origins are judged, so no origin decides alone what is common to all.
    ///
    /// An origin may have too few documents to take part. The number of documents of an origin is the one that gives
    /// most in all, and the least of several. Where there are more origins than can take part, those with the least
    /// fingerprints do.
    pub fn of_all(&self) -> Result<Vec<u32>> {
        let judged = self.origins.iter().filter(|chosen| chosen.len() >= LEAST);
        let mut judged = memory::collect(judged)?;
        // The number of origins that have at least as many documents.
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

    /// For each origin, by its number, the documents that are chosen of it.
    pub fn into_origins(self) -> impl Iterator<Item = impl ExactSizeIterator<Item = u32>> {
        self.origins.into_iter().map(|chosen| chosen.into_iter().map(|(_, document)| document))
    }
}
