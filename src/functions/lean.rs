//! Signatures from and to Python: the bytes of datasketch's `LeanMinHash`.

use pgrx::pg_sys::Datum;
use sketch::Scheme;

use crate::error::{Result, engine, not_supported};
use crate::pg::call::{Call, sql_function};
use crate::pg::result_rows::result_row;
use crate::pg::{array, bytes, text};

sql_function!(minlsh_minhash_from_lean, minhash_from_lean);
sql_function!(minlsh_minhash_to_lean, minhash_to_lean);

/// `minhash_from_lean(bytea) → (signature, seed, scheme)`
fn minhash_from_lean(call: &Call) -> Result<Option<Datum>> {
    let Some(lean) = call.bytes(0) else {
        return Ok(None);
    };
    let lean = sketch::from_lean(lean).map_err(engine)?;
    if lean.seed == 0 {
        // minhash(..., seed => 0) makes signatures of seed 1: those would be compared with these.
        return Err(not_supported("LeanMinHash of seed 0").set_hint(
            "In SQL seed 0 stands for the scheme's own, which is 1: give MinHash() in Python another seed.",
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
    let scheme: Scheme = scheme.parse().map_err(engine)?;
    let seed = if seed == 0 { scheme.default_seed() } else { seed };
    let order = order.parse().map_err(engine)?;
    let lean = sketch::to_lean(signature, scheme, seed, order).map_err(engine)?;
    Ok(Some(bytes::write(&lean)))
}
