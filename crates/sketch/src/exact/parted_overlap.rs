//! The overlap of two texts with more shingles than fit into memory.

use std::ops::ControlFlow;

use ahash::AHashMap;

use super::overlap::Overlap;
use super::shingle_set::ShingleSet;
use crate::scheme::Scheme;
use crate::shingle::{CHUNK, normalize_text, repeated, text_hashes};
use crate::simd::Level;
use crate::{Check, Config, Error, Result, memory};

/// Number of hashes in a block.
const BLOCK: usize = 512;

/// Maximum bytes of a hash while it is counted; a table may have twice as many slots as entries.
const COUNTED: usize = 64;

/// External storage for blocks of hashes.
pub trait Blocks<E> {
    /// Appends a block; all have the same size.
    fn append(&mut self, block: &[u64]) -> Result<(), E>;

    /// Reads a block by its number.
    fn read(&mut self, number: u32, block: &mut [u64]) -> Result<(), E>;
}

/// Counts the shingles of two texts and the shared ones; for bags, their elements. Hashes take about `limit` bytes of
/// memory. If there are more, they are stored by their upper bits, and each part is counted separately.
pub fn overlap_of_texts<E: From<Error>>(
    config: &Config,
    texts: [&str; 2],
    limit: usize,
    blocks: &mut dyn Blocks<E>,
    check: Check,
) -> Result<Overlap, E> {
    // A text has at most as many shingles as bytes.
    let most = texts.iter().map(|text| text.len()).sum::<usize>();
    if most * size_of::<u64>() <= limit {
        let [a, b] = texts;
        let a = ShingleSet::from_text(config, a, check)?;
        let b = ShingleSet::from_text(config, b, check)?;
        return Ok(a.overlap(&b, check));
    }
    let bits = part_bits(most, limit);
    let [a, b] = texts;
    let mut count = 0;
    let parts = [
        HashParts::of_text(config, a, bits, &mut count, blocks, check)?,
        HashParts::of_text(config, b, bits, &mut count, blocks, check)?,
    ];
    let mut all = Overlap { a: 0, b: 0, shared: 0 };
    let (mut counts, mut block) = (Counts::default(), memory::filled(0, BLOCK)?);
    for part in 0..1 << bits {
        counts.0.clear();
        for (text, parts) in parts.iter().enumerate() {
            parts.each(part, &mut block, blocks, &mut |hashes| {
                check();
                counts.add(text, hashes)
            })?;
        }
        counts.sum(config.bag(), &mut all);
    }
    Ok(all)
}

/// The shingles of a text, or the elements of its bag, as in [`ShingleSet::from_text`]. In addition to the distinct
/// ones, it takes about `limit` bytes of memory, however long the text is.
pub fn set_of_long_text<E: From<Error>>(
    config: &Config,
    text: &str,
    limit: usize,
    blocks: &mut dyn Blocks<E>,
    check: Check,
) -> Result<ShingleSet, E> {
    let bits = part_bits(text.len(), limit);
    let parts = HashParts::of_text(config, text, bits, &mut 0, blocks, check)?;
    let (mut counts, mut block) = (Counts::default(), memory::filled(0, BLOCK)?);
    let mut elements = Vec::new();
    for part in 0..1 << bits {
        counts.0.clear();
        parts.each(part, &mut block, blocks, &mut |hashes| {
            check();
            counts.add(0, hashes)
        })?;
        for (&hash, &[count, _]) in &counts.0 {
            let repeats = if config.bag() { count.into() } else { 1 };
            for repeat in 0..repeats {
                memory::push(&mut elements, repeated(hash, repeat))?;
            }
        }
    }
    Ok(ShingleSet::from_hashes(elements, check))
}

/// Number of upper bits that partition `most` hashes so that each part is counted in `limit` bytes.
fn part_bits(most: usize, limit: usize) -> u32 {
    let wanted = (most * COUNTED).div_ceil(limit).next_power_of_two();
    wanted.ilog2().clamp(1, 12)
}

/// The number of occurrences of each hash in the two texts.
#[derive(Default)]
struct Counts(AHashMap<u64, [u32; 2]>);

impl Counts {
    fn add(&mut self, text: usize, hashes: &[u64]) -> Result<()> {
        self.0.try_reserve(hashes.len()).map_err(|_| memory::refused::<u64>(BLOCK))?;
        for &hash in hashes {
            self.0.entry(hash).or_insert([0; 2])[text] += 1;
        }
        Ok(())
    }

    fn sum(&self, is_bag: bool, all: &mut Overlap) {
        for &[a, b] in self.0.values() {
            let counted = |count: u32| if is_bag { count } else { count.min(1) } as usize;
            let (a, b) = (counted(a), counted(b));
            (all.a, all.b, all.shared) = (all.a + a, all.b + b, all.shared + a.min(b));
        }
    }
}

/// The hashes of a text, partitioned by their upper bits into a power of two of parts, at least two.
struct HashParts(Vec<CountedPart>);

struct CountedPart {
    /// Hashes that are not stored yet.
    open: Vec<u64>,
    /// Numbers of the blocks with the other hashes.
    aside: Vec<u32>,
}

impl HashParts {
    /// The hashes of the shingles of a text.
    fn of_text<E: From<Error>>(
        config: &Config,
        text: &str,
        bits: u32,
        count: &mut u32,
        blocks: &mut dyn Blocks<E>,
        check: Check,
    ) -> Result<Self, E> {
        let (mut parts, mut buffer) = (Self::new(bits)?, memory::filled(0, CHUNK)?);
        let config = config.with_scheme(Scheme::Fss);
        let text = normalize_text(&config, text, check)?;
        let mut outcome = Ok(());
        let mut take = |hashes: &mut [u64], _: Check| {
            outcome = parts.take(hashes, config.bag(), count, blocks);
            if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        text_hashes(&config, Level::best(), &text, &mut buffer, check, &mut take)?;
        outcome?;
        Ok(parts)
    }

    fn new(bits: u32) -> Result<Self> {
        let mut parts = memory::with_capacity(1 << bits)?;
        for _ in 0..1 << bits {
            parts.push(CountedPart { open: memory::with_capacity(BLOCK)?, aside: Vec::new() });
        }
        Ok(Self(parts))
    }

    /// Adds hashes, and stores a block when a part has enough of them. `count` is the number of blocks.
    fn take<E: From<Error>>(
        &mut self,
        hashes: &[u64],
        is_bag: bool,
        count: &mut u32,
        blocks: &mut dyn Blocks<E>,
    ) -> Result<(), E> {
        let shift = 64 - self.0.len().ilog2();
        for &hash in hashes {
            let CountedPart { open, aside } = &mut self.0[(hash >> shift) as usize];
            open.push(hash);
            if open.len() < BLOCK {
                continue;
            }
            if !is_bag {
                // Hashes that are repeated all over a text must not fill their part.
                open.sort_unstable();
                open.dedup();
            }
            if open.len() > BLOCK / 2 {
                open.resize(BLOCK, open[0]);
                blocks.append(open)?;
                memory::push(aside, *count)?;
                *count += 1;
                open.clear();
            }
        }
        Ok(())
    }

    fn each<E: From<Error>>(
        &self,
        part: usize,
        block: &mut [u64],
        blocks: &mut dyn Blocks<E>,
        visit: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<(), E> {
        let CountedPart { open, aside } = &self.0[part];
        for &number in aside {
            blocks.read(number, block)?;
            visit(block)?;
        }
        Ok(visit(open)?)
    }
}
