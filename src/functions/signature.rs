//! `minhash()`: text or set to signature.

use std::cell::RefCell;

use pgrx::pg_sys::Datum;
use sketch::{Config, Sketcher, SlotBits, memory};

use crate::error::{Result, engine};
use crate::options::Options;
use crate::options::Recent;
use crate::pg::array;
use crate::pg::call::{Call, sql_function};
use crate::pg::element;
use crate::pg::interrupts::check_interrupts;

sql_function!(minlsh_minhash, minhash);
sql_function!(minlsh_minhash_elements, minhash_elements);
sql_function!(minlsh_minhash_hashes, minhash_hashes);
sql_function!(minlsh_minhash_pack, minhash_pack);

thread_local! {
    static SKETCHERS: RefCell<Recent<Sketcher>> = const { RefCell::new(Recent::new()) };
}

/// Runs `work` with a sketcher of that configuration, kept for the next call.
pub(crate) fn with_sketcher<T>(config: &Config, work: impl FnOnce(&mut Sketcher) -> T) -> T {
    let kept = SKETCHERS.with_borrow_mut(|kept| kept.take(|sketcher| sketcher.config() == config));
    let mut sketcher = kept.unwrap_or_else(|| Sketcher::new(config.clone()));
    let result = work(&mut sketcher);
    SKETCHERS.with_borrow_mut(|kept| kept.keep(sketcher));
    result
}

/// `minhash(text, num_perm, shingle_size, unit, scheme, seed, normalization, stop_words, bag)
/// → integer[]`
fn minhash(call: &Call) -> Result<Option<Datum>> {
    let (Some(body), Some(num_perm), Some(scheme), Some(seed), Some(shingling)) = (
        call.text(0)?,
        call.int4(1),
        call.text(4)?,
        call.int8(5),
        Options::shingling(call, 2, 3, 6)?,
    ) else {
        return Ok(None);
    };
    let config = Options { num_perm, scheme: scheme.into(), seed, ..shingling }.config()?;
    with_sketcher(&config, |sketcher| {
        let signature = sketcher.sketch(body, &mut check_interrupts).map_err(engine)?;
        Ok(signature.map(array::write_int4))
    })
}

/// `minhash(anyarray, num_perm, scheme, seed) → integer[]`: ready-made elements; nulls do not count.
fn minhash_elements(call: &Call) -> Result<Option<Datum>> {
    let (Some(elements), Some(num_perm), Some(scheme), Some(seed)) =
        (call.datum(0), call.int4(1), call.text(2)?, call.int8(3))
    else {
        return Ok(None);
    };
    let config =
        Options { num_perm, scheme: scheme.into(), seed, ..Options::default() }.config()?;
    // SAFETY: declared anyarray.
    let hashes = unsafe { element::hashes(elements, config.scheme().element_hash()) }?;
    signature_of(&config, &hashes)
}

/// `minhash_hashes(bigint[], num_perm, scheme, seed) → integer[]`: of elements given by their
/// 64-bit hashes.
fn minhash_hashes(call: &Call) -> Result<Option<Datum>> {
    let (Some(hashes), Some(num_perm), Some(scheme), Some(seed)) =
        (call.bigints(0)?, call.int4(1), call.text(2)?, call.int8(3))
    else {
        return Ok(None);
    };
    let config =
        Options { num_perm, scheme: scheme.into(), seed, ..Options::default() }.config()?;
    let hashes = memory::collect(hashes.into_iter().map(|hash| hash as u64)).map_err(engine)?;
    signature_of(&config, &hashes)
}

fn signature_of(config: &Config, hashes: &[u64]) -> Result<Option<Datum>> {
    with_sketcher(config, |sketcher| {
        let signature = sketcher.sketch_hashes(hashes, &mut check_interrupts).map_err(engine)?;
        Ok(signature.map(array::write_int4))
    })
}

/// `minhash_pack(integer[], slot_bits) → integer[]`: what an index with that option stores.
fn minhash_pack(call: &Call) -> Result<Option<Datum>> {
    let (Some(signature), Some(slot_bits)) = (call.int4_array(0)?, call.int4(1)) else {
        return Ok(None);
    };
    let mut packed = Vec::new();
    SlotBits::new(slot_bits.into(), signature.len() as i64)
        .and_then(|slot_bits| slot_bits.pack(signature, &mut packed))
        .map_err(engine)?;
    Ok(Some(array::write_int4(&packed)))
}
