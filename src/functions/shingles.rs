//! `shingles()` and `shingle_hashes()`: what a text is made of.

use ahash::AHashSet;
use pgrx::pg_sys::Datum;
use sketch::{Config, Element, ElementHash, memory};

use crate::error::{Result, engine};
use crate::options::Options;
use crate::pg::array;
use crate::pg::call::{Call, sql_function};
use crate::pg::interrupts::check_interrupts;

sql_function!(minlsh_shingles, shingles);
sql_function!(minlsh_shingle_hashes, shingle_hashes);

/// `shingles(text, shingle_size, unit, normalization, stop_words, bag) → text[]`: the distinct
/// shingles, in order of first occurrence; of a bag all of them.
fn shingles(call: &Call) -> Result<Option<Datum>> {
    let Some((text, config)) = arguments(call)? else {
        return Ok(None);
    };
    let mut seen = AHashSet::new();
    let mut found = array::Texts::default();
    sketch::for_each_shingle(&config, text, &mut check_interrupts, &mut |shingle| {
        // As everywhere, equal hashes are equal shingles.
        let hash = Element::Text(shingle).hash(ElementHash::Xxh3);
        if config.bag() || memory::insert(&mut seen, hash)? { found.push(shingle) } else { Ok(()) }
    })
    .map_err(engine)?;
    Ok(Some(found.write()?))
}

/// `shingle_hashes(text, shingle_size, unit, normalization, stop_words, bag) → bigint[]`: their hashes,
/// in the same order; of a bag those of its elements, in another.
fn shingle_hashes(call: &Call) -> Result<Option<Datum>> {
    let Some((text, config)) = arguments(call)? else {
        return Ok(None);
    };
    let mut hashes = Vec::new();
    sketch::shingle_hashes(&config, text, &mut hashes, &mut check_interrupts).map_err(engine)?;
    let (mut seen, mut distinct) = (AHashSet::new(), Vec::new());
    for part in hashes.chunks(1 << 16) {
        check_interrupts();
        for &hash in part {
            if memory::insert(&mut seen, hash).map_err(engine)? {
                memory::push(&mut distinct, hash as i64).map_err(engine)?;
            }
        }
    }
    Ok(Some(array::write_int8(&distinct)))
}

fn arguments(call: &Call) -> Result<Option<(&str, Config)>> {
    let (Some(text), Some(options)) = (call.text(0)?, Options::shingling(call, 1, 2, 3)?) else {
        return Ok(None);
    };
    Ok(Some((text, options.config()?)))
}
