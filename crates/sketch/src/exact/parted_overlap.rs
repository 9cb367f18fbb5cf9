//! The overlap of two texts with more shingles than fit into memory.

use ahash::AHashMap;

use super::overlap::Overlap;
use super::shingle_set::ShingleSet;
use crate::scheme::Scheme;
use crate::shingle::{each_chunk, repeated};
use crate::spool::{NewFile, Spool};
use crate::{Check, Config, Result, memory};

/// Number of hashes in a block.
const BLOCK: usize = 512;

/// Maximum bytes of a hash while it is counted; a table may have twice as many slots as entries.
const COUNTED: usize = 64;

/// Counts the shingles of two texts and the shared ones; for bags, their elements. Hashes take about `limit` bytes of
/// memory. If there are more, they go to a file by their upper bits, and each part is counted separately.
pub fn overlap_of_texts(
    config: &Config,
    texts: [&str; 2],
    limit: usize,
    new_file: NewFile,
    check: Check,
) -> Result<Overlap> {
    // A text has at most as many shingles as bytes.
    let most = texts.iter().map(|text| text.len()).sum::<usize>();
    if most * size_of::<u64>() <= limit {
        let [a, b] = texts;
        let a = ShingleSet::from_text(config, a, check)?;
        let b = ShingleSet::from_text(config, b, check)?;
        return Ok(a.overlap(&b, check));
    }
    let mut all = Overlap { a: 0, b: 0, shared: 0 };
    each_part(config, &texts, limit, new_file, check, &mut |counts| {
        for &[a, b] in counts.values() {
            let counted = |count: u32| if config.bag() { count } else { count.min(1) } as usize;
            let (a, b) = (counted(a), counted(b));
            (all.a, all.b, all.shared) = (all.a + a, all.b + b, all.shared + a.min(b));
        }
        Ok(())
    })?;
    Ok(all)
}

/// The shingles of a text, or the elements of its bag, as in [`ShingleSet::from_text`]. In addition to the distinct
/// ones, it takes about `limit` bytes of memory, however long the text is.
pub fn set_of_long_text(
    config: &Config,
    text: &str,
    limit: usize,
    new_file: NewFile,
    check: Check,
) -> Result<ShingleSet> {
    let mut elements = Vec::new();
    each_part(config, &[text], limit, new_file, check, &mut |counts| {
        for (&hash, &[count, _]) in counts {
            let mut repeats = 0..if config.bag() { count.into() } else { 1 };
            repeats.try_for_each(|repeat| memory::push(&mut elements, repeated(hash, repeat)))?;
        }
        Ok(())
    })?;
    Ok(ShingleSet::from_hashes(elements, check))
}

/// The number of occurrences of each hash in one text or two.
type Counts = AHashMap<u64, [u32; 2]>;

/// Counts the hashes of texts in parts, each in about `limit` bytes, and calls `take` with each part.
fn each_part(
    config: &Config,
    texts: &[&str],
    limit: usize,
    new_file: NewFile,
    check: Check,
    take: &mut dyn FnMut(&Counts) -> Result<()>,
) -> Result<()> {
    let most = texts.iter().map(|text| text.len()).sum::<usize>();
    let bits = (most * COUNTED).div_ceil(limit).next_power_of_two().ilog2().clamp(1, 12);
    let (mut parts, mut blocks) = (memory::with_capacity(texts.len())?, Spool::new(0, new_file));
    for text in texts {
        parts.push(HashParts::of_text(config, text, bits, &mut blocks, check)?);
    }
    let (mut counts, mut block) = (Counts::default(), memory::filled(0, BLOCK)?);
    for part in 0..1 << bits {
        counts.clear();
        for (text, parts) in parts.iter().enumerate() {
            parts.each(part, &mut block, &mut blocks, &mut |hashes| {
                check();
                counts.try_reserve(hashes.len()).map_err(|_| memory::refused::<u64>(BLOCK))?;
                hashes.iter().for_each(|hash| counts.entry(*hash).or_insert([0; 2])[text] += 1);
                Ok(())
            })?;
        }
        take(&counts)?;
    }
    Ok(())
}

/// The hashes of a text, partitioned by their upper bits into a power of two of parts, at least two.
struct HashParts(Vec<SpilledPart>);

struct SpilledPart {
    /// Hashes that are not stored yet.
    open: Vec<u64>,
    /// The places of the blocks with the other hashes.
    aside: Vec<u64>,
}

impl HashParts {
    /// The hashes of the shingles of a text.
    fn of_text(config: &Config, text: &str, bits: u32, blocks: &mut Spool<u64>, check: Check) -> Result<Self> {
        let (mut parts, config) = (Self::new(bits)?, config.with_scheme(Scheme::Fss));
        each_chunk(&config, text, check, &mut |hashes| parts.take(hashes, config.bag(), blocks))?;
        Ok(parts)
    }

    fn new(bits: u32) -> Result<Self> {
        let mut parts = memory::with_capacity(1 << bits)?;
        for _ in 0..1 << bits {
            parts.push(SpilledPart { open: memory::with_capacity(BLOCK)?, aside: Vec::new() });
        }
        Ok(Self(parts))
    }

    /// Adds hashes, and stores a block when a part has enough of them.
    fn take(&mut self, hashes: &[u64], is_bag: bool, blocks: &mut Spool<u64>) -> Result<()> {
        let shift = 64 - self.0.len().ilog2();
        for &hash in hashes {
            let SpilledPart { open, aside } = &mut self.0[(hash >> shift) as usize];
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
                memory::push(aside, blocks.append(open)?)?;
                open.clear();
            }
        }
        Ok(())
    }

    fn each(
        &self,
        part: usize,
        block: &mut [u64],
        blocks: &mut Spool<u64>,
        visit: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        let SpilledPart { open, aside } = &self.0[part];
        for &place in aside {
            blocks.read(place, block)?;
            visit(block)?;
        }
        visit(open)
    }
}
