//! The overlap of two texts with more shingles than fit into memory.

use ahash::AHashMap;

use super::hash_parts::HashParts;
use super::overlap::Overlap;
use super::shingle_set::ShingleSet;
use crate::shingle::repeated;
use crate::spool::NewFile;
use crate::{Check, Config, Result, memory};

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
    let mut parts = HashParts::new(most, limit / COUNTED, new_file)?;
    for text in texts {
        parts.add_text(config, text, check)?;
    }
    let mut counts = Counts::default();
    for part in 0..parts.parts() {
        counts.clear();
        parts.each(part, &mut |text, hashes| {
            check();
            counts.try_reserve(hashes.len()).map_err(|_| memory::refused::<u64>(hashes.len()))?;
            hashes.iter().for_each(|hash| counts.entry(*hash).or_insert([0; 2])[text as usize] += 1);
            Ok(())
        })?;
        take(&counts)?;
    }
    Ok(())
}
