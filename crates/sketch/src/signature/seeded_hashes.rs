//! Hashes that a scheme can read several times, in chunks.

use std::ops::ControlFlow;

use crate::hash::mix::{fmix32, mix64};
use crate::scheme::Scheme;
use crate::shingle::{CHUNK, Sink, text_hashes};
use crate::simd::Level;
use crate::{Check, Config, Result, memory};

/// Number of elementary steps between two calls of the check.
pub(crate) const STEPS: usize = 1 << 20;

#[derive(Clone, Copy)]
pub(crate) enum HashSource<'a> {
    /// The shingles of a normalised text.
    Text(&'a str),
    Hashes(&'a [u64]),
}

/// The hashes of a source, as a scheme reads them.
///
/// The hashes of a source with a single chunk are computed once and kept. A longer source is hashed again for each
/// pass: few long texts need a second pass, and keeping the hashes would take eight times the memory of the text.
pub(crate) struct SeededHashes<'a> {
    source: HashSource<'a>,
    config: &'a Config,
    level: Level,
    buffer: &'a mut Vec<u64>,
    /// Number of hashes if `buffer` holds them all.
    kept: Option<usize>,
}

impl<'a> SeededHashes<'a> {
    /// `buffer` is scratch memory.
    pub(crate) fn new(source: HashSource<'a>, config: &'a Config, level: Level, buffer: &'a mut Vec<u64>) -> Self {
        Self { source, config, level, buffer, kept: None }
    }

    /// Calls `sink` with each chunk of hashes. True if there were any.
    pub(crate) fn each(&mut self, check: Check, sink: Sink) -> Result<bool> {
        if let Some(count) = self.kept {
            let _ = sink(&mut self.buffer[..count], check);
            return Ok(true);
        }
        let (scheme, level) = (self.config.scheme(), self.level);
        // The functions of datasketch's schemes include the seed.
        let seed = if scheme.is_datasketch() { 0 } else { self.config.seed() };
        let offset = mix64(seed as u64);
        let (mut count, mut total) = (0, 0);
        let mut mix_and_sink = |chunk: &mut [u64], check: Check| {
            if seed != 0 {
                level.mix(chunk, offset);
            }
            if let Scheme::DatasketchAffine32(_) = scheme {
                chunk.iter_mut().for_each(|hash| *hash = fmix32(*hash as u32).into());
            }
            count += 1;
            total += chunk.len();
            sink(chunk, check)
        };
        memory::resize(self.buffer, CHUNK, 0)?;
        match self.source {
            HashSource::Text(text) => {
                text_hashes(self.config, level, text, self.buffer, check, &mut mix_and_sink)?;
            }
            HashSource::Hashes(hashes) => {
                for part in hashes.chunks(CHUNK) {
                    let chunk = &mut self.buffer[..part.len()];
                    chunk.copy_from_slice(part);
                    check();
                    if mix_and_sink(chunk, check).is_break() {
                        break;
                    }
                }
            }
        }
        self.kept = (count == 1).then_some(total);
        Ok(count > 0)
    }

    /// Calls `lower` with all hashes, in parts small enough for `functions` functions of each. True if there were any.
    pub(crate) fn each_part(&mut self, functions: usize, check: Check, lower: &mut dyn FnMut(&[u64])) -> Result<bool> {
        self.each(check, &mut |chunk, check| {
            for part in chunk.chunks((STEPS / functions).max(1)) {
                check();
                lower(part);
            }
            ControlFlow::Continue(())
        })
    }
}
