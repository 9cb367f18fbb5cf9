//! The parts of a text: `normalize_text()`, `tokens()`, `shingles()`, `shingle_hashes()`.

use ahash::AHashSet;
use pgrx::pg_sys::Datum;
use sketch::{Config, Element, ElementHash, memory};

use crate::error::Result;
use crate::options::Options;
use crate::pg::call::{Call, sql_function};
use crate::pg::interrupts::check_interrupts;
use crate::pg::{array, text};

sql_function!(minlsh_normalize_text, normalize_text);
sql_function!(minlsh_tokens, tokens);
sql_function!(minlsh_shingles, shingles);
sql_function!(minlsh_shingle_hashes, shingle_hashes);

/// `normalize_text(text, normalization, stop_words) → text`
fn normalize_text(call: &Call) -> Result<Option<Datum>> {
    let (Some(body), Some(normalization), Some(stop_words)) =
        (call.text(0)?, call.text(1)?, call.text(2)?)
    else {
        return Ok(None);
    };
    let config = Options {
        normalization: normalization.into(),
        stop_words: stop_words.into(),
        ..Options::default()
    }
    .config()?;
    let normalized = sketch::normalize_text(&config, body, &mut check_interrupts)?;
    Ok(Some(text::write(&normalized)))
}

/// `tokens(text, unit, normalization, stop_words) → text[]`
fn tokens(call: &Call) -> Result<Option<Datum>> {
    let (Some(body), Some(unit), Some(normalization), Some(stop_words)) =
        (call.text(0)?, call.text(1)?, call.text(2)?, call.text(3)?)
    else {
        return Ok(None);
    };
    let config = Options {
        unit: unit.into(),
        normalization: normalization.into(),
        stop_words: stop_words.into(),
        ..Options::default()
    }
    .config()?;
    let mut found = array::TextArray::default();
    sketch::tokens(&config, body, &mut check_interrupts, &mut |token| found.push(token))?;
    Ok(Some(found.write()))
}

/// `shingles(text, shingle_size, unit, normalization, stop_words, bag) → text[]`: the distinct
/// shingles, in order of first occurrence; of a bag all of them.
fn shingles(call: &Call) -> Result<Option<Datum>> {
    let Some((text, config)) = arguments(call)? else {
        return Ok(None);
    };
    let mut seen = AHashSet::new();
    let mut found = array::TextArray::default();
    sketch::for_each_shingle(&config, text, &mut check_interrupts, &mut |shingle| {
        // As everywhere, equal hashes are equal shingles.
        let hash = Element::Text(shingle).hash(ElementHash::Xxh3);
        if config.bag() || memory::insert(&mut seen, hash)? { found.push(shingle) } else { Ok(()) }
    })?;
    Ok(Some(found.write()))
}

/// `shingle_hashes(text, shingle_size, unit, normalization, stop_words, bag) → bigint[]`: their hashes,
/// in the same order; of a bag those of its elements, in another.
fn shingle_hashes(call: &Call) -> Result<Option<Datum>> {
    let Some((text, config)) = arguments(call)? else {
        return Ok(None);
    };
    let mut hashes = Vec::new();
    sketch::shingle_hashes(&config, text, &mut hashes, &mut check_interrupts)?;
    let (mut seen, mut distinct) = (AHashSet::new(), Vec::new());
    for part in hashes.chunks(1 << 16) {
        check_interrupts();
        for &hash in part {
            if memory::insert(&mut seen, hash)? {
                memory::push(&mut distinct, hash as i64)?;
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
