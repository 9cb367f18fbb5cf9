//! `shingles()` and `shingle_hashes()`: what a text is made of.

use std::collections::HashSet;

use pgrx::pg_sys::Datum;
use sketch::Config;

use super::{Options, checkpoint};
use crate::error::Result;
use crate::pg::array;
use crate::pg::call::{Call, sql_function};

sql_function!(minlsh_shingles, shingles);
sql_function!(minlsh_shingle_hashes, shingle_hashes);

/// `shingles(text, shingle_size, unit, normalization, stop_words, bag) → text[]`: the distinct shingles,
/// in order of first occurrence; of a bag all of them.
fn shingles(call: &Call) -> Result<Option<Datum>> {
    let Some((text, config)) = arguments(call)? else {
        return Ok(None);
    };
    let mut seen = HashSet::new();
    let mut distinct = Vec::new();
    let mut count = 0_usize;
    sketch::for_each_shingle(&config, &text, &mut |shingle| {
        count += 1;
        if count.is_multiple_of(4096) {
            checkpoint();
        }
        if config.bag() || !seen.contains(shingle) {
            seen.insert(shingle.to_owned());
            distinct.push(shingle.to_owned());
        }
    });
    let distinct: Vec<&str> = distinct.iter().map(String::as_str).collect();
    Ok(Some(array::write_text(&distinct)))
}

/// `shingle_hashes(text, shingle_size, unit, normalization, stop_words, bag) → bigint[]`: their hashes,
/// in the same order; of a bag those of its elements, in another.
fn shingle_hashes(call: &Call) -> Result<Option<Datum>> {
    let Some((text, config)) = arguments(call)? else {
        return Ok(None);
    };
    let mut hashes = Vec::new();
    sketch::shingle_hashes(&config, &text, &mut hashes, &mut checkpoint);
    let mut seen = HashSet::with_capacity(hashes.len());
    let distinct: Vec<i64> =
        hashes.into_iter().filter(|hash| seen.insert(*hash)).map(|hash| hash as i64).collect();
    Ok(Some(array::write_int8(&distinct)))
}

fn arguments<'a>(call: &'a Call) -> Result<Option<(std::borrow::Cow<'a, str>, Config)>> {
    let (Some(text), Some(options)) = (call.text(0)?, Options::shingling(call, 1, 2, 3)?) else {
        return Ok(None);
    };
    Ok(Some((text, options.config()?)))
}
