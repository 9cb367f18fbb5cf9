//! Measures that need signatures only.

use pgrx::pg_sys::Datum;
use sketch::SlotBits;

use crate::error::{Result, engine};
use crate::pg::call::{Call, float8_datum, sql_function};

sql_function!(minlsh_minhash_jaccard, minhash_jaccard);
sql_function!(minlsh_minhash_jaccard_packed, minhash_jaccard_packed);
sql_function!(minlsh_minhash_error, minhash_error);

/// `minhash_jaccard(integer[], integer[]) → double precision`
fn minhash_jaccard(call: &Call) -> Result<Option<Datum>> {
    let (Some(a), Some(b)) = (call.int4_array(0)?, call.int4_array(1)?) else {
        return Ok(None);
    };
    sketch::estimate_jaccard(a, b).map(|estimate| Some(float8_datum(estimate))).map_err(engine)
}

/// `minhash_jaccard(integer[], integer[], slot_bits) → double precision`: of packed signatures.
fn minhash_jaccard_packed(call: &Call) -> Result<Option<Datum>> {
    let (Some(a), Some(b), Some(slot_bits)) =
        (call.int4_array(0)?, call.int4_array(1)?, call.int4(2))
    else {
        return Ok(None);
    };
    let slot_bits = SlotBits::of(slot_bits.into()).map_err(engine)?;
    slot_bits.estimate_jaccard(a, b).map(|estimate| Some(float8_datum(estimate))).map_err(engine)
}

/// `minhash_error(num_perm, jaccard) → double precision`
fn minhash_error(call: &Call) -> Result<Option<Datum>> {
    let (Some(num_perm), Some(jaccard)) = (call.int4(0), call.float8(1)) else {
        return Ok(None);
    };
    let error = sketch::standard_error(num_perm.into(), jaccard).map_err(engine)?;
    Ok(Some(float8_datum(error)))
}
