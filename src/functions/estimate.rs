//! Measures that need signatures only.

use pgrx::pg_sys::Datum;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use sketch::SlotBits;

use crate::error::{Result, engine};
use crate::pg::array;
use crate::pg::call::{Call, float8_datum, sql_function};

sql_function!(minlsh_minhash_jaccard, minhash_jaccard);
sql_function!(minlsh_minhash_jaccard_packed, minhash_jaccard_packed);

/// `minhash_jaccard(integer[], integer[]) → double precision`
fn minhash_jaccard(call: &Call) -> Result<Option<Datum>> {
    let (Some(a), Some(b)) = (call.datum(0), call.datum(1)) else {
        return Ok(None);
    };
    // SAFETY: both arguments are declared integer[].
    let (a, b) = unsafe { (array::read_int4(a)?, array::read_int4(b)?) };
    sketch::estimate_jaccard(a, b).map(|estimate| Some(float8_datum(estimate))).map_err(engine)
}

/// `minhash_jaccard(integer[], integer[], slot_bits) → double precision`: of packed signatures.
fn minhash_jaccard_packed(call: &Call) -> Result<Option<Datum>> {
    let (Some(a), Some(b), Some(slot_bits)) = (call.datum(0), call.datum(1), call.int4(2)) else {
        return Ok(None);
    };
    // SAFETY: both arguments are declared integer[].
    let (a, b) = unsafe { (array::read_int4(a)?, array::read_int4(b)?) };
    let slot_bits = SlotBits::of(slot_bits.into()).map_err(engine)?;
    slot_bits.estimate_jaccard(a, b).map(|estimate| Some(float8_datum(estimate))).map_err(engine)
}

/// `minhash_error(num_perm, jaccard) → double precision`
#[pg_extern(sql = false)]
fn minlsh_minhash_error(num_perm: i32, jaccard: f64) -> std::result::Result<f64, ErrorReport> {
    sketch::standard_error(num_perm.into(), jaccard).map_err(engine)
}
