//! `minhash()`: text or set to signature; the same under hash functions that the caller chooses, and from and to the
//! bytes of datasketch's `LeanMinHash` in Python.

use std::cell::RefCell;

use pgrx::pg_sys::Datum;
use sketch::{Config, LinearFunctions, Scheme, Sketcher, SlotBits, memory};

use crate::error::{Result, not_supported};
use crate::options::{Options, Recent};
use crate::pg::call::{Call, sql_function};
use crate::pg::interrupts::check_interrupts;
use crate::pg::result_rows::result_row;
use crate::pg::{array, bytes, element, text};

sql_function!(minlsh_minhash, minhash);
sql_function!(minlsh_minhash_elements, minhash_elements);
sql_function!(minlsh_minhash_hashes, minhash_hashes);
sql_function!(minlsh_minhash_pack, minhash_pack);
sql_function!(minlsh_minhash_with, minhash_with);
sql_function!(minlsh_minhash_from_lean, minhash_from_lean);
sql_function!(minlsh_minhash_to_lean, minhash_to_lean);

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
        let signature = sketcher.sketch(body, &mut check_interrupts)?;
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
    let hashes = memory::collect(hashes.into_iter().map(|hash| hash as u64))?;
    signature_of(&config, &hashes)
}

fn signature_of(config: &Config, hashes: &[u64]) -> Result<Option<Datum>> {
    with_sketcher(config, |sketcher| {
        let signature = sketcher.sketch_hashes(hashes, &mut check_interrupts)?;
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
        .and_then(|slot_bits| slot_bits.pack(signature, &mut packed))?;
    Ok(Some(array::write_int4(&packed)))
}

/// `minhash_with(elements bigint[], a bigint[], b bigint[], p bigint) → integer[]`
fn minhash_with(call: &Call) -> Result<Option<Datum>> {
    let (Some(elements), Some(a), Some(b), Some(p)) =
        (call.bigints(0)?, call.int8_array(1)?, call.int8_array(2)?, call.int8(3))
    else {
        return Ok(None);
    };
    let functions = LinearFunctions::new(a, b, p)?;
    let signature = functions.minhash(&elements, &mut check_interrupts)?;
    Ok(signature.map(|signature| array::write_int4(&signature)))
}

/// `minhash_from_lean(bytea) → (signature, seed, scheme)`
fn minhash_from_lean(call: &Call) -> Result<Option<Datum>> {
    let Some(lean) = call.bytes(0) else {
        return Ok(None);
    };
    let lean = sketch::from_lean(lean)?;
    if lean.seed == 0 {
        // minhash(..., seed => 0) makes signatures of seed 1: those would be compared with these.
        return Err(not_supported("LeanMinHash has seed 0, which is not supported").set_hint(
            "Use another seed in Python. In SQL, seed 0 stands for the scheme's own seed, which is 1.",
        ));
    }
    let signature = lean.signature.map(|signature| array::write_int4(&signature));
    let row = [signature, Some(Datum::from(lean.seed)), Some(text::write(lean.scheme.as_str()))];
    result_row(call, row).map(Some)
}

/// `minhash_to_lean(integer[], scheme, seed, byte_order) → bytea`
fn minhash_to_lean(call: &Call) -> Result<Option<Datum>> {
    let (Some(signature), Some(scheme), Some(seed), Some(order)) =
        (call.int4_array(0)?, call.text(1)?, call.int8(2), call.text(3)?)
    else {
        return Ok(None);
    };
    let scheme: Scheme = scheme.parse()?;
    let seed = if seed == 0 { scheme.default_seed() } else { seed };
    let order = order.parse()?;
    let lean = sketch::to_lean(signature, scheme, seed, order)?;
    Ok(Some(bytes::write(&lean)))
}
